//go:build cluster

package operate

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/promoter"
)

// The bounds with a scan every 10 s, from the moment the partition is under its minimum, and from
// the moment its ISR is whole again.
const (
	promoteBound = 14 * time.Second
	demoteBound  = 31 * time.Second
)

// Upstream's default timeouts: replicas may lag for 30 s, a broker may be silent for 9 s.
func TestAutoPromotesAndDemotes(t *testing.T) {
	r := start(t, crowded(map[string]string{"replica.lag.time.max.ms": "30000"}))
	r.topic("t", []int32{1, 2, 3, 4}, []int32{1, 3, 2, 4})
	r.produce("t", 1000)
	counts := r.busy()
	state := t.TempDir()
	a := r.auto(state, nil)
	r.locked(a)
	// A second instance on another machine (another state folder) finds the lock taken.
	second := r.auto(t.TempDir(), nil)
	r.event(second.audit, promoter.AuditSkip, time.Time{})

	dead, killed, under := r.fall("t")
	all, failed := counts()
	counted := time.Now()
	ok := r.event(a.audit, promoter.AuditPromote, killed)
	require.Equal(t, int32(4), ok.Broker)
	r.took("auto: PROMOTE-OK after the partitions fell under their minimum, scanning every 10 s, replica.lag.time.max.ms=30000", ok.Time.Sub(under), promoteBound)
	r.took("auto: PROMOTE-OK after kill -9 of two sync replicas, one of them the coordinator of its lock", ok.Time.Sub(killed), 0)
	allNow, failedNow := counts()
	require.Equal(t, allNow-all, failedNow-failed, "the coordinator could write: that is not the situation")
	if time.Since(counted) > 2*commitLimit { // a promotion that comes at once leaves no time for one
		require.Positive(t, failedNow-failed)
	}
	r.saw("the lock's coordinator could not write all that time", "%d of %d commits of another group failed", failedNow-failed, allNow-all)
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	r.produce("t", 100)

	whole := r.recover("t", dead)
	ok = r.event(a.audit, promoter.AuditDemote, whole.Add(-time.Second))
	r.took("auto: DEMOTE-OK after the ISR was whole, replica.lag.time.max.ms=30000", ok.Time.Sub(whole), demoteBound)
	r.until("4 is an observer again", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) })
	require.Empty(t, r.lines(second.audit, promoter.AuditBegin))
	require.NotEmpty(t, r.lines(second.audit, promoter.AuditSkip))
	require.Equal(t, promoter.SkipNoLock, r.lines(second.audit, promoter.AuditSkip)[0].Rule)
	second.kill(t)
	r.saw("a second instance with a state folder of its own does nothing", "no-lock in its audit log, no action")
	r.flaps(a, state)
}

// flaps loses two brokers again, within the cooldown.
func (r *rig) flaps(a *instance, state string) {
	t := r.t
	dead, killed, _ := r.fall("t")
	skip := r.rule(a.audit, promoter.SkipCooldown, killed)
	require.Equal(t, int32(4), skip.Broker)
	r.scanned(a, 1)
	require.Len(t, r.lines(a.audit, promoter.AuditPromote), 1)
	require.Equal(t, []string{"4"}, r.ids(101))
	r.saw("two brokers flap: the cooldown bars a second promotion", "%s", skip.Reason)

	dry := t.TempDir()
	audit := filepath.Join(dry, "audit.jsonl")
	own := append(r.args[:len(r.args)-1:len(r.args)-1], dry)
	code, _, errs := tool(t, r.ctx, append([]string{"auto", "--enable", "--once", "--dry-run", "--audit-log", audit}, own...)...)
	require.Equal(t, exit.Done, code, errs)
	require.Len(t, r.lines(audit, promoter.AuditDryRun), 1)
	require.Equal(t, int32(4), r.lines(audit, promoter.AuditDryRun)[0].Broker)
	code, _, errs = tool(t, r.ctx, append([]string{"auto", "--enable", "--once", "--audit-log", "/dev/full"}, own...)...)
	require.Equal(t, exit.Failed, code)
	require.Contains(t, errs, "audit log: write /dev/full: no space left on device")
	for _, n := range r.cluster.Nodes {
		require.Equal(t, []string{"4"}, r.ids(n.ID))
	}
	r.saw("a dry run changes nothing", "DRY-RUN of the promotion of 4 in its audit log, every file as it was")
	r.saw("auto whose audit log is on a full disk", "ends with exit code 1, every file as it was")

	a.kill(t)
	r.run(exit.Done, "promote", "4", "--yes")
	again := r.auto(state, nil)
	skip = r.rule(again.audit, promoter.SkipPerson, killed)
	r.recover("t", dead)
	r.locked(again)
	r.scanned(again, 2)
	require.Len(t, r.lines(again.audit, promoter.AuditDemote), 1, "the one from before")
	require.Empty(t, r.ids(101))
	r.saw("kill -9 of auto, a person promotes 4, auto starts again and the ISR is whole: it does not demote what it did not promote", "%s", skip.Reason)
}
