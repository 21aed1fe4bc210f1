package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/twmb/franz-go/pkg/kerr"
)

func TestWhatIsRefusedIsNotTransient(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{io.EOF, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{kerr.CoordinatorNotAvailable, true},
		{kerr.SaslAuthenticationFailed, false},
		{kerr.ClusterAuthorizationFailed, false},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, false},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, false},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("ask: %w", errors.Join(err))
		}
		assert.Equal(t, c.want, Transient(err), "%v", c.err)
	}
}
