//go:build cluster

package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	ways "observer-patch/internal/cluster"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
	"observer-patch/internal/release"
)

// The last release with the coordinator in Scala, and one with that in Java: jars of upstream.

func TestTheLockWhereNothingCanBeWrittenOn392(t *testing.T) { unwritable(t, "3.9.2", true) }
func TestTheLockWhereNothingCanBeWrittenOn410(t *testing.T) { unwritable(t, version, false) }

// session is that of the locks here: a busy machine needs its fifteenth for an answer.
const session = 20 * time.Second

// member is an instance of auto as far as its lock goes.
type member struct {
	*promoter.GroupLock
	client *ways.Client
}

func (r *rig) member(group string) member {
	cl, err := ways.Connect(ways.Settings{Bootstrap: r.cluster.Addrs()}, slog.New(slog.DiscardHandler))
	require.NoError(r.t, err)
	m := member{promoter.NewGroupLock(cl, group, session), cl}
	ctx, cancel := context.WithCancel(r.ctx)
	var running sync.WaitGroup
	running.Go(func() { m.Keep(ctx) })
	running.Go(func() { cl.Watch(ctx) })
	r.t.Cleanup(func() { cancel(); running.Wait(); cl.Close() })
	return m
}

// may waits until the instance may make the change.
func (r *rig) may(m member, change observer.Change, limit time.Duration) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, limit, fmt.Sprintf("the lock lets it %s", change), func(ctx context.Context) error { return m.Check(ctx, change) }))
}

// barred waits until the instance is told that another one has the lock; it must not get it. The holder
// asks too, as auto does at every scan: DescribeGroups shows what is committed only, and where the
// holder's membership is above the watermark of a new leader that cannot commit, the instance finds
// nobody there and joins. It hears who leads when the holder has joined again.
func (r *rig) barred(m, holder member) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, session, "it hears that another one has the lock", func(ctx context.Context) error {
		require.NoError(r.t, holder.Check(ctx, observer.Promote))
		err := m.Check(ctx, observer.Promote)
		require.Error(r.t, err)
		if errors.Is(err, promoter.ErrNotHeld) {
			return nil
		}
		return err
	}))
}

// members gives how many members DescribeGroups shows.
func (r *rig) members(group string) (n int) {
	r.t.Helper()
	admin, err := r.cluster.Admin()
	require.NoError(r.t, err)
	require.NoError(r.t, r.cluster.Await(r.ctx, time.Minute, "the coordinator answers", func(ctx context.Context) error {
		described, err := admin.DescribeGroups(ctx, group)
		if err != nil {
			return err
		}
		n = len(described[group].Members)
		if err := described[group].Err; !errors.Is(err, kerr.GroupIDNotFound) {
			return err
		}
		return nil
	}))
	return n
}

// unwritable loses the lock's coordinator and one more broker. Answers says that the coordinator of
// the release answers heartbeats from its memory: then the holder may demote, unless it missed an
// answer while the coordinator moved.
func unwritable(t *testing.T, version string, answers bool) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	spec := cluster.Spec{Mode: release.KRaft, Brokers: 3, Controllers: 1, Java: "java", Properties: map[string]string{"offsets.topic.num.partitions": "1"}}
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		spec.Classpath = append(spec.Classpath, a.Path)
	}
	c, err := cluster.Start(ctx, spec, t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	r := &rig{t: t, ctx: ctx, cluster: c, part: report(t)}
	r.topic("t", []int32{1, 2, 3})
	counts := r.busy()

	const group = "observer-patch-auto"
	a := r.member(group)
	r.may(a, observer.Demote, time.Minute)
	b := r.member(group)
	r.barred(b, a)

	dead, killed, _ := r.fall("t")
	all, failed := counts()
	r.may(a, observer.Promote, time.Minute)
	r.took("upstream's "+version+": the holder may promote after kill -9 of its coordinator and one more of three brokers", time.Since(killed), 0)
	r.saw("upstream's "+version+": the members that the new coordinator shows", "%d, see barred", r.members(group))
	// It stays so for longer than a session, and nobody else gets it.
	until := time.Now().Add(session + session/2)
	require.NoError(t, c.Await(ctx, 2*session, "a session and a half have passed", func(ctx context.Context) error {
		require.NoError(t, a.Check(ctx, observer.Promote))
		require.Error(t, b.Check(ctx, observer.Promote))
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%v to go", left)
		}
		return nil
	}))
	allNow, failedNow := counts()
	require.Equal(t, allNow-all, failedNow-failed, "the coordinator could write: that is not the situation")
	r.barred(b, a)
	err = a.Check(ctx, observer.Demote)
	if !answers {
		require.ErrorIs(t, err, promoter.ErrNotHeld)
	}
	r.saw("upstream's "+version+": 1.5 sessions of "+session.String()+" without a write", "%d of %d commits of another group failed; the holder may promote all the time (and demote: %v), the other instance never", failedNow-failed, allNow-all, err == nil)

	// The holder is lost too.
	a.client.Close()
	lost := time.Now()
	r.may(b, observer.Promote, 2*time.Minute)
	r.took("upstream's "+version+": another instance may promote after the loss of the holder, before anything can be written", time.Since(lost), 0)
	require.ErrorIs(t, b.Check(ctx, observer.Demote), promoter.ErrNotHeld)

	r.recover("t", dead)
	r.may(b, observer.Demote, time.Minute)
	r.saw("upstream's "+version+": the brokers are back", "it may demote, its membership is written")
}
