package check

import (
	"fmt"
	"slices"

	"observer-patch/internal/lab/history"
)

// name is what identifies a record wherever it is read.
type name struct {
	partition
	producer string
	seq      int64
}

// fates gives the records whose outcome is not Acked.
func fates(h history.History) map[name]string {
	out := map[name]string{}
	for _, op := range h.Ops() {
		if op.Outcome != history.Acked {
			out[name{partition{op.Topic, op.Partition}, op.Producer, op.Seq}] = op.Outcome
		}
	}
	return out
}

// committedView asks that read_committed consumers see what others see, in the same order and at the
// same offsets, without the records of aborted transactions. Records whose transaction ended
// without an answer may be there or not.
func committedView(h history.History) Finding {
	t := tally{rule: "read_committed consumers see the same log without aborted transactions"}
	plain := map[partition][]history.Run{}
	for _, r := range h.Reads(false) {
		plain[partition{r.Topic, r.Partition}] = r.Runs
	}
	committed := h.Reads(true)
	if len(committed) != len(plain) {
		t.add("%d partitions read committed, %d uncommitted", len(committed), len(plain))
	}
	fate, aborted := fates(h), 0
	for _, r := range committed {
		p := partition{r.Topic, r.Partition}
		if _, ok := plain[p]; !ok {
			t.add("%v was read with read_committed only", p)
		}
		seen := spread(r.Runs)
		for _, e := range spread(plain[p]) {
			f := fate[name{p, e.producer, e.seq}]
			if f == history.Aborted {
				aborted++
			}
			if len(seen) > 0 && seen[0] == e {
				seen = seen[1:]
				if f == history.Aborted {
					t.add("%v: %s %d at offset %d was aborted and is read", p, e.producer, e.seq, e.offset)
				}
			} else if f != history.Aborted && f != history.Unknown {
				t.add("%v: %s %d at offset %d is not read", p, e.producer, e.seq, e.offset)
			}
		}
		if len(seen) > 0 {
			t.add("%v: %s %d at offset %d is read with read_committed only, or out of order", p, seen[0].producer, seen[0].seq, seen[0].offset)
		}
	}
	return t.finding("%d partitions compared, %d records of aborted transactions in the logs", len(plain), aborted)
}

// entry is one record at its place.
type entry struct {
	producer    string
	seq, offset int64
}

// spread gives the records of runs one by one.
func spread(runs []history.Run) []entry {
	var out []entry
	for _, r := range runs {
		for i := range r.N {
			out = append(out, entry{r.Producer, r.Seq + i, r.Offset + i})
		}
	}
	return out
}

// ThroughRack asks that read_committed consumers in the broker's rack were served by that broker
// alone, and saw what the leader's read_committed consumers saw, record by record.
func ThroughRack(h history.History, rack string, broker int32) Finding {
	t := tally{rule: fmt.Sprintf("the read_committed view of broker %d equals the leader's", broker)}
	leader := map[partition]history.Read{}
	for _, r := range h.Reads(true) {
		leader[partition{r.Topic, r.Partition}] = r
	}
	records, n := int64(0), 0
	for _, r := range h.RackReads() {
		if r.Rack != rack {
			continue
		}
		n++
		p := partition{r.Topic, r.Partition}
		if r.Broker != broker {
			t.add("%v: served by broker %d (0: by several), wanted %d", p, r.Broker, broker)
		}
		l, ok := leader[p]
		if !ok || l.End != r.End || !slices.Equal(l.Runs, r.Runs) {
			t.add("%v: %d runs up to %d, the leader's are %d up to %d", p, len(r.Runs), r.End, len(l.Runs), l.End)
		}
		for _, run := range r.Runs {
			records += run.N
		}
	}
	if n != len(leader) || records == 0 {
		t.add("%d of %d partitions were read in %s, %d records", n, len(leader), rack, records)
	}
	return t.finding("%d partitions, %d records", n, records)
}
