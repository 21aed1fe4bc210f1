// Package witness judges automatic promotion from outside: from samples of the cluster's metadata,
// the content of every identity file and the audit log, each with its time, it finds actions that
// were wrong and actions that came too late. It knows nothing of how decisions are made, and touches
// no cluster.
package witness

import (
	"slices"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/promoter"
)

// Story is what was seen of a run. All times are milliseconds since it began, ascending in every
// list.
type Story struct {
	Settings Settings
	History  history.History
	Files    []File
	Audit    []Line
	Hands    []Hand
	Down     []Span
	// Able are the times in which an instance ran and said that it held the lock.
	Able []Span
}

// Settings are what the run was set to. Durations are in milliseconds.
type Settings struct {
	// Observers are the ids that every file had at first, Nodes all holders of a file.
	Observers []int32 `json:"observers"`
	Nodes     []int32 `json:"nodes"`
	// MinISR is min.insync.replicas of every topic, as the brokers describe it.
	MinISR int `json:"min_isr"`
	// Cooldown and Hold are auto's.
	Cooldown float64 `json:"cooldown_ms"`
	Hold     float64 `json:"hold_ms"`
	// Window is how old what an action was decided on may be, and how long metadata may be stale.
	Window float64 `json:"window_ms"`
	// Sample is how far apart two samples may be.
	Sample float64 `json:"sample_ms"`
	// Promote and Demote bound how long something may be due; Silent is what a broker or controller
	// that answers nothing may add.
	Promote float64 `json:"promote_bound_ms"`
	Demote  float64 `json:"demote_bound_ms"`
	Silent  float64 `json:"silent_ms"`
}

// File is the content of a node's identity file from At on, by a look; the look before that was at
// Before and found another.
type File struct {
	Node       int32
	Before, At float64
	IDs        []int32
}

// Line is a line of the audit log with its time on the run's clock.
type Line struct {
	At float64
	promoter.AuditLine
}

// Hand is somebody else's change while it was under way: of a broker's mark by a person, or, when
// Node is set, of that node's file alone by the lab.
type Hand struct {
	From, To float64
	Broker   int32
	Node     int32
	// Refused says that the command refused or failed: it need not have changed anything.
	Refused bool
}

// Span is a time, of a node where that says something; Frozen is a node that has its connections
// open and answers nothing.
type Span struct {
	From, To float64
	Node     int32
	Frozen   bool
}

// gone tells whether the node was down at the time.
func (s Story) gone(node int32, at float64) bool {
	return slices.ContainsFunc(s.Down, func(d Span) bool { return d.Node == node && d.From <= at && at <= d.To })
}

// down tells whether the node was down at the time, or just back.
func (s Story) down(node int32, at float64) bool {
	return slices.ContainsFunc(s.Down, func(d Span) bool { return d.Node == node && d.From <= at && at <= d.To+s.Settings.Window })
}

// marks gives who was marked at a time: in any file, and in all of them.
func (s Story) marks(at float64) (some, all []int32) {
	lists := map[int32][]int32{}
	for _, n := range s.Settings.Nodes {
		lists[n] = s.Settings.Observers
	}
	for _, f := range s.Files {
		if f.At > at {
			break
		}
		lists[f.Node] = f.IDs
	}
	for _, b := range s.Settings.Observers {
		n := 0
		for _, list := range lists {
			if slices.Contains(list, b) {
				n++
			}
		}
		if n > 0 {
			some = append(some, b)
		}
		if n == len(lists) {
			all = append(all, b)
		}
	}
	return some, all
}

// views gives the samples of the times from and to, both included, that are not by a node that was
// frozen just before.
func (s Story) views(from, to float64) []history.Event {
	first, _ := slices.BinarySearchFunc(s.History, from, func(e history.Event, at float64) int {
		if e.At < at {
			return -1
		}
		return 1
	})
	var out []history.Event
	for _, e := range s.History[first:] {
		if e.At > to {
			break
		}
		if e.View != nil && !s.thawed(e.View.Via, e.View.From) {
			out = append(out, e)
		}
	}
	return out
}

// thawed tells whether the node was frozen so shortly before the time that what it knows may be old.
func (s Story) thawed(node int32, at float64) bool {
	return slices.ContainsFunc(s.Down, func(d Span) bool { return d.Frozen && d.Node == node && d.From <= at && at <= d.To+s.Settings.Window })
}

// syncs counts the members of the ISR that are listed as alive and not among the marked.
func syncs(v *history.View, p history.Partition, marked []int32) int {
	n := 0
	for _, b := range p.ISR {
		if !slices.Contains(marked, b) && slices.Contains(v.Brokers, b) {
			n++
		}
	}
	return n
}

// under tells whether a partition with a leader has fewer sync members in its ISR than its minimum.
func (s Story) under(p history.Partition, marked []int32) bool {
	n := 0
	for _, b := range p.ISR {
		if !slices.Contains(marked, b) {
			n++
		}
	}
	return p.Leader >= 0 && n < min(s.Settings.MinISR, len(p.Replicas))
}

// behind tells whether the sample proves that the broker lacks a committed record: watermarks are
// sampled before log ends.
func behind(p history.Partition, broker int32) bool {
	end, ok := p.LEO[broker]
	return ok && p.HW >= 0 && end < p.HW
}
