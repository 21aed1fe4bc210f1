package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func faked(t *testing.T, brokers int) (*kfake.Cluster, *Client) {
	fake := kfake.MustCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(2, "t"))
	t.Cleanup(fake.Close)
	return fake, connected(t, fake.ListenAddrs()...)
}

// A broker that hangs is listed as alive until its session is over.
func TestLookDoesNotWaitForABrokerThatHangs(t *testing.T) {
	fake, c := faked(t, 3)
	_, err := c.Look(t.Context(), Scope{}, time.Now())
	require.NoError(t, err)

	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	hung := make(chan struct{}, 1000)
	fake.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if fake.CurrentNode() == 1 {
			hung <- struct{}{}
			fake.SleepControl(func() { <-over })
		}
		return nil, nil, false
	})
	for range 5 { // each asks other brokers
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout-time.Second)
		s, err := c.Look(ctx, Scope{}, time.Now())
		cancel()
		require.NoError(t, err)
		require.Len(t, s.Brokers, 3)
		require.Empty(t, s.Missing)
	}
	require.NotEmpty(t, hung, "nothing was asked of the broker that hangs")
}

// An answer that is late is better than a refusal that is quick.
func TestLookPrefersALateAnswerToAnError(t *testing.T) {
	fake, c := faked(t, 2)
	describe := kmsg.NewPtrDescribeClusterRequest()
	refused := make(chan struct{})
	asked := 0
	fake.ControlKey(describe.Key(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if asked++; asked == 1 {
			fake.SleepControl(func() { <-refused })
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
		resp.ErrorCode = kerr.RequestTimedOut.Code
		if asked == 2 {
			close(refused)
		}
		return resp, nil, true
	})
	s, err := c.Look(t.Context(), Scope{Topics: []string{"t"}}, time.Now())
	require.NoError(t, err)
	require.Empty(t, s.Missing)
	require.Greater(t, asked, 1)
}

func TestHedged(t *testing.T) {
	failed := errors.New("failed")
	type try struct {
		after time.Duration
		err   error
	}
	const long = time.Hour
	for name, c := range map[string]struct {
		tries []try
		took  time.Duration
		want  int
		err   error
	}{
		"the first answers":             {[]try{{hedgeAfter / 2, nil}}, hedgeAfter / 2, 0, nil},
		"the first hangs":               {[]try{{long, nil}, {hedgeAfter / 2, nil}}, hedgeAfter * 3 / 2, 1, nil},
		"the first is slower":           {[]try{{hedgeAfter * 3 / 2, nil}, {long, nil}}, hedgeAfter * 3 / 2, 0, nil},
		"two hang":                      {[]try{{long, nil}, {long, nil}, {0, nil}}, 2 * hedgeAfter, 2, nil},
		"one that fails waits for none": {[]try{{hedgeAfter / 2, failed}}, hedgeAfter / 2, 0, failed},
		"the second fails":              {[]try{{3 * hedgeAfter, nil}, {0, failed}, {long, nil}}, 3 * hedgeAfter, 0, nil},
		"all fail":                      {[]try{{3 * hedgeAfter, failed}, {0, failed}, {0, failed}}, 3 * hedgeAfter, 0, failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				n, err := hedged(t.Context(), func(ctx context.Context, n int) (int, error) {
					select {
					case <-ctx.Done():
						return n, ctx.Err()
					case <-time.After(c.tries[n].after):
						return n, c.tries[n].err
					}
				})
				require.ErrorIs(t, err, c.err)
				if c.err == nil {
					require.Equal(t, c.want, n)
				}
				require.Equal(t, c.took, time.Since(began))
			})
		})
	}
}
