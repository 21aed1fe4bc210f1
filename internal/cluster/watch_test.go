package cluster

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
)

// hole accepts connections and answers nothing, as a zone does that vanished.
func hole(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

func connected(t *testing.T, bootstrap ...string) *Client {
	c, err := Connect(Settings{Bootstrap: bootstrap}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func watched(t *testing.T, bootstrap ...string) *Client {
	c := connected(t, bootstrap...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.Watch(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func TestBrokersThatVanishedAreNotAskedAgain(t *testing.T) {
	fake := kfake.MustCluster(kfake.NumBrokers(2))
	t.Cleanup(fake.Close)
	c := watched(t, append(fake.ListenAddrs(), hole(t), hole(t))...)
	require.Eventually(t, func() bool { return len(c.kgo.SeedBrokers()) == 2 }, 20*time.Second, 20*time.Millisecond)
	began := time.Now()
	for range 20 {
		_, err := c.live(t.Context())
		require.NoError(t, err)
	}
	require.Less(t, time.Since(began), watchPatient, "one hole would take as long")
}

func TestTheBrokersThatWereGivenAreAskedWhenNobodyElseAnswers(t *testing.T) {
	fake := kfake.MustCluster(kfake.NumBrokers(1))
	c := watched(t, append(fake.ListenAddrs(), hole(t))...)
	require.Eventually(t, func() bool { return len(c.kgo.SeedBrokers()) == 1 }, 20*time.Second, 20*time.Millisecond)
	fake.Close()
	require.Eventually(t, func() bool { return len(c.kgo.SeedBrokers()) == 2 }, 20*time.Second, 20*time.Millisecond)
}
