package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
)

func aborted(seq int64) history.Event {
	return history.Event{Op: &history.Op{Producer: "p", Topic: topic, Seq: seq, Offset: seq, Outcome: history.Aborted}}
}

func seen(committed bool, runs ...history.Run) history.Event {
	return history.Event{Read: &history.Read{Topic: topic, Committed: committed, Runs: runs}}
}

func TestCommittedViewLeavesOutWhatWasAborted(t *testing.T) {
	ops := history.History{acked(0, 0), aborted(1), unknown(2), acked(3, 3)}
	all := seen(false, run(0, 0, 4))
	for name, c := range map[string]struct {
		committed history.Event
		ok        bool
	}{
		"without the aborted one":          {seen(true, run(0, 0, 1), run(2, 2, 2)), true},
		"without the unknown one":          {seen(true, run(0, 0, 1), run(3, 3, 1)), true},
		"the aborted one is read":          {seen(true, run(0, 0, 4)), false},
		"a committed one is missing":       {seen(true, run(0, 0, 1), run(2, 2, 1)), false},
		"at another offset":                {seen(true, run(0, 0, 1), run(4, 3, 1)), false},
		"one more than others read":        {seen(true, run(0, 0, 1), run(2, 2, 3)), false},
		"nothing is read":                  {seen(true), false},
		"out of order":                     {seen(true, run(3, 3, 1), run(0, 0, 1)), false},
		"another partition was read alone": {history.Event{Read: &history.Read{Topic: topic, Partition: 7, Committed: true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.ok, committedView(append(append(history.History{}, ops...), all, c.committed)).OK)
		})
	}
	require.False(t, committedView(append(append(history.History{}, ops...), all)).OK, "not read with read_committed")
}

func TestThroughRack(t *testing.T) {
	leader := history.Event{Read: &history.Read{Topic: topic, Committed: true, End: 3, Runs: []history.Run{run(0, 0, 2)}}}
	rack := func(broker int32, end int64, runs ...history.Run) history.Event {
		return history.Event{Read: &history.Read{Topic: topic, Committed: true, End: end, Runs: runs, Rack: "z", Broker: broker}}
	}
	ok := func(h ...history.Event) bool { return ThroughRack(h, "z", 4).OK }
	require.True(t, ok(leader, rack(4, 3, run(0, 0, 2))))
	require.False(t, ok(leader, rack(1, 3, run(0, 0, 2))), "the leader served it")
	require.False(t, ok(leader, rack(0, 3, run(0, 0, 2))), "several served it")
	require.False(t, ok(leader, rack(4, 3, run(0, 0, 1))), "a record is missing")
	require.False(t, ok(leader, rack(4, 2, run(0, 0, 2))), "it stopped earlier")
	require.False(t, ok(leader), "nobody read in the rack")
	require.False(t, ok(rack(4, 3, run(0, 0, 2))), "nobody read from the leader")
}

func TestEligible(t *testing.T) {
	sample := func(isr, elr []int32) history.Event {
		e := view(20, history.Partition{ISR: isr, ELR: elr})
		e.View.Eligible = true
		return e
	}
	ok := func(h ...history.Event) bool { return Eligible(h, topic, 2).OK }
	require.True(t, ok(sample([]int32{1, 2}, nil), sample([]int32{2}, []int32{4})))
	require.False(t, ok(sample([]int32{2}, []int32{2})), "in both")
	require.False(t, ok(sample([]int32{2}, []int32{7})), "not a replica")
	require.False(t, ok(sample([]int32{1, 2}, []int32{4})), "although the ISR is large enough")
	require.False(t, ok(view(20, history.Partition{ISR: []int32{1}})), "never asked for")
}
