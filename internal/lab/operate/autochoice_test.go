//go:build cluster

package operate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/promoter"
)

// slow is what the link to an observer carries, in bits per second: more than its heartbeats, and
// too little for the records.
const slow = 200_000

// 4 and 5 are observers, 5 lags behind a slow link.
func TestAutoPromotesTheObserverThatHasEverything(t *testing.T) {
	require.NoError(t, cluster.CanLink(), "this needs root and ip(8)")
	spec := crowded(nil)
	spec.Brokers, spec.Observers, spec.Linked = 5, []int32{4, 5}, 5
	r := start(t, spec)
	r.topic("t", []int32{1, 2, 3, 4, 5})
	require.NoError(t, r.cluster.Slow(slow))
	lag := r.lags("t", 4, 5)
	r.saw("before the fault", "observer 4 has every committed record, observer 5 lacks %d", lag)
	r.busy()
	a := r.auto(t.TempDir(), nil)
	r.locked(a)
	b := r.auto(t.TempDir(), nil)

	_, killed, under := r.fall("t")
	// The controller fails over in the middle: an action was begun, and is not known to have ended.
	r.event(a.audit, promoter.AuditBegin, killed)
	active, err := r.cluster.ActiveController(r.ctx)
	require.NoError(t, err)
	require.NoError(t, r.cluster.Node(active).Kill())
	failedOver := time.Now()
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	require.Empty(t, r.lines(a.audit, promoter.AuditFailed))
	ok := r.event(a.audit, promoter.AuditPromote, killed)
	require.Equal(t, int32(4), ok.Broker)
	require.True(t, ok.Time.After(failedOver), "it had ended before")
	r.took("auto: PROMOTE-OK after the partition fell under its minimum, the active controller killed in the middle of it", ok.Time.Sub(under), 0)
	skip := r.rule(a.audit, promoter.SkipLag, killed)
	require.Equal(t, int32(5), skip.Broker)
	r.saw("the observer that lags is not promoted", "%s", skip.Reason)
	r.scanned(a, 1)
	require.Len(t, r.lines(a.audit, promoter.AuditBegin), 1)
	for _, n := range r.cluster.Nodes {
		require.Equal(t, []string{"5"}, r.ids(n.ID), "node %d", n.ID)
	}
	r.saw("of two observers only one is promoted, in one action", "broker 4, the list on every node is 5")

	// 4 is lost, and the holder of the lock with it. 5 is the only one that is left, and still lags.
	require.NoError(t, r.cluster.Node(4).Kill())
	a.kill(t)
	lost := time.Now()
	r.until("4 is gone", "t", func(_ int32, isr []int32) bool { return len(isr) == 1 })
	r.locked(b)
	r.took("another instance takes the lock over from one that was killed, before anything can be written", time.Since(lost), 0)
	r.scanned(b, 1)
	skip = r.rule(b.audit, promoter.SkipLag, lost)
	require.Equal(t, int32(5), skip.Broker)
	require.Empty(t, r.lines(b.audit, promoter.AuditBegin))
	require.Equal(t, []string{"5"}, r.ids(5))
	r.saw("an observer that lags is not promoted either when there is no other", "%s", skip.Reason)
	began := time.Now()
	require.NoError(t, r.cluster.Slow(0))
	ok = r.event(b.audit, promoter.AuditPromote, began)
	require.Equal(t, int32(5), ok.Broker)
	r.took("auto: PROMOTE-OK of it after it was let catch up", ok.Time.Sub(began), 0)
	r.until("5 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 5) })
	r.produce("t", 100)
}

// lagOf gives how many committed records the broker lacks of partition 0.
func (r *rig) lagOf(topic string, broker int32) int64 {
	r.t.Helper()
	leaders, err := probe.Metadata(r.ctx, r.cluster, topic)
	require.NoError(r.t, err)
	v, err := probe.Look(r.ctx, r.cluster, func() float64 { return 0 }, leaders, topic)
	require.NoError(r.t, err)
	require.GreaterOrEqual(r.t, v.Partitions[0].HW, int64(0))
	return v.Partitions[0].HW - v.Partitions[0].LEO[broker]
}

// lags writes eight megabytes to the topic, waits until one observer has everything while the other
// one lacks half of it, and gives how many records that are.
func (r *rig) lags(topic string, good, bad int32) int64 {
	r.t.Helper()
	r.load(topic, 8_000_000)
	require.NoError(r.t, r.cluster.Await(r.ctx, time.Minute, "one observer has everything", func(context.Context) error {
		if lag := r.lagOf(topic, good); lag > 0 {
			return fmt.Errorf("it lacks %d", lag)
		}
		return nil
	}))
	lag := r.lagOf(topic, bad)
	require.Greater(r.t, lag, int64(400), "the link is not slow")
	return lag
}

// The zone of the observer is cut off, and auto runs in it, against the advice.
func TestAutoThatIsCutOffWithTheObserverDoesNothing(t *testing.T) {
	require.NoError(t, cluster.CanLink(), "this needs root and ip(8)")
	spec := crowded(nil)
	spec.Linked = 4
	r := start(t, spec)
	r.topic("t", []int32{1, 2, 3, 4})
	r.produce("t", 1000)
	a := r.auto(t.TempDir(), r.cluster.Behind())
	r.locked(a)

	require.NoError(t, r.cluster.Cut())
	r.fall("t")
	// The decision of a scan that is under way comes after this.
	r.ended(a)
	require.Empty(t, r.lines(a.audit, promoter.AuditBegin))
	for _, n := range r.cluster.Nodes {
		require.Equal(t, []string{"4"}, r.ids(n.ID), "node %d: every file could be reached", n.ID)
	}
	skips := r.lines(a.audit, promoter.AuditSkip)
	require.NotEmpty(t, skips)
	last := skips[len(skips)-1]
	r.saw("auto is cut off with the observer while two sync replicas are killed on the other side", "no action, although it could have written every file; %s: %s", last.Rule, last.Reason)

	require.NoError(t, r.cluster.Join())
	joined := time.Now()
	ok := r.event(a.audit, promoter.AuditPromote, joined)
	require.Equal(t, int32(4), ok.Broker)
	r.took("auto: PROMOTE-OK after the link was back", ok.Time.Sub(joined), 0)
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
}

// ended waits until the instance has ended one more scan, whatever came of it.
func (r *rig) ended(i *instance) {
	r.t.Helper()
	first := -1
	require.NoError(r.t, r.cluster.Await(r.ctx, 4*time.Minute, "a scan ends", func(ctx context.Context) error {
		now, err := i.gauge(ctx, scans)
		if err != nil {
			return err
		}
		failed, err := i.gauge(ctx, `scans_total{outcome="failed"}`)
		if err != nil {
			return err
		}
		if now += failed; first < 0 {
			first = now
		}
		if now == first {
			return errors.New("not yet")
		}
		return nil
	}))
}

// vanishBound is promoteBound and one request timeout: that of a question that was sent to a silent
// broker just before that was known.
const vanishBound = promoteBound + 8*time.Second

// A zone that is cut off answers nothing, not even that nobody listens.
func TestAutoPromotesWhereAZoneVanishes(t *testing.T) {
	require.NoError(t, cluster.CanLink(), "this needs root and ip(8)")
	spec := crowded(nil)
	spec.Linked = 2
	r := start(t, spec)
	r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4})
	r.produce("t", 1000)
	r.busy()
	a := r.auto(t.TempDir(), nil)
	r.locked(a)
	cut := time.Now()
	require.NoError(t, r.cluster.Cut())
	require.NoError(t, r.cluster.Node(3).Pause())
	under := r.seen("t", "1 is left", func(isr []int32) bool { return len(isr) == 1 })
	ok := r.event(a.audit, promoter.AuditPromote, cut)
	require.Equal(t, int32(4), ok.Broker)
	r.took("auto: PROMOTE-OK after the partitions fell under their minimum, one broker cut off and one stopped with its connections open", ok.Time.Sub(under), vanishBound)
	r.took("auto: the same after the cut", ok.Time.Sub(cut), 0)
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
}
