package observer

import (
	"fmt"
	"slices"
	"time"
)

// maxMarks bounds how many marks a partition keeps; older ones are thinned, so that a long lag is
// told more coarsely, never wrongly.
const maxMarks = 256

// Mark says how far the partition was committed at a time.
type Mark struct {
	At time.Time `json:"at"`
	HW int64     `json:"hw"`
}

// Recording is what was seen of a partition while its brokers lived: how far it was committed and
// how far its observers had come. It lies outside of the zone that may fail, and tells afterwards
// how much an unclean election loses.
type Recording struct {
	Topic string `json:"topic"`
	ID    int32  `json:"partition"`
	// Marks are ascending in time; those that every observer has passed are dropped but one.
	Marks []Mark `json:"marks"`
	// Ends are the log end offsets of the replicas at the last mark, those that were known.
	Ends map[int32]int64 `json:"ends"`
	// Lost is when the partition was first seen without a leader after the last mark.
	Lost time.Time `json:"lost,omitzero"`
}

// Note takes account of one look at a partition that has a leader: its high watermark and the
// observers' log end offsets. Looks older than the last one are ignored.
func (r *Recording) Note(at time.Time, hw int64, ends map[int32]int64) {
	if n := len(r.Marks); n > 0 && !at.After(r.Marks[n-1].At) {
		return
	}
	r.Marks = append(r.Marks, Mark{At: at, HW: hw})
	r.Ends, r.Lost = ends, time.Time{}
	least := hw
	for _, end := range ends {
		least = min(least, end)
	}
	// Of the marks that all have passed only the newest says anything.
	passed := 0
	for i, m := range r.Marks {
		if m.HW <= least {
			passed = i
		}
	}
	r.Marks = slices.Delete(r.Marks, 0, passed)
	if len(r.Marks) > maxMarks {
		// Every second one goes; the first and the last stay.
		kept := r.Marks[:0]
		for i, m := range r.Marks {
			if i%2 == 0 || i == len(r.Marks)-1 {
				kept = append(kept, m)
			}
		}
		r.Marks = kept
	}
}

// NoteLost takes account of a look that found no leader.
func (r *Recording) NoteLost(at time.Time) {
	if len(r.Marks) > 0 && r.Lost.IsZero() {
		r.Lost = at
	}
}

// Bound is how much is lost at most when a replica becomes the leader.
type Bound struct {
	// Known is false when nothing was recorded; nothing else is said then.
	Known bool `json:"known"`
	// Records were seen committed and are not on the replica.
	Records int64 `json:"records"`
	// Seconds is the time whose writes may be missing: from the last moment up to which the
	// replica has everything that was committed, to the moment the partition was seen without a
	// leader. SecondsKnown is false when no such moment is on record.
	Seconds      float64 `json:"seconds"`
	SecondsKnown bool    `json:"seconds_known"`
	// Unseen is how much of Seconds lies after the last look: what was committed then is not in
	// Records.
	Unseen float64 `json:"unseen_seconds"`
	// Seen is the time of the last look.
	Seen time.Time `json:"seen"`
}

// Bound says how much is lost at most when a replica whose log ends at end becomes the leader. Now
// stands for the loss of the leader when no look has seen that.
func (r Recording) Bound(end int64, now time.Time) Bound {
	n := len(r.Marks)
	if n == 0 {
		return Bound{}
	}
	last := r.Marks[n-1]
	lost := now
	if !r.Lost.IsZero() {
		lost = r.Lost
	}
	b := Bound{Known: true, Records: max(0, last.HW-end), Seen: last.At, Unseen: max(0, lost.Sub(last.At).Seconds())}
	for _, m := range slices.Backward(r.Marks) {
		if m.HW <= end {
			b.Seconds, b.SecondsKnown = max(0, lost.Sub(m.At).Seconds()), true
			break
		}
	}
	return b
}

// String gives the bound in the words that are printed before an unclean election.
func (b Bound) String() string {
	if !b.Known {
		return "an unknown number of records: no position was recorded before (see observer-patch record and auto)"
	}
	seconds := "an unknown time"
	if b.SecondsKnown {
		seconds = fmt.Sprintf("%.1f seconds", b.Seconds)
	}
	text := fmt.Sprintf("at most %d records, %s", b.Records, seconds)
	if b.Unseen > 0 {
		text += fmt.Sprintf("; the last look was at %s: what was committed in the %.1f seconds after it is in the seconds and not in the records", b.Seen.UTC().Format(time.RFC3339), b.Unseen)
	}
	return text
}
