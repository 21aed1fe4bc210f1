package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// The partitions of S10 by what becomes of their ISR; marked is the leader of all of them.
const (
	shrinks int32 = iota // from 1,2,3 to 1,3
	alone                // from 1,2 to 1, and back
	stable               // 1,3 all the time
)

const (
	marked = int32(1)
	// uncleanTopic allows unclean elections and has one partition like alone.
	uncleanTopic = "s10-unclean"
	// preferred is the mark of the preferred election of the stable partition.
	preferred = "preferred-election"
)

// s10 marks a leader.
func s10() Scenario {
	return Scenario{
		ID: "S10", Title: "mark the current leader",
		Expect: "no partition is without leader for a moment, with unclean elections allowed too; ISR changes commit; leadership moves to a sync member with the next change of the ISR, or by a preferred election where no change comes (ZooKeeper: that answers that none is needed)",
		Base:   "KRaft: a partition whose ISR shrinks to the marked leader goes offline, although that leader lives, and stays so until a preferred election after the id is taken out",
		// A marked leader is an observer by its bare id there, so it is neither to lead nor to be in the ISR.
		BaseBreaks: []string{check.NoneLeads, check.OutOfISR},
		Assignment: [][]int32{{1, 2, 3}, {1, 2, 4}, {1, 3, 4}},
		Run:        runS10,
		Judge:      judgeS10,
	}
}

func runS10(ctx context.Context, l *Lab) error {
	if err := l.CreateTopic(ctx, uncleanTopic, [][]int32{{1, 2, 4}}, "unclean.leader.election.enable=true"); err != nil {
		return err
	}
	if err := l.watch(ctx, uncleanTopic); err != nil {
		return err
	}
	if _, err := l.LoadAt(ctx, Rate/2); err != nil {
		return err
	}
	deciders, err := l.deciders(ctx)
	if err != nil {
		return err
	}
	nodes, err := l.loaded(append(deciders, marked)...)
	if err != nil {
		return err
	}
	if err := l.Demote(marked, Observer); err != nil {
		return err
	}
	if err := l.UntilLine(ctx, 10*time.Second, nodes, "Observer id set changed"); err != nil {
		return err
	}
	kill := fault.Kill{Nodes: []int32{2}}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	if err := l.Until(ctx, 60*time.Second, "the ISRs are without 2", func(v history.View) error {
		for _, p := range v.Partitions {
			if slices.Contains(p.ISR, 2) {
				return fmt.Errorf("%s-%d: ISR %v", p.Topic, p.ID, p.ISR)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := l.Stays(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := l.Heal(ctx, kill); err != nil {
		return err
	}
	if l.Plan.Set == release.Base {
		return l.unmark(ctx)
	}
	if err := l.Until(ctx, 60*time.Second, "2 is back and leads where it can", func(v history.View) error {
		for _, p := range v.Partitions {
			if slices.Contains(p.Replicas, 2) && (!slices.Contains(p.ISR, 2) || p.Leader == marked) {
				return fmt.Errorf("%s-%d: leader %d, ISR %v", p.Topic, p.ID, p.Leader, p.ISR)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	l.Rec.Mark(preferred, int64(stable), "")
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, stable); err != nil {
		return err
	}
	if err := l.Stays(ctx, 2*time.Second); err != nil {
		return err
	}
	return l.unmark(ctx)
}

// unmark takes the leader's id out and elects.
func (l *Lab) unmark(ctx context.Context) error {
	if err := l.Stays(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := l.Promote(Observer); err != nil {
		return err
	}
	return l.Until(ctx, 60*time.Second, "everything is whole again", func(v history.View) error {
		for _, p := range v.Partitions {
			if l.Whole(p, Observer) {
				continue
			}
			if p.Leader < 0 {
				if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, p.Topic, p.ID); err != nil {
					return err
				}
			}
			return fmt.Errorf("%s-%d: leader %d, ISR %v", p.Topic, p.ID, p.Leader, p.ISR)
		}
		return nil
	})
}

func judgeS10(h history.History, p Plan, o *Outcome) {
	edits, kills := changes(h), h.Faults("kill -9", history.Inject)
	if len(edits) < 2 || len(kills) == 0 {
		o.require(check.That("the leader was marked and 2 was killed", false, "%d edits, %d kills", len(edits), len(kills)))
		return
	}
	led := before(h, p.Topic, edits[0].began)
	o.require(check.That("the marked broker led everything", led[shrinks].Leader == marked && led[alone].Leader == marked && led[stable].Leader == marked,
		"leaders %d, %d, %d", led[shrinks].Leader, led[alone].Leader, led[stable].Leader))
	_, lone := h.First(p.Topic, kills[0].At, func(s history.Sample) bool { return s.ID == alone && slices.Equal(s.ISR, []int32{marked}) })
	o.require(check.That("an ISR shrank to the marked leader alone", lone, "partition %d, ISR [%d]", alone, marked))
	offline := map[string]int{}
	n := 0
	for _, s := range h.Samples("") {
		if s.From < edits[0].began || s.At > edits[1].began {
			continue
		}
		n++
		if s.Leader < 0 {
			offline[fmt.Sprintf("%s-%d", s.Topic, s.ID)]++
		}
	}
	if p.Set == release.Base {
		if p.Mode == release.KRaft {
			o.find(check.That("the trap: the partition with the marked leader alone goes offline", offline[fmt.Sprintf("%s-%d", p.Topic, alone)] > 0, "samples without leader: %v of %d", offline, n))
			return
		}
		o.Notes = append(o.Notes, fmt.Sprintf("samples without leader while the leader was marked: %v of %d", offline, n))
		return
	}
	o.find(check.That("no partition is without leader while its leader is marked", len(offline) == 0 && n > 0, "samples without leader: %v of %d", offline, n))
	_, shrunk := h.First(p.Topic, kills[0].At, func(s history.Sample) bool {
		return s.ID == shrinks && slices.Equal(sorted(s.ISR), []int32{1, 3}) || s.ID == shrinks && slices.Equal(s.ISR, []int32{3})
	})
	o.find(check.That("ISR changes commit", shrunk, "partition %d: 2 left the ISR", shrinks))
	for _, id := range []int32{shrinks, alone} {
		at, ok := h.First(p.Topic, edits[0].at, func(s history.Sample) bool { return s.ID == id && s.Leader >= 0 && s.Leader != marked })
		o.find(check.That("leadership moves to a sync member when the ISR changes", ok && at.At < edits[1].began && at.Leader != Observer, "partition %d: led by %d at %.0f ms", id, at.Leader, at.At))
	}
	asked, ok := h.Mark(preferred)
	next, moved := h.First(p.Topic, asked.At, func(s history.Sample) bool { return s.ID == stable && s.Leader == 3 })
	if p.Mode == release.KRaft {
		o.find(check.That("a preferred election moves the leadership where the ISR is stable", ok && moved && next.At < edits[1].began, "partition %d: led by %d at %.0f ms", stable, next.Leader, next.At))
	} else {
		o.Notes = append(o.Notes, fmt.Sprintf("the stable partition was moved by the preferred election: %v", moved && next.At < edits[1].began))
	}
}
