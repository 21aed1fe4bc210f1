package promoter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/observer"
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
	require.NoError(t, a.Check(t.Context(), observer.Demote))
	require.ErrorIs(t, b.Check(t.Context(), observer.Demote), ErrNotHeld)
	require.NoError(t, a.Check(t.Context(), observer.Demote))
	require.ErrorIs(t, b.Check(t.Context(), observer.Demote), ErrNotHeld)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { a.Keep(ctx); close(done) }()
	cancel()
	<-done
	require.NoError(t, b.Check(t.Context(), observer.Demote), "it was given back")
	require.ErrorIs(t, a.Check(t.Context(), observer.Demote), ErrNotHeld)
}

// A holder that was paused for longer than its session: another one has the lock meanwhile, and
// the first finds out before it acts.
func TestAHolderThatWasSilentIsFenced(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	t.Cleanup(c.Close)
	a, b := instance(t, c, 500*time.Millisecond), instance(t, c, 500*time.Millisecond)
	require.NoError(t, a.Check(t.Context(), observer.Demote))
	require.Eventually(t, func() bool { return b.Check(t.Context(), observer.Demote) == nil }, 10*time.Second, 20*time.Millisecond)
	require.ErrorIs(t, a.Check(t.Context(), observer.Demote), ErrNotHeld)
}

// fault is what does not work on a way to the cluster.
type fault int

const (
	none fault = iota
	// unwritable: the coordinator cannot commit, as from 4.0 on: heartbeats arrive and are not
	// answered, what needs a write does not happen.
	unwritable
	// unanswered: everything arrives, no answer comes back.
	unanswered
	// cut: nothing arrives.
	cut
)

// way is a way to the cluster with a fault.
type way struct {
	Requester
	fault fault
}

func (w *way) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	answer := w.fault == none
	if w.fault == unwritable {
		switch req.(type) {
		case *kmsg.HeartbeatRequest:
		case *kmsg.SyncGroupRequest:
			<-ctx.Done()
			return nil, ctx.Err()
		default:
			answer = true
		}
	}
	if w.fault == cut {
		return nil, errDown
	}
	r, err := w.Requester.Request(ctx, req)
	if answer {
		return r, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// faulty makes an instance whose way to the cluster may have a fault.
func faulty(t *testing.T, c *kfake.Cluster, session time.Duration) (*GroupLock, *way) {
	l := instance(t, c, session)
	w := &way{Requester: l.client}
	l.client = w
	return l, w
}

func fake(t *testing.T) *kfake.Cluster {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	t.Cleanup(c.Close)
	return c
}

// The coordinator of a cluster that has lost most of its brokers: its topic is under its minimum.
func TestAHolderPromotesWhileItsCoordinatorCannotWrite(t *testing.T) {
	c := fake(t)
	a, w := faulty(t, c, 6*time.Second)
	b := instance(t, c, 6*time.Second)
	require.NoError(t, a.Check(t.Context(), observer.Demote))
	w.fault = unwritable
	for range 3 {
		require.NoError(t, a.Check(t.Context(), observer.Promote))
		require.ErrorIs(t, a.Check(t.Context(), observer.Demote), ErrNotHeld)
		require.ErrorIs(t, b.Check(t.Context(), observer.Promote), ErrNotHeld)
		a.keep(t.Context())
	}
	w.fault = none
	a.keep(t.Context())
	require.NoError(t, a.Check(t.Context(), observer.Demote), "it is written now")
}

// The holder was lost with the zone, or auto is started only then.
func TestAnInstanceTakesTheLockFromACoordinatorThatCannotWrite(t *testing.T) {
	c := fake(t)
	a, w := faulty(t, c, 6*time.Second)
	b := instance(t, c, 6*time.Second)
	w.fault = unwritable
	require.NoError(t, a.Check(t.Context(), observer.Promote))
	require.ErrorIs(t, a.Check(t.Context(), observer.Demote), ErrNotHeld)
	require.ErrorIs(t, b.Check(t.Context(), observer.Promote), ErrNotHeld)
	// Nothing is written of it that another coordinator would wait for.
	w.fault = cut
	require.ErrorIs(t, a.Check(t.Context(), observer.Promote), errDown)
	w.fault = none
	a.keep(t.Context())
	require.NoError(t, a.Check(t.Context(), observer.Demote))
}

// What a coordinator writes is lost with it when it cannot be committed: the next one does not know
// the membership, and whoever comes first gets the lock.
func TestAnUnwrittenHolderIsFencedByWhoeverComesAfterIt(t *testing.T) {
	c := fake(t)
	a, w := faulty(t, c, 600*time.Millisecond)
	b := instance(t, c, 600*time.Millisecond)
	w.fault = unwritable
	require.NoError(t, a.Check(t.Context(), observer.Promote))
	require.Eventually(t, func() bool { return b.Check(t.Context(), observer.Promote) == nil }, 10*time.Second, 20*time.Millisecond)
	require.ErrorIs(t, a.Check(t.Context(), observer.Promote), ErrNotHeld)
	w.fault = cut
	require.Error(t, a.Check(t.Context(), observer.Promote))
}

// A coordinator that died: whoever takes over has read the membership, and waits a session for it.
func TestAHolderPromotesWithinItsSessionWhileThereIsNoCoordinator(t *testing.T) {
	for _, f := range []fault{cut, unanswered} {
		a, w := faulty(t, fake(t), 600*time.Millisecond)
		now := time.Now()
		a.now = func() time.Time { return now }
		require.NoError(t, a.Check(t.Context(), observer.Promote))
		w.fault = f
		require.NoError(t, a.Check(t.Context(), observer.Promote))
		now = now.Add(499 * time.Millisecond)
		require.NoError(t, a.Check(t.Context(), observer.Promote))
		err := a.Check(t.Context(), observer.Demote)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrNotHeld, "whether it is held is not known")
		now = now.Add(time.Millisecond)
		require.Error(t, a.Check(t.Context(), observer.Promote))
	}
}

// An answer that comes is another matter than none: whoever was thrown out knows.
func TestWhoIsThrownOutDoesNotFinishItsSession(t *testing.T) {
	c := fake(t)
	a, b := instance(t, c, 6*time.Second), instance(t, c, 6*time.Second)
	require.NoError(t, a.Check(t.Context(), observer.Promote))
	b.member = a.member // a person removes it from the group
	b.leave(t.Context())
	require.ErrorIs(t, a.Check(t.Context(), observer.Promote), ErrNotHeld)
}

func TestQuestionsWithoutAnAnswerDoNotLastASession(t *testing.T) {
	a, w := faulty(t, fake(t), 6*time.Second)
	require.NoError(t, a.Check(t.Context(), observer.Demote))
	w.fault = unanswered
	began := time.Now()
	require.Error(t, a.Check(t.Context(), observer.Demote))
	require.Less(t, time.Since(began), 3*time.Second)
	w.fault = none
	require.NoError(t, a.Check(t.Context(), observer.Promote), "the membership was kept")
	a.keep(t.Context())
	require.NoError(t, a.Check(t.Context(), observer.Demote))
}
