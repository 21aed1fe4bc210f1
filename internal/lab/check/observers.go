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

// place is a broker's place in a partition.
type place struct {
	partition
	broker int32
}

// term is since when a broker has led a partition, as samples show it.
type term struct {
	leader int32
	from   float64
}

// eye follows the samples of a history and tells who is an observer of what, and since when.
type eye struct {
	force   *force
	events  []history.Event // edits, moves and kills, in order of time
	down    map[int32]bool  // nodes that were killed and are not back
	targets map[partition][]int32
	terms   map[partition]term
	// last is the ISR when the partition was last seen with a leader that was alive.
	last map[partition][]int32
	// excused is until when a broker was rightly in the ISR: it sat as the leader, or all targets were
	// marked, or it was in the ISR when the partition's leader died: only a leader evicts.
	excused map[place]float64
}

func newEye(h history.History) (*eye, int) {
	e := &eye{force: newForce(), down: map[int32]bool{}, targets: map[partition][]int32{}, terms: map[partition]term{}, last: map[partition][]int32{}, excused: map[place]float64{}}
	edits := 0
	for _, v := range h {
		if v.Edit != nil {
			edits++
		}
		if v.Edit != nil || v.Move != nil || v.Fault != nil && v.Fault.Name == killed {
			e.events = append(e.events, v)
		}
	}
	return e, edits
}

// see takes a sample in and tells whether its partition has observers.
func (e *eye) see(s history.Sample) bool {
	for len(e.events) > 0 && began(e.events[0]) <= s.At {
		v := e.events[0]
		e.events = e.events[1:]
		if v.Move != nil {
			e.targets[partition{v.Move.Topic, v.Move.Partition}] = v.Move.Target
			continue
		}
		if v.Fault != nil {
			for _, id := range v.Fault.Targets {
				e.down[id] = v.Fault.Phase == history.Inject
			}
			continue
		}
		at := v.At
		if v.Edit.Initial {
			at = math.Inf(-1)
		}
		e.force.apply(*v.Edit, at)
	}
	p := partition{s.Topic, s.ID}
	if t, ok := e.terms[p]; !ok || t.leader != s.Leader {
		e.terms[p] = term{s.Leader, s.At}
	}
	sync := func(ids []int32) bool {
		return slices.ContainsFunc(ids, func(id int32) bool { _, marked := e.force.since[id]; return !marked })
	}
	target := e.targets[p]
	has := sync(s.Replicas) && (len(target) == 0 || sync(target))
	led := s.Leader >= 0 && !e.down[s.Leader]
	if led {
		e.last[p] = s.ISR
	}
	for id := range e.force.since {
		if !has || e.sitting(p, id) || !led && slices.Contains(e.last[p], id) {
			e.excused[place{p, id}] = s.At
		}
	}
	return has
}

// sitting tells whether the broker leads and has led since before it was marked: marking takes no
// partition offline.
func (e *eye) sitting(p partition, id int32) bool {
	t := e.terms[p]
	return t.leader == id && t.from <= e.force.since[id]
}

// since is from when on the broker has to be out of the partition's ISR, but for the window.
func (e *eye) since(p partition, id int32) float64 {
	at := e.force.since[id]
	if until, ok := e.excused[place{p, id}]; ok {
		at = max(at, until)
	}
	return at
}

// killed is the name of the fault that ends processes.
const killed = "kill -9"

func began(v history.Event) float64 {
	switch {
	case v.Move != nil:
		return v.Move.Began
	case v.Fault != nil && v.Fault.Phase == history.Heal:
		return v.At // back when it takes part
	case v.Fault != nil:
		return v.Fault.Began
	case v.Edit.Initial:
		return math.Inf(-1)
	}
	return v.Edit.Began
}

// Observers asks that no observer is in a committed ISR, and that none leads, later than window
// milliseconds after the edit that made it one. A partition whose target replicas are all marked has
// none, and a leader that is marked may stay until it has a successor.
func Observers(h history.History, topic string, window float64) []Finding {
	isr := tally{rule: OutOfISR}
	leads := tally{rule: NoneLeads}
	e, edits := newEye(h)
	n := 0
	for _, s := range h.Samples(topic) {
		if !e.see(s) {
			continue
		}
		n++
		p := partition{s.Topic, s.ID}
		for _, id := range slices.Sorted(maps.Keys(e.force.since)) {
			since := e.since(p, id)
			if s.From <= since+window || e.excused[place{p, id}] == s.At {
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

// The rules of Observers.
const (
	OutOfISR  = "no observer is in the committed ISR, but for the time a demotion takes"
	NoneLeads = "no observer leads"
)

func when(ms float64) string {
	if math.IsInf(ms, -1) {
		return "before the run"
	}
	return fmt.Sprintf("%.0f ms", ms)
}
