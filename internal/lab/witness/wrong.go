package witness

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// The rules of Wrong.
const (
	Written     = "every change by auto was written down before its first file"
	Reason      = "nobody is promoted unless a partition of his is under its minimum of sync replicas and he lacks nothing of it"
	OwnOnly     = "auto demotes only what it promoted"
	StaysEnough = "nobody is demoted while a partition of his would be under its minimum, or is led by him"
	Cooldown    = "auto promotes a broker once in a cooldown"
	Precedence  = "auto leaves a broker alone that a person has changed"
	NoneLeads   = "no observer leads"
	Differing   = "auto changes nothing while a node's file differs"
)

// tally collects what breaks one rule.
type tally struct {
	rule   string
	looked int
	broken []string
}

func (t *tally) add(format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf(format, args...))
}

func (t *tally) finding(what string) check.Finding {
	if len(t.broken) == 0 {
		return check.That(t.rule, true, "%d %s", t.looked, what)
	}
	return check.That(t.rule, false, "%d violations: %s", len(t.broken), strings.Join(t.broken[:min(5, len(t.broken))], "; "))
}

// Wrong asks whether an action was wrong.
func (s Story) Wrong() []check.Finding {
	all := s.Changes()
	return []check.Finding{s.written(all), s.reason(all), s.ownOnly(all), s.staysEnough(all), s.cooldown(all), s.precedence(all), s.differing(all), s.noneLeads()}
}

// resumed tells whether the change takes back an action of the other kind that a kill had cut off.
func (s Story) resumed(c Change) bool {
	other := observer.Demote
	if c.Kind == observer.Demote {
		other = observer.Promote
	}
	return s.begun(c.Broker, other, c.From) != nil
}

func (s Story) written(all []Change) check.Finding {
	t := tally{rule: Written}
	for _, c := range all {
		if c.By != ByAuto {
			continue
		}
		t.looked++
		if s.begun(c.Broker, c.Kind, c.From) == nil && !s.resumed(c) {
			t.add("%s of %d at %.0f ms: no BEGIN in the audit log that has not ended", c.Kind, c.Broker, c.From)
		}
	}
	for _, l := range s.Audit {
		kind := map[string]observer.Change{promoter.AuditPromote: observer.Promote, promoter.AuditDemote: observer.Demote}[l.Event]
		if kind != "" && !slices.ContainsFunc(all, func(c Change) bool {
			return c.Broker == l.Broker && c.Kind == kind && c.To <= l.At+s.Settings.Sample && c.By != ByPerson
		}) {
			t.add("%s of %d at %.0f ms: no file was changed", l.Event, l.Broker, l.At)
		}
	}
	return t.finding("changes")
}

func (s Story) reason(all []Change) check.Finding {
	t := tally{rule: Reason}
	for _, c := range all {
		begin := s.begun(c.Broker, observer.Promote, c.From)
		if c.By != ByAuto || c.Kind != observer.Promote || begin == nil {
			continue
		}
		t.looked++
		marked, _ := s.marks(c.From - 0.05)
		views := s.views(begin.At-s.Settings.Window, c.From+s.Settings.Sample)
		if !slices.ContainsFunc(views, func(e history.Event) bool {
			return slices.ContainsFunc(e.View.Partitions, func(p history.Partition) bool {
				return slices.Contains(p.Replicas, c.Broker) && s.under(p, marked) && !behind(p, c.Broker)
			})
		}) {
			t.add("promotion of %d at %.0f ms: none of %d samples shows a reason: %s", c.Broker, c.From, len(views), shown(views))
		}
	}
	return t.finding("promotions")
}

// shown gives the last of the samples in short.
func shown(views []history.Event) string {
	if len(views) == 0 {
		return "no sample"
	}
	var out []string
	for _, p := range views[len(views)-1].View.Partitions {
		out = append(out, fmt.Sprintf("%s-%d leader %d ISR %v", p.Topic, p.ID, p.Leader, p.ISR))
	}
	return strings.Join(out, ", ")
}

func (s Story) ownOnly(all []Change) check.Finding {
	t := tally{rule: OwnOnly}
	owner := map[int32]string{}
	for _, c := range all {
		if c.Kind == observer.Promote {
			if !c.Undone {
				owner[c.Broker] = c.By
			}
			continue
		}
		if c.By == ByAuto && !s.resumed(c) {
			t.looked++
			if o := owner[c.Broker]; o == ByPerson {
				t.add("%d was demoted by auto at %.0f ms, a person had promoted it", c.Broker, c.From)
			}
		}
	}
	return t.finding("demotions")
}

func (s Story) staysEnough(all []Change) check.Finding {
	t := tally{rule: StaysEnough}
	for _, c := range all {
		if c.By != ByAuto || c.Kind != observer.Demote || s.resumed(c) {
			continue
		}
		for _, w := range c.Writes {
			if w.Kind != observer.Demote {
				continue // taken back
			}
			t.looked++
			some, _ := s.marks(w.At)
			marked := observer.With(some, c.Broker)
			views := s.views(w.At-s.Settings.Window, w.At)
			if !slices.ContainsFunc(views, func(e history.Event) bool { return s.spared(e.View, c.Broker, marked) }) {
				t.add("demotion of %d, file at %.0f ms: in none of %d samples could it be spared: %s", c.Broker, w.At, len(views), shown(views))
			}
		}
	}
	return t.finding("files of demotions")
}

// spared tells whether every partition of the broker has a leader and enough sync replicas without
// it.
func (s Story) spared(v *history.View, broker int32, marked []int32) bool {
	return !slices.ContainsFunc(v.Partitions, func(p history.Partition) bool {
		return slices.Contains(p.Replicas, broker) && (p.Leader < 0 || p.Leader == broker || syncs(v, p, marked) < min(s.Settings.MinISR, len(p.Replicas)))
	})
}

func (s Story) cooldown(all []Change) check.Finding {
	t := tally{rule: Cooldown}
	last := map[int32]float64{}
	for _, c := range all {
		begin := s.begun(c.Broker, observer.Promote, c.From)
		if c.By != ByAuto || c.Kind != observer.Promote || begin == nil {
			continue
		}
		t.looked++
		// The cooldown counts from the look that the first promotion was decided on.
		if before, ok := last[c.Broker]; ok && begin.At-before < s.Settings.Cooldown-s.Settings.Window {
			t.add("%d at %.0f ms, again after %.1f s", c.Broker, begin.At, (begin.At-before)/1000)
		}
		last[c.Broker] = begin.At
	}
	return t.finding("promotions")
}

func (s Story) precedence(all []Change) check.Finding {
	t := tally{rule: Precedence}
	touched := map[int32]float64{}
	for _, c := range all {
		if c.By == ByPerson {
			touched[c.Broker] = c.To
			continue
		}
		if c.By != ByAuto {
			continue
		}
		t.looked++
		begin := s.begun(c.Broker, c.Kind, c.From)
		at, ok := touched[c.Broker]
		// What was begun before the person came is not against him: every file is replaced only when
		// it is what was read.
		if ok && begin != nil && begin.At > at && c.From-at < s.Settings.Hold-s.Settings.Window {
			t.add("%s of %d at %.0f ms, %.1f s after a person changed it", c.Kind, c.Broker, c.From, (c.From-at)/1000)
		}
	}
	return t.finding("changes")
}

// differing asks that no action begins in a time in which the lab has made one file differ.
func (s Story) differing(all []Change) check.Finding {
	t := tally{rule: Differing}
	for _, h := range s.Hands {
		if h.Node == 0 {
			continue
		}
		t.looked++
		for _, c := range all {
			if c.By == ByAuto && c.From > h.From+s.Settings.Window && c.From < h.To {
				t.add("%s of %d at %.0f ms, the file of node %d differs since %.0f ms", c.Kind, c.Broker, c.From, h.Node, h.From)
			}
		}
	}
	return t.finding("files that differed")
}

func (s Story) noneLeads() check.Finding {
	t := tally{rule: NoneLeads}
	for _, e := range s.views(0, math.Inf(1)) {
		t.looked++
		// Marked in all files, and for so long that every node has read its own.
		_, before := s.marks(e.View.From - s.Settings.Window)
		_, now := s.marks(e.At)
		for _, p := range e.View.Partitions {
			if slices.Contains(before, p.Leader) && slices.Contains(now, p.Leader) && slices.Contains(p.Replicas, p.Leader) {
				t.add("%s-%d is led by %d at %.0f ms", p.Topic, p.ID, p.Leader, e.At)
			}
		}
	}
	if t.looked == 0 {
		t.add("no sample")
	}
	return t.finding("samples")
}
