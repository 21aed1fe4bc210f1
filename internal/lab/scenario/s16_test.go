package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// sequence gives the first steps of a plan's random faults.
func sequence(p Plan, n int) []step {
	d := newDice(p)
	var out []step
	for range n {
		out = append(out, d.next())
	}
	return out
}

func TestASeedDecidesWhatIsDone(t *testing.T) {
	p := Plan{Seed: 7, Mode: release.KRaft, Set: release.Full}
	require.Equal(t, sequence(p, 200), sequence(p, 200))
	q := p
	q.Seed = 8
	require.NotEqual(t, sequence(p, 200), sequence(q, 200))
}

func TestRandomStepsFitTheCluster(t *testing.T) {
	for _, p := range []Plan{{Mode: release.KRaft, Set: release.Full}, {Mode: release.ZK, Set: release.Full}, {Mode: release.ZK, Set: release.Base}} {
		kinds := map[string]bool{}
		for _, s := range sequence(p, 1000) {
			kinds[s.kind] = true
			switch s.kind {
			case killObserver:
				require.Equal(t, Observer, s.node)
			case killQuorum:
				require.Contains(t, []int32{101, 102, 103}, s.node)
			default:
				require.Contains(t, []int32{1, 2, 3}, s.node)
			}
		}
		require.Equal(t, p.Mode == release.KRaft, kinds[killQuorum], "a ZooKeeper cluster has no controllers to kill")
		require.Equal(t, p.Set == release.Full, kinds[reorder], "with base a reassignment may never end")
		require.True(t, kinds[killSync] && kinds[killObserver] && kinds[pauseBroker] && kinds[damageFile] && kinds[promoteIt] && kinds[electLeaders])
	}
}

func TestTooFewRandomStepsShowNothing(t *testing.T) {
	step := func(kind string) history.Event {
		return history.Event{Mark: &history.Mark{Name: stepMark, Text: kind}}
	}
	ok := func(h ...history.Event) bool {
		var o Outcome
		s16().Judge(h, Plan{}, &o)
		return o.Preconditions[0].OK
	}
	require.True(t, ok(step(killSync), step(reorder), step(killSync)))
	require.False(t, ok(step(killSync), step(killSync), step(killSync)))
	require.False(t, ok(step(killSync), step(reorder)))
}
