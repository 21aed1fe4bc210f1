package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// The partitions of S9, named after what happens to them.
const (
	adding int32 = iota
	moving
	removing
	shrinking
	replacing
	cancelling
	marking
)

// resubmitted is the mark after which the move that was marked on its way has been submitted again.
const resubmitted = "resubmitted"

// s9Start and s9Moves are assignments before and after, by partition. Brokers 4 and 5 are marked.
var (
	s9Start = [][]int32{{1, 2, 3, 4}, {1, 2, 4, 5}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 4, 5}, {1, 2, 4, 5}}
	s9Moves = map[int32][]int32{adding: {1, 2, 3, 4, 5}, moving: {3, 2, 4, 5}, removing: {1, 2, 3}, shrinking: {1, 2, 4}, replacing: {1, 2, 3, 5}, marking: {1, 3, 4, 5}}
)

// s9 reassigns partitions that have an observer, in every way.
func s9() Scenario {
	return Scenario{
		ID: "S9", Title: "reassign partitions that have an observer",
		Expect: "adding and removing an observer, moving and removing a sync replica, replacing an observer in two steps, cancelling: all complete; marking a new replica in mid-move completes with the sync target that is left",
		Base:   "a move of a partition with an observer does not complete until the observers are promoted (3.6, 3.7 and 4.3 in KRaft mode: adding one does not)",
		Layout: five, Observers: []int32{Observer, Spare}, Assignment: s9Start,
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.LoadAt(ctx, Rate/4); err != nil {
				return err
			}
			if l.Plan.Set == release.Base {
				return l.stuck(ctx)
			}
			first := map[int32][]int32{replacing: {1, 2, 3, 4, 5}}
			for _, id := range []int32{adding, moving, removing, shrinking} {
				first[id] = s9Moves[id]
			}
			if err := l.Reassign(ctx, first); err != nil {
				return err
			}
			if err := l.UntilMoved(ctx, 40*time.Second, adding, moving, removing, shrinking, replacing); err != nil {
				return err
			}
			if err := l.UntilEach(ctx, 30*time.Second, "the new observer has caught up", func(p history.Partition) bool {
				return p.ID != replacing || p.HW >= 0 && p.LEO[Spare] >= p.HW
			}); err != nil {
				return err
			}
			if err := l.Reassign(ctx, map[int32][]int32{replacing: s9Moves[replacing]}); err != nil {
				return err
			}
			if err := l.UntilMoved(ctx, 30*time.Second, replacing); err != nil {
				return err
			}
			return l.interrupted(ctx)
		},
		Judge: judgeS9,
	}
}

// interrupted slows two moves down, cancels one, and marks the new replica of the other.
func (l *Lab) interrupted(ctx context.Context) error {
	if err := l.throttle(ctx, 5000); err != nil {
		return err
	}
	// The first fetch passes whatever its size; from then on the limit holds for everybody.
	if err := l.UntilEach(ctx, 30*time.Second, "the limit holds", func(p history.Partition) bool {
		return p.ID < cancelling || p.HW-p.LEO[Observer] >= 30
	}); err != nil {
		return err
	}
	if err := l.Reassign(ctx, map[int32][]int32{cancelling: {3, 2, 4, 5}, marking: s9Moves[marking]}); err != nil {
		return err
	}
	if err := l.Reassign(ctx, map[int32][]int32{cancelling: nil}); err != nil {
		return err
	}
	if err := l.UntilMoved(ctx, 20*time.Second, cancelling); err != nil {
		return err
	}
	nodes, err := l.loaded(append(l.Cluster.ControllerIDs(), l.brokers()...)...)
	if err != nil {
		return err
	}
	if err := l.Demote(3, Observer, Spare); err != nil {
		return err
	}
	if err := l.UntilLine(ctx, 10*time.Second, nodes, "Observer id set changed"); err != nil {
		return err
	}
	// Marking is no event for a controller: the same target again makes it look.
	if err := l.Reassign(ctx, map[int32][]int32{marking: s9Moves[marking]}); err != nil {
		return err
	}
	l.Rec.Mark(resubmitted, int64(marking), "")
	if err := l.UntilMoved(ctx, 30*time.Second, marking); err != nil {
		return err
	}
	if err := l.Promote(Observer, Spare); err != nil {
		return err
	}
	if err := l.throttle(ctx, 0); err != nil {
		return err
	}
	return l.UntilWhole(ctx, 60*time.Second, l.Plan.Observers...)
}

// stuck shows what set base does: nothing moves until the observer is promoted.
func (l *Lab) stuck(ctx context.Context) error {
	if err := l.Reassign(ctx, map[int32][]int32{adding: s9Moves[adding], moving: s9Moves[moving]}); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 40*time.Second, "the new replicas have caught up", func(p history.Partition) bool {
		fresh := map[int32]int32{adding: Spare, moving: 3}[p.ID]
		return fresh == 0 || p.HW >= 0 && p.LEO[fresh] >= p.HW && (p.ID != moving || slices.Contains(p.ISR, fresh))
	}); err != nil {
		return err
	}
	if err := l.Stays(ctx, 10*time.Second); err != nil {
		return err
	}
	if _, err := l.moving(ctx); err != nil {
		return err
	}
	if err := l.Promote(); err != nil {
		return err
	}
	if err := l.UntilMoved(ctx, 40*time.Second, adding, moving); err != nil {
		return err
	}
	if err := l.Demote(l.Plan.Observers...); err != nil {
		return err
	}
	return l.UntilWhole(ctx, 30*time.Second, l.Plan.Observers...)
}

func judgeS9(h history.History, p Plan, o *Outcome) {
	if p.Set == release.Base {
		judgeStuck(h, p, o)
		return
	}
	names := []string{"adding an observer", "moving a sync replica", "removing an observer", "removing a sync replica", "replacing an observer", "cancelling", "marking in mid-move"}
	for id := range int32(len(names)) {
		sent, ok := moveOf(h, id)
		if !ok {
			o.require(check.That(names[id]+" was asked for", false, "no reassignment of partition %d was accepted", id))
			continue
		}
		want := s9Moves[id]
		if id == cancelling {
			want = s9Start[id]
		}
		end, done := complete(h, id)
		last := lastSample(h, p.Topic, id)
		o.find(check.That(names[id]+" completes", done && slices.Equal(sorted(last.Replicas), sorted(want)), "partition %d: replicas %v, wanted %v", id, last.Replicas, want))
		if id != cancelling && id != marking {
			o.measure(Measure{Name: names[id], MS: end - sent, From: "reassignment sent (of a replacement: the first step)", To: "no longer listed as pending"}, done)
		}
	}
	o.find(check.That("the ISR always has a sync replica", syncInISR(h, p.Topic) == 0, "%d samples without", syncInISR(h, p.Topic)))
	again, ok := h.Mark(resubmitted)
	pending := 0
	for _, e := range h.Marks(movingMark) {
		if e.Mark.Value == 1 && (e.Mark.Partition == cancelling || e.Mark.Partition == marking) {
			pending++
		}
	}
	o.require(check.That("the cancelled move and the marked one were under way", ok && pending >= 2, "%d were listed as pending, submitted again at %.0f ms", pending, again.At))
}

func judgeStuck(h history.History, p Plan, o *Outcome) {
	edits := changes(h)
	if len(edits) == 0 {
		o.require(check.That("the promotion took place", false, "no edit"))
		return
	}
	late := p.Mode == release.ZK || atLeast(p.Release, 3, 8) && !atLeast(p.Release, 4, 3)
	for _, id := range []int32{adding, moving} {
		end, done := complete(h, id)
		if id == adding || late {
			o.find(check.That(fmt.Sprintf("the trap: partition %d moves only after the promotion", id), done && end > edits[0].began, "complete %v at %.0f ms, promotion began at %.0f ms", done, end, edits[0].began))
		} else {
			o.Notes = append(o.Notes, fmt.Sprintf("partition %d: complete %v at %.0f ms, promotion began at %.0f ms", id, done, end, edits[0].began))
		}
	}
}

// moveOf gives when the first reassignment of the partition was sent.
func moveOf(h history.History, partition int32) (float64, bool) {
	for _, e := range h {
		if e.Move != nil && e.Move.Partition == partition {
			return e.Move.Began, true
		}
	}
	return 0, false
}

// complete gives when the partition's last reassignment was seen to be no longer pending.
func complete(h history.History, partition int32) (float64, bool) {
	sent, at := -1.0, -1.0
	for _, e := range h {
		switch {
		case e.Move != nil && e.Move.Partition == partition:
			sent, at = e.At, -1
		case e.Mark != nil && e.Mark.Name == movingMark && e.Mark.Partition == partition && e.Mark.Value == 0 && sent >= 0:
			at = e.At
		}
	}
	return at, at >= 0
}

// lastSample gives the last sample of a partition.
func lastSample(h history.History, topic string, partition int32) history.Sample {
	var last history.Sample
	for _, s := range h.Samples(topic) {
		if s.ID == partition {
			last = s
		}
	}
	return last
}

// syncInISR counts the samples whose ISR has nobody of brokers 1 to 3.
func syncInISR(h history.History, topic string) int {
	n := 0
	for _, s := range h.Samples(topic) {
		if !slices.ContainsFunc(s.ISR, func(id int32) bool { return id <= 3 }) {
			n++
		}
	}
	return n
}
