//go:build cluster

package cluster

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hears tells whether anything at the address answers within a second; that nobody listens there is
// an answer, that there is no way to it is a mistake of the link.
func hears(t *testing.T, addr string) bool {
	t.Helper()
	c, err := net.DialTimeout("tcp", net.JoinHostPort(addr, "1"), time.Second)
	if err == nil {
		require.NoError(t, c.Close())
		t.Fatalf("somebody took a connection to %s, where nobody listens", addr)
	}
	if errors.Is(err, unix.ECONNREFUSED) {
		return true
	}
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "%v", err)
	return false
}

// hearsBack is hears from behind the link.
func hearsBack(t *testing.T, l *link) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	args := append(l.inside(), "bash", "-c", "exec 3<>/dev/tcp/"+l.nearAddr+"/1")
	err := exec.CommandContext(ctx, args[0], args[1:]...).Run()
	require.Error(t, err, "somebody took a connection to %s, where nobody listens", l.nearAddr)
	return ctx.Err() == nil
}

func TestALinkThatIsCutIsSilentInBothDirections(t *testing.T) {
	l, err := newLink()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.remove()) })
	both := func(want bool, when string) {
		t.Helper()
		require.Equal(t, want, hears(t, l.farAddr), when)
		require.Equal(t, want, hearsBack(t, l), when)
	}
	both(true, "at first")
	require.NoError(t, l.cut())
	both(false, "when it is cut")
	require.NoError(t, l.join())
	both(true, "when it is joined")
}
