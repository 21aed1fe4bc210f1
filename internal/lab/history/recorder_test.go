package history

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsRecordedIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl.gz")
	r, err := NewRecorder(path)
	require.NoError(t, err)
	r.Mark("began", 7, "text")
	r.Record(Event{Op: &Op{Producer: "p", Topic: "t", Partition: 2, Seq: 3, Start: 1.5, End: 2.5, Offset: -1, Outcome: Unknown, Err: "gone"}})
	r.Record(Event{View: &View{Via: 1, Partitions: []Partition{{Topic: "t", ID: 2, Leader: 1, ISR: []int32{1}, HW: 9, LEO: map[int32]int64{4: 8}}}}})
	require.NoError(t, r.Close())
	h, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, r.History(), h)
	require.IsNonDecreasing(t, []float64{h[0].At, h[1].At, h[2].At})
}

func TestACutHistoryIsAnError(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "missing"))
	require.Error(t, err)
}

func TestAllPartsWaitsForTheLastPartition(t *testing.T) {
	at := func(t float64, id, leader int32) Event {
		return Event{At: t, View: &View{From: t - 1, Partitions: []Partition{{Topic: "t", ID: id, Leader: leader}}}}
	}
	led := func(s Sample) bool { return s.Leader == 2 }
	h := History{at(10, 0, 1), at(10, 1, 1), at(20, 0, 2), at(30, 1, 1), at(40, 1, 2)}
	got, ok := h.AllParts("t", 0, led)
	require.True(t, ok)
	require.InDelta(t, 40, got, 0)
	_, ok = h[:4].AllParts("t", 0, led)
	require.False(t, ok, "one partition never did")
	_, ok = h.AllParts("t", 25, led)
	require.False(t, ok, "one did so only before the time asked from")
	_, ok = History{}.AllParts("t", 0, led)
	require.False(t, ok, "nothing was sampled")
}
