//go:build cluster

package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/promoter"
)

// 4 and 5 are observers, 5 lags behind.
func TestAutoPromotesTheObserverThatHasEverything(t *testing.T) {
	spec := crowded(nil)
	spec.Brokers, spec.Observers = 5, []int32{4, 5}
	r := start(t, spec)
	r.topic("t", []int32{1, 2, 3, 4, 5})
	r.throttled("t", 5, "1")
	r.load("t", 6_000_000)
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
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	require.Empty(t, r.lines(a.audit, promoter.AuditFailed))
	ok := r.event(a.audit, promoter.AuditPromote, killed)
	require.Equal(t, int32(4), ok.Broker)
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
	r.throttled("t", 5, "")
	ok = r.event(b.audit, promoter.AuditPromote, began)
	require.Equal(t, int32(5), ok.Broker)
	r.took("auto: PROMOTE-OK of it after it was let catch up", ok.Time.Sub(began), 0)
	r.until("5 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 5) })
	r.produce("t", 100)
}

// throttled lets a broker fetch partition 0 of the topic at the rate, as fast as it can for "".
func (r *rig) throttled(topic string, broker int32, rate string) {
	r.t.Helper()
	admin, err := r.cluster.Admin()
	require.NoError(r.t, err)
	op := kadm.SetConfig
	if rate == "" {
		op = kadm.DeleteConfig
	}
	replicas := fmt.Sprintf("0:%d", broker)
	got, err := admin.AlterTopicConfigs(r.ctx, []kadm.AlterConfig{{Op: op, Name: "follower.replication.throttled.replicas", Value: &replicas}}, topic)
	require.NoError(r.t, err)
	require.NoError(r.t, got[0].Err)
	got, err = admin.AlterBrokerConfigs(r.ctx, []kadm.AlterConfig{{Op: op, Name: "follower.replication.throttled.rate", Value: &rate}}, broker)
	require.NoError(r.t, err)
	require.NoError(r.t, got[0].Err)
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

// lags waits until one observer has everything while the other one lags, and gives by how much.
func (r *rig) lags(topic string, good, bad int32) int64 {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, time.Minute, "one observer has everything", func(context.Context) error {
		if lag := r.lagOf(topic, good); lag > 0 {
			return fmt.Errorf("it lacks %d", lag)
		}
		return nil
	}))
	lag := r.lagOf(topic, bad)
	require.Positive(r.t, lag, "the throttle does nothing")
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
	state := t.TempDir()
	a := r.auto(state, r.cluster.Behind(), "--cooldown", "1s")
	// Its metrics are in its own network; it has scanned when it has recorded positions.
	r.event(a.audit, promoter.AuditStart, time.Time{})
	r.recorded(state)

	require.NoError(t, r.cluster.Cut())
	cut := time.Now()
	r.fall("t")
	// What it is told by the broker beside it is old, and no controller answers.
	first := r.skipped(a.audit, cut)
	r.silent(a)
	require.Empty(t, r.lines(a.audit, promoter.AuditBegin))
	for _, n := range r.cluster.Nodes {
		require.Equal(t, []string{"4"}, r.ids(n.ID), "node %d: every file could be reached", n.ID)
	}
	r.saw("auto is cut off with the observer while two sync replicas are killed on the other side", "no action, although it could have written every file; %s: %s", first.Rule, first.Reason)

	require.NoError(t, r.cluster.Join())
	joined := time.Now()
	ok := r.event(a.audit, promoter.AuditPromote, joined)
	require.Equal(t, int32(4), ok.Broker)
	r.took("auto: PROMOTE-OK after the link was back", ok.Time.Sub(joined), 0)
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
}

// recorded waits until auto has recorded the observers' positions, which it does in each scan.
func (r *rig) recorded(state string) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, time.Minute, "auto has scanned", func(context.Context) error {
		found, err := filepath.Glob(filepath.Join(state, "*", "positions.json"))
		if err == nil && len(found) == 0 {
			err = errors.New("no recording")
		}
		return err
	}))
}

// skipped waits for the first SKIP after the time.
func (r *rig) skipped(audit string, after time.Time) (found promoter.AuditLine) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 3*time.Minute, "auto says why it does nothing", func(context.Context) error {
		for _, l := range r.lines(audit, promoter.AuditSkip) {
			if l.Time.After(after) {
				found = l
				return nil
			}
		}
		return errors.New("not yet")
	}))
	return found
}

// silent waits until the instance has twice found that it cannot ask for its lock, so that a whole
// scan lies between the two.
func (r *rig) silent(i *instance) {
	r.t.Helper()
	text, err := os.ReadFile(i.said)
	require.NoError(r.t, err)
	from := len(text)
	require.NoError(r.t, r.cluster.Await(r.ctx, 4*time.Minute, "a scan without the lock", func(context.Context) error {
		text, err := os.ReadFile(i.said)
		if err == nil && strings.Count(string(text[from:]), "lock on the cluster") < 2 {
			err = errors.New("not yet")
		}
		return err
	}))
}
