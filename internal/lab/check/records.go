package check

import (
	"cmp"
	"slices"

	"observer-patch/internal/lab/history"
)

// LossBound is the mark with which a scenario says how many acknowledged records of a partition an
// unclean promotion may cost, as it was printed before the election.
const LossBound = "loss-bound"

// Records compares what was acknowledged with what consumers read: nothing lost beyond the
// recorded bounds, nothing twice, nothing out of order, nothing at another offset than acknowledged,
// nothing that was never sent. A history without reads fails: nothing was shown.
func Records(h history.History) []Finding {
	ops := h.Ops()
	reads := h.Reads(false)
	logs := map[partition]log{}
	for _, r := range reads {
		logs[partition{r.Topic, r.Partition}] = newLog(r.Runs)
	}
	return []Finding{lost(h, ops, logs), twice(reads), order(reads), phantom(ops, reads), committedView(h)}
}

func lost(h history.History, ops []history.Op, logs map[partition]log) Finding {
	bounds := bounds(h)
	t := tally{rule: "no acknowledged record is lost"}
	acked, missing := 0, map[partition]int64{}
	for _, op := range ops {
		if op.Outcome != history.Acked {
			continue
		}
		acked++
		p := partition{op.Topic, op.Partition}
		l, read := logs[p]
		if !read {
			t.add("%v was not read back", p)
			continue
		}
		if l.has(op.Producer, op.Seq, op.Offset) {
			continue
		}
		if offset, found := l.find(op.Producer, op.Seq); found {
			t.add("%v: %s %d is at offset %d, acknowledged at %d", p, op.Producer, op.Seq, offset, op.Offset)
			continue
		}
		missing[p]++
		if missing[p] > bounds[p.id] {
			t.add("%v: %s %d, acknowledged at offset %d", p, op.Producer, op.Seq, op.Offset)
		}
	}
	if acked == 0 {
		t.add("no record was acknowledged at all")
	}
	sum, bound := int64(0), int64(0)
	for _, n := range missing {
		sum += n
	}
	for _, n := range bounds {
		bound += n
	}
	if len(bounds) > 0 {
		t.rule = "no more acknowledged records are lost than was printed before the election"
	}
	return t.finding("%d acknowledged, %d lost, bound %d", acked, sum, bound)
}

func bounds(h history.History) map[int32]int64 {
	out := map[int32]int64{}
	for _, e := range h.Marks(LossBound) {
		out[e.Mark.Partition] += e.Mark.Value
	}
	return out
}

func twice(reads []history.Read) Finding {
	t := tally{rule: "no record is in a log twice"}
	records := int64(0)
	for _, r := range reads {
		type span struct{ from, to int64 }
		seen := map[string][]span{}
		for _, run := range r.Runs {
			records += run.N
			for _, s := range seen[run.Producer] {
				if run.Seq < s.to && s.from < run.Seq+run.N {
					t.add("%s-%d: %s %d again at offset %d", r.Topic, r.Partition, run.Producer, max(run.Seq, s.from), run.Offset)
				}
			}
			seen[run.Producer] = append(seen[run.Producer], span{run.Seq, run.Seq + run.N})
		}
	}
	return t.finding("%d records read", records)
}

func order(reads []history.Read) Finding {
	t := tally{rule: "a producer's records keep their order in every partition"}
	for _, r := range reads {
		next := map[string]int64{}
		for _, run := range r.Runs {
			if run.Seq < next[run.Producer] {
				t.add("%s-%d: %s %d at offset %d comes after %d", r.Topic, r.Partition, run.Producer, run.Seq, run.Offset, next[run.Producer]-1)
			}
			next[run.Producer] = run.Seq + run.N
		}
	}
	return t.finding("%d partitions read", len(reads))
}

func phantom(ops []history.Op, reads []history.Read) Finding {
	t := tally{rule: "every record in a log was sent"}
	type from struct {
		partition
		producer string
	}
	sent := map[from]int64{}
	for _, op := range ops {
		f := from{partition{op.Topic, op.Partition}, op.Producer}
		sent[f] = max(sent[f], op.Seq+1)
	}
	for _, r := range reads {
		for _, run := range r.Runs {
			f := from{partition{r.Topic, r.Partition}, run.Producer}
			if run.Seq+run.N > sent[f] {
				t.add("%v: %s %d was never sent", f.partition, run.Producer, run.Seq+run.N-1)
			}
		}
	}
	return t.finding("%d records sent", len(ops))
}

// log is a partition's runs in order of offset.
type log []history.Run

func newLog(runs []history.Run) log {
	l := slices.Clone(runs)
	slices.SortFunc(l, func(a, b history.Run) int { return cmp.Compare(a.Offset, b.Offset) })
	return l
}

// has tells whether the record is at the offset.
func (l log) has(producer string, seq, offset int64) bool {
	i, exact := slices.BinarySearchFunc(l, offset, func(r history.Run, o int64) int { return cmp.Compare(r.Offset, o) })
	if !exact {
		i--
	}
	return i >= 0 && l[i].Producer == producer && offset-l[i].Offset < l[i].N && l[i].Seq+offset-l[i].Offset == seq
}

// find gives any offset at which the record is.
func (l log) find(producer string, seq int64) (offset int64, ok bool) {
	for _, r := range l {
		if r.Producer == producer && seq >= r.Seq && seq < r.Seq+r.N {
			return r.Offset + seq - r.Seq, true
		}
	}
	return 0, false
}
