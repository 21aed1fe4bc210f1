package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/promoter"
)

// freePort gives a port of the loopback that nobody listened on a moment ago.
func freePort(t *testing.T) (port int, addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port, l.Addr().String()
}

// askFirst asks the cluster at addr for the first time; said gets a value with each line of the log.
func askFirst(t *testing.T, c connection, addr string, said chan<- string) (string, error) {
	c.bootstrap = []string{addr}
	s, err := c.resolve()
	if err != nil {
		return "", err
	}
	client, err := cluster.Connect(s, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	defer client.Close()
	env := &Env{Out: io.Discard, Err: io.Discard, Log: slog.New(slog.NewTextHandler(lines(said), nil))}
	v, err := c.firstLook(t.Context(), env, &promoter.Connection{Client: client, Now: time.Now})
	return v.ClusterID, err
}

// lines is a writer that sends what is written to it, and forgets what nobody waits for.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func TestWhoIsPatientWaitsForItsFirstAnswer(t *testing.T) {
	port, addr := freePort(t)
	_, err := askFirst(t, connection{}, addr, nil)
	require.Error(t, err, "nobody answers")

	type answer struct {
		id  string
		err error
	}
	said, done := make(chan string, 1), make(chan answer, 1)
	go func() {
		id, err := askFirst(t, connection{again: time.Millisecond}, addr, said)
		done <- answer{id, err}
	}()
	select {
	case line := <-said:
		require.Contains(t, line, "no broker has answered yet")
	case a := <-done:
		require.Fail(t, "it did not wait", "%v", a)
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.ClusterID("abc"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, answer{id: "abc"}, <-done)
}

// What is refused once is refused again, and an account may be locked for asking. Brokers say it in their
// answer (KIP-152); kfake ends the connection.
func TestWhoIsPatientDoesNotAskAgainWhenRefused(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", "right"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	config := filepath.Join(t.TempDir(), "client.properties")
	require.NoError(t, os.WriteFile(config, []byte("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"ann\" password=\"wrong\";\n"), 0o600))
	said := make(chan string, 1)
	_, err = askFirst(t, connection{again: time.Millisecond, settings: cluster.Settings{CommandConfig: config}}, c.ListenAddrs()[0], said)
	require.ErrorIs(t, err, kerr.SaslAuthenticationFailed)
	assert.Empty(t, said)
	assert.False(t, cluster.Transient(context.Canceled))
	assert.Equal(t, exit.Failed, exit.Code(err))
}
