package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"observer-patch/internal/lab/history"
)

// force tells since when ids have been observers, as the edits of the identity files say. An id
// counts while any node's file names it: a broker must not add it as long as one controller or the
// leader still refuses. A removal counts from the first touched file, an addition from the last.
type force struct {
	lists map[int32][]int32
	since map[int32]float64
}

func newForce() *force { return &force{lists: map[int32][]int32{}, since: map[int32]float64{}} }

func (f *force) apply(e history.Edit, at float64) {
	for _, n := range e.Nodes {
		f.lists[n] = e.IDs
	}
	now := map[int32]bool{}
	for _, ids := range f.lists {
		for _, id := range ids {
			now[id] = true
		}
	}
	for id := range f.since {
		if !now[id] {
			delete(f.since, id)
		}
	}
	for id := range now {
		if _, ok := f.since[id]; !ok {
			f.since[id] = at
		}
	}
}

// Observers asks that no observer is in a committed ISR, and that none leads, later than window
// milliseconds after the edit that made it one. A partition whose replicas are all marked has none.
func Observers(h history.History, topic string, window float64) []Finding {
	isr := tally{rule: "no observer is in the committed ISR, but for the time a demotion takes"}
	leads := tally{rule: "no observer leads"}
	edits, n := 0, 0
	type pending struct {
		began, at float64
		edit      history.Edit
	}
	var all []pending
	for _, e := range h {
		if e.Edit != nil {
			p := pending{e.Edit.Began, e.At, *e.Edit}
			if e.Edit.Initial {
				p.began, p.at = math.Inf(-1), math.Inf(-1)
			}
			all = append(all, p)
			edits++
		}
	}
	f := newForce()
	next := 0
	for _, s := range h.Samples(topic) {
		for next < len(all) && all[next].began <= s.At {
			f.apply(all[next].edit, all[next].at)
			next++
		}
		marked := func(id int32) bool { _, ok := f.since[id]; return ok }
		if !slices.ContainsFunc(s.Replicas, func(id int32) bool { return !marked(id) }) {
			continue
		}
		n++
		for _, id := range slices.Sorted(maps.Keys(f.since)) {
			since := f.since[id]
			if s.From <= since+window {
				continue
			}
			if s.InISR(id) {
				isr.add("%s-%d: ISR %v at %.0f ms, %d is an observer since %s", s.Topic, s.ID, s.ISR, s.At, id, when(since))
			}
			if s.Leader == id {
				leads.add("%s-%d: led by %d at %.0f ms, an observer since %s", s.Topic, s.ID, id, s.At, when(since))
			}
		}
	}
	if n == 0 || edits == 0 {
		isr.add("%d samples and %d edits: nothing was shown", n, edits)
	}
	return []Finding{isr.finding("%d samples, %d edits, %.1f s allowed", n, edits, window/1000), leads.finding("%d samples", n)}
}

func when(ms float64) string {
	if math.IsInf(ms, -1) {
		return "before the run"
	}
	return fmt.Sprintf("%.0f ms", ms)
}
