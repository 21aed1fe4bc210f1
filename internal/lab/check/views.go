package check

import (
	"cmp"
	"maps"
	"slices"

	"observer-patch/internal/lab/history"
)

// Watermarks asks that a partition's high watermark never goes back, but for one step per
// partition, no larger than the recorded loss bound and not before it was recorded.
func Watermarks(h history.History, topic string) Finding {
	t := tally{rule: "the high watermark never goes back"}
	allowed, since := bounds(h), map[int32]float64{}
	for _, e := range h.Marks(LossBound) {
		since[e.Mark.Partition] = e.At
	}
	high := map[partition]int64{}
	n := 0
	for _, s := range h.Samples(topic) {
		if s.HW < 0 {
			continue
		}
		n++
		p := partition{s.Topic, s.ID}
		if drop := high[p] - s.HW; drop > 0 {
			at, marked := since[s.ID]
			if !marked || s.At < at || drop > allowed[s.ID] {
				t.add("%v: %d after %d, at %.0f ms", p, s.HW, high[p], s.At)
			}
			allowed[s.ID] = 0
		}
		high[p] = s.HW
	}
	if n == 0 {
		t.add("no watermark was sampled")
	}
	return t.finding("%d samples", n)
}

// Epochs asks that leader epochs never go back in the eyes of one broker, and that an epoch has one
// leader whoever is asked. Two brokers may know different epochs at one time.
func Epochs(h history.History, topic string) Finding {
	t := tally{rule: "leader epochs only grow and have one leader each"}
	type eye struct {
		partition
		via int32
	}
	type term struct {
		partition
		epoch int32
	}
	newest, leaders := map[eye]int32{}, map[term]int32{}
	n := 0
	for _, s := range h.Samples(topic) {
		n++
		e := eye{partition{s.Topic, s.ID}, s.Via}
		if old, ok := newest[e]; ok && s.Epoch < old {
			t.add("%v: epoch %d after %d, as broker %d knows it, at %.0f ms", e.partition, s.Epoch, old, s.Via, s.At)
		}
		newest[e] = s.Epoch
		// A broker that is not alive is shown as leader -1 with the old epoch in ZooKeeper mode,
		// so only two different living leaders contradict each other.
		if s.Leader < 0 {
			continue
		}
		k := term{e.partition, s.Epoch}
		if old, ok := leaders[k]; ok && old != s.Leader {
			t.add("%v: epoch %d has leaders %d and %d", e.partition, s.Epoch, old, s.Leader)
		}
		leaders[k] = s.Leader
	}
	if n == 0 {
		t.add("nothing was sampled")
	}
	return t.finding("%d samples", n)
}

// Replicas asks that all replicas of a partition are byte-identical and sound at the end, and that
// every replica was read: a missing one fails.
func Replicas(h history.History, topic string) Finding {
	t := tally{rule: "all replicas are byte-identical, every batch's checksum right"}
	want := map[partition]int{}
	for _, s := range h.Samples(topic) {
		want[partition{s.Topic, s.ID}] = len(s.Replicas)
	}
	first, got := map[partition]history.ReplicaLog{}, map[partition]int{}
	var bytes, batches int64
	for _, l := range h.Logs() {
		if topic != "" && l.Topic != topic {
			continue
		}
		p := partition{l.Topic, l.Partition}
		got[p]++
		bytes, batches = bytes+l.Bytes, batches+l.Batches
		if l.Err != "" {
			t.add("%v on %d: %s", p, l.Broker, l.Err)
			continue
		}
		f, ok := first[p]
		if !ok {
			first[p] = l
			continue
		}
		if f.SHA256 != l.SHA256 || f.End != l.End || f.Batches != l.Batches {
			t.add("%v: broker %d has %d batches up to %d, broker %d has %d up to %d, digests %.12s and %.12s",
				p, f.Broker, f.Batches, f.End, l.Broker, l.Batches, l.End, f.SHA256, l.SHA256)
		}
	}
	parts := slices.SortedFunc(maps.Keys(want), func(x, y partition) int {
		return cmp.Or(cmp.Compare(x.topic, y.topic), cmp.Compare(x.id, y.id))
	})
	for _, p := range parts {
		if n := want[p]; got[p] != n {
			t.add("%v: %d of %d replicas were read", p, got[p], n)
		}
	}
	if len(want) == 0 {
		t.add("no partition was sampled")
	}
	return t.finding("%d partitions, %d batches, %d bytes over all replicas", len(want), batches, bytes)
}
