package promoter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type requester struct{ *kgo.Client }

func (r requester) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return r.Client.Request(ctx, req)
}

func instance(t *testing.T, c *kfake.Cluster, session time.Duration) *GroupLock {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return NewGroupLock(requester{cl}, "observer-patch-auto", session)
}

func TestOneInstanceHoldsTheLock(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1))
	t.Cleanup(c.Close)
	a, b := instance(t, c, 10*time.Second), instance(t, c, 10*time.Second)
	require.NoError(t, a.Check(t.Context()))
	require.ErrorIs(t, b.Check(t.Context()), ErrNotHeld)
	require.NoError(t, a.Check(t.Context()))
	require.ErrorIs(t, b.Check(t.Context()), ErrNotHeld)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { a.Keep(ctx); close(done) }()
	cancel()
	<-done
	require.NoError(t, b.Check(t.Context()), "it was given back")
	require.ErrorIs(t, a.Check(t.Context()), ErrNotHeld)
}

// A holder that was paused for longer than its session: another one has the lock meanwhile, and
// the first finds out before it acts.
func TestAHolderThatWasSilentIsFenced(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	t.Cleanup(c.Close)
	a, b := instance(t, c, 500*time.Millisecond), instance(t, c, 500*time.Millisecond)
	require.NoError(t, a.Check(t.Context()))
	require.Eventually(t, func() bool { return b.Check(t.Context()) == nil }, 10*time.Second, 20*time.Millisecond)
	require.ErrorIs(t, a.Check(t.Context()), ErrNotHeld)
}

// flaky is a way to the cluster that can be cut.
type flaky struct {
	Requester
	cut   bool
	joins int
}

func (f *flaky) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if f.cut {
		return nil, errDown
	}
	if _, joins := req.(*kmsg.JoinGroupRequest); joins {
		f.joins++
	}
	return f.Requester.Request(ctx, req)
}

// silent is a way to the cluster on which heartbeats get no answer for as long as it is wanted.
type silent struct {
	Requester
	mute bool
}

func (s *silent) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if _, beat := req.(*kmsg.HeartbeatRequest); beat && s.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Requester.Request(ctx, req)
}

func TestOneHeartbeatWithoutAnAnswerDoesNotLastASession(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	t.Cleanup(c.Close)
	a := instance(t, c, 6*time.Second)
	s := &silent{Requester: a.client}
	a.client = s
	require.NoError(t, a.Check(t.Context()))
	s.mute = true
	began := time.Now()
	err := a.Check(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrNotHeld, "whether it is held is not known")
	require.Less(t, time.Since(began), 3*time.Second)
	s.mute = false
	require.NoError(t, a.Check(t.Context()), "the membership was kept")
}

// Joining writes to a topic that may be under its minimum just then.
func TestACoordinatorThatWasAwayIsAskedWithTheSameMembership(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1))
	t.Cleanup(c.Close)
	a := instance(t, c, 10*time.Second)
	way := &flaky{Requester: a.client}
	a.client = way
	require.NoError(t, a.Check(t.Context()))
	joins := way.joins
	way.cut = true
	require.ErrorIs(t, a.Check(t.Context()), errDown, "not to be acted on")
	way.cut = false
	require.NoError(t, a.Check(t.Context()))
	require.Equal(t, joins, way.joins)
}
