package scenario

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

func TestVerdict(t *testing.T) {
	good, bad := check.That("rule", true, ""), check.That("rule", false, "")
	for name, c := range map[string]struct {
		o    Outcome
		want string
	}{
		"all holds":                     {Outcome{Preconditions: []check.Finding{good}, Findings: []check.Finding{good}}, Pass},
		"a rule is violated":            {Outcome{Preconditions: []check.Finding{good}, Findings: []check.Finding{good, bad}}, Fail},
		"a precondition is not met":     {Outcome{Preconditions: []check.Finding{bad}, Findings: []check.Finding{good}}, Inconclusive},
		"another fault than planned":    {Outcome{Findings: []check.Finding{bad}, Void: "the machine was too slow"}, Inconclusive},
		"violated without precondition": {Outcome{Preconditions: []check.Finding{bad}, Findings: []check.Finding{bad}}, Fail},
	} {
		require.Equal(t, c.want, c.o.verdict(), name)
	}
}

func TestNoScenarioPassesOnAnEmptyHistory(t *testing.T) {
	for _, s := range All() {
		for _, mode := range []release.Mode{release.KRaft, release.ZK} {
			for _, set := range []release.Set{release.Full, release.Base} {
				p := s.NewPlan("4.1.0", mode, set, false, nil)
				require.Equal(t, Fail, s.JudgeRun(nil, p).Verdict, "%s %s %s", s.ID, mode, set)
			}
		}
	}
}

func TestAFailedRunNeverPasses(t *testing.T) {
	o := s0().JudgeRun(history.History{{Mark: &history.Mark{Name: failure, Text: "broker 2 did not come up"}}}, s0().NewPlan("4.1.0", release.KRaft, release.Full, false, nil))
	require.Equal(t, Fail, o.Verdict)
	require.Contains(t, o.Findings, check.That("the run went through to its end", false, "broker 2 did not come up"))
}

func TestATimeBeyondItsBoundFails(t *testing.T) {
	p := p1().NewPlan("4.1.0", release.KRaft, release.Full, false, nil)
	edit := func(at float64, ids ...int32) history.Event {
		return history.Event{At: at, Edit: &history.Edit{Began: at, Nodes: []int32{1}, IDs: ids}}
	}
	joined := func(at float64) history.Event {
		return history.Event{At: at, View: &history.View{From: at - 1, Partitions: []history.Partition{{Topic: p.Topic, Replicas: []int32{1, 3, 4}, ISR: []int32{1, 3, 4}}}}}
	}
	bound := func(h history.History) []check.Finding {
		var out []check.Finding
		for _, f := range p1().JudgeRun(h, p).Findings {
			if f.Rule == "promotion p50 within its bound" {
				out = append(out, f)
			}
		}
		return out
	}
	require.Equal(t, []check.Finding{check.That("promotion p50 within its bound", true, "1900 ms, bound 2000 ms")}, bound(history.History{edit(0, 3, 4), edit(100), joined(2000)}))
	require.Equal(t, []check.Finding{check.That("promotion p50 within its bound", false, "2100 ms, bound 2000 ms")}, bound(history.History{edit(0, 3, 4), edit(100), joined(2200)}))
}

func TestQuantileIsNearestRank(t *testing.T) {
	require.InDelta(t, 2, quantile([]float64{1, 2, 3, 4}, 0.5), 0)
	require.InDelta(t, 4, quantile([]float64{1, 2, 3, 4}, 0.95), 0)
	require.InDelta(t, 1, quantile([]float64{1, 2, 3, 4}, 0), 0)
	require.InDelta(t, 0, quantile(nil, 0.5), 0)
}

func TestPlansWithoutThePatchHaveNoObserver(t *testing.T) {
	for _, s := range All() {
		p := s.NewPlan("3.7.1", release.ZK, release.Base, true, nil)
		require.Empty(t, p.Observers, s.ID)
		require.Zero(t, p.Controllers, s.ID)
		for _, a := range p.Assignment {
			require.NotContains(t, a, Observer, s.ID)
		}
		q := s.NewPlan("4.1.0", release.KRaft, release.Base, false, nil)
		require.Contains(t, slices.Concat(q.Assignment...), Observer, s.ID+": the patched plan keeps its own assignment")
	}
}

func TestTheEditThatSetsARunUpIsNoChange(t *testing.T) {
	edit := func(at float64, initial bool, ids ...int32) history.Event {
		return history.Event{At: at, Edit: &history.Edit{Began: at, Nodes: []int32{1}, IDs: ids, Initial: initial}}
	}
	promotion := change{began: 9, at: 9, gone: []int32{4}, added: []int32{}}
	require.Equal(t, []change{promotion}, changes(history.History{edit(1, true, 4, 5), edit(9, false, 5)}))
	require.Equal(t, []change{promotion}, changes(history.History{edit(1, false, 4, 5), edit(9, false, 5)}), "another scenario on the same cluster had other observers")
	require.Empty(t, changes(history.History{edit(1, false, 4), edit(9, false, 4)}))
}

func TestAListThatIsNewCountsAfterADemotion(t *testing.T) {
	edit := func(initial bool) history.Event {
		return history.Event{At: 100, Edit: &history.Edit{Nodes: []int32{1}, IDs: []int32{4, 5}, Initial: initial}}
	}
	promotion := history.Event{At: 50_000, Edit: &history.Edit{Nodes: []int32{1}, IDs: []int32{5}}}
	require.InDelta(t, 100+DemotionWindow, inForce(history.History{edit(false), promotion}), 0)
	require.Zero(t, inForce(history.History{edit(true), promotion}))
	require.Zero(t, inForce(history.History{}))
}
