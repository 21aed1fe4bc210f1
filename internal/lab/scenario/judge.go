package scenario

import (
	"math"
	"slices"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// DemotionWindow is how long an observer may stay in the ISR after the edit that made it one, in
// milliseconds: half of replica.lag.time.max.ms, the period of the leader's shrink, and 3 s.
const DemotionWindow = 10000/2 + 3000

// failure is the mark of a run that could not be finished.
const failure = "run-failed"

// JudgeRun computes the verdict of a history. It is all that a stored run is judged by.
func (s Scenario) JudgeRun(h history.History, p Plan) Outcome {
	o := Outcome{Findings: check.Records(h)}
	o.Findings = append(o.Findings, check.Watermarks(h, p.Topic), check.Epochs(h, p.Topic), check.Replicas(h, p.Topic))
	if !p.Unpatched {
		o.Findings = append(o.Findings, check.Observers(h, p.Topic, DemotionWindow)...)
		o.require(copies(h, p))
	}
	want := s.MinAcked
	if want == 0 {
		want = 500
	}
	n := len(acked(h, -1, 0, math.Inf(1)))
	o.require(check.That("there was enough traffic", n >= want, "%d records acknowledged, %d wanted", n, want))
	if p.Eligible {
		o.find(check.Eligible(h, p.Topic, 2))
	}
	s.Judge(h, p, &o)
	o.excuse(s.Breaks)
	if p.Set == release.Base && !p.Unpatched {
		o.excuse(s.BaseBreaks)
	}
	if e, failed := h.Mark(failure); failed {
		// First, because most of what else is missing follows from it.
		o.Findings = slices.Insert(o.Findings, 0, check.That("the run went through to its end", false, "%s", e.Mark.Text))
	}
	for _, m := range o.Measures {
		if m.Max > 0 {
			o.find(check.That(m.Name+" within its bound", m.MS <= m.Max, "%.0f ms, bound %.0f ms", m.MS, m.Max))
		}
	}
	o.Verdict = o.verdict()
	return o
}

// verdict: a violated rule fails whatever else is missing; without violation a precondition that
// was not met leaves nothing shown.
func (o *Outcome) verdict() string {
	bad := func(f check.Finding) bool { return !f.OK }
	switch {
	case o.Void != "":
		return Inconclusive
	case slices.ContainsFunc(o.Findings, bad):
		return Fail
	case slices.ContainsFunc(o.Preconditions, bad):
		return Inconclusive
	}
	return Pass
}

// excuse turns findings that a rule does not hold into notes, where that is what was to be shown.
func (o *Outcome) excuse(rules []string) {
	o.Findings = slices.DeleteFunc(o.Findings, func(f check.Finding) bool {
		if f.OK || !slices.Contains(rules, f.Rule) {
			return false
		}
		o.Notes = append(o.Notes, "expected, does not hold: "+f.Rule+": "+f.Detail)
		return true
	})
}

func (o *Outcome) require(f check.Finding) { o.Preconditions = append(o.Preconditions, f) }
func (o *Outcome) find(f check.Finding)    { o.Findings = append(o.Findings, f) }

// measure adds a time; ok false means that its end was never seen, which is a finding.
func (o *Outcome) measure(m Measure, ok bool) {
	if !ok {
		o.find(check.That(m.Name+" was seen", false, "from %s: never seen that %s", m.From, m.To))
		return
	}
	m.MS = math.Round(m.MS)
	o.Measures = append(o.Measures, m)
}

// copies asks that every observer held a copy outside of the ISR at some time: those of the plan, or
// where it begins without any, those of the first edit.
func copies(h history.History, p Plan) check.Finding {
	rule := "the running observer copies and is outside of the ISR"
	ids := p.Observers
	for _, e := range h {
		if len(ids) == 0 && e.Edit != nil {
			ids = e.Edit.IDs
		}
	}
	for _, id := range ids {
		s, ok := h.First(p.Topic, 0, func(s history.Sample) bool { return s.LEO[id] > 0 && !s.InISR(id) })
		if !ok {
			return check.That(rule, false, "never seen for %d", id)
		}
		if id == ids[len(ids)-1] {
			return check.That(rule, true, "%s-%d: log end %d on %d, ISR %v, at %.0f ms", s.Topic, s.ID, s.LEO[id], id, s.ISR, s.At)
		}
	}
	return check.That(rule, false, "nobody was an observer")
}

// acked gives the acknowledged operations of a partition (-1 for all) that began in a span.
func acked(h history.History, partition int32, from, to float64) []history.Op {
	var out []history.Op
	for _, op := range h.Ops() {
		if op.Outcome == history.Acked && (partition < 0 || op.Partition == partition) && op.Start >= from && op.Start < to {
			out = append(out, op)
		}
	}
	return out
}

// latencies gives the sorted latencies of operations, in milliseconds.
func latencies(ops []history.Op) []float64 {
	out := make([]float64, 0, len(ops))
	for _, op := range ops {
		out = append(out, op.End-op.Start)
	}
	slices.Sort(out)
	return out
}

// quantile gives the q-quantile of sorted values by the nearest-rank method, 0 for none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// before gives the last sample of every partition that ended before t.
func before(h history.History, topic string, t float64) map[int32]history.Sample {
	out := map[int32]history.Sample{}
	for _, s := range h.Samples(topic) {
		if s.At < t {
			out[s.ID] = s
		}
	}
	return out
}
