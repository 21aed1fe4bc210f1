package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/release"
)

const (
	// allMarked has only marked replicas, orphan has one sync replica, which is down when it is made.
	allMarked = "s18-marked"
	orphan    = "s18-orphan"
	// answer is the mark with what the creation of orphan was answered.
	answer = "creation"
)

// s18 is about partitions in which there is nobody but observers.
func s18() Scenario {
	return Scenario{
		ID: "S18", Title: "topics whose replicas are all marked; creation while all sync replicas are down; reassignment to marked targets only",
		Expect: "a partition with marked replicas only behaves as upstream; creation is refused (ZooKeeper: the partition waits without leader for its sync replica); the reassignment completes with every copy in sync",
		Base:   "KRaft: a topic that is made while its sync replica is down is led by the observer; a partition with marked replicas only does not take back into the ISR a replica that was away",
		// There the marked replicas of such partitions are observers all the same.
		BaseBreaks: []string{check.NoneLeads, check.OutOfISR},
		Layout:     five, Observers: []int32{Observer, Spare}, Assignment: [][]int32{{1, 2, 3, 4}, {2, 1, 3, 5}},
		Run:   runS18,
		Judge: judgeS18,
	}
}

func runS18(ctx context.Context, l *Lab) error {
	if _, err := l.LoadAt(ctx, Rate/2); err != nil {
		return err
	}
	if err := l.CreateTopic(ctx, allMarked, [][]int32{{4, 5}}); err != nil {
		return err
	}
	if err := l.watch(ctx, allMarked); err != nil {
		return err
	}
	if l.Plan.Set == release.Base {
		if err := l.spareIsAway(ctx); err != nil {
			return err
		}
	} else {
		only, err := l.ProduceTo(ctx, allMarked, 1, "marked-only", Rate, 300)
		if err != nil {
			return err
		}
		only.Wait()
		if err := l.Reassign(ctx, map[int32][]int32{0: {4, 5}}); err != nil {
			return err
		}
		if err := l.UntilMoved(ctx, 30*time.Second, 0); err != nil {
			return err
		}
		if err := l.untilWritten(ctx, 20); err != nil {
			return err
		}
		if err := l.Reassign(ctx, map[int32][]int32{0: {1, 2, 3, 4}}); err != nil {
			return err
		}
		if err := l.UntilMoved(ctx, 30*time.Second, 0); err != nil {
			return err
		}
		// 4 is an observer of it again from now on; a leader that dies meanwhile evicts nobody.
		if err := l.UntilWhole(ctx, 30*time.Second, l.Plan.Observers...); err != nil {
			return err
		}
	}
	kill := fault.Kill{Nodes: []int32{3}}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	if err := l.Until(ctx, 60*time.Second, "3 is known to be dead", func(v history.View) error {
		if slices.Contains(v.Brokers, 3) {
			return fmt.Errorf("broker %d lists %v", v.Via, v.Brokers)
		}
		return nil
	}); err != nil {
		return err
	}
	err := l.createTopic(ctx, 5*time.Second, orphan, [][]int32{{3, 4}})
	text := "created"
	if err != nil {
		text = err.Error()
	}
	l.Rec.Mark(answer, 0, text)
	if err := l.Stays(ctx, 2*time.Second); err != nil {
		return err
	}
	// A ZooKeeper cluster's brokers are told of a partition when it has a leader; until then they do
	// not know the topic.
	if v, err := probe.Look(ctx, l.Cluster, l.Rec.Now, history.View{}, orphan); err == nil {
		l.Rec.Record(history.Event{View: &v})
	}
	if err := l.Heal(ctx, kill); err != nil {
		return err
	}
	if err := l.UntilWhole(ctx, 60*time.Second, l.Plan.Observers...); err != nil {
		return err
	}
	if l.Plan.Mode == release.ZK && l.Plan.Set == release.Full {
		if err := l.watch(ctx, orphan); err != nil {
			return err
		}
		return l.Until(ctx, 30*time.Second, "3 leads the topic that waited for it", func(v history.View) error {
			for _, p := range v.Partitions {
				if p.Topic == orphan && p.Leader != 3 {
					return fmt.Errorf("%s: leader %d, ISR %v", p.Topic, p.Leader, p.ISR)
				}
			}
			return nil
		})
	}
	return nil
}

// spareIsAway kills the other replica of allMarked and starts it again, and then looks on for as long as a demotion may take.
func (l *Lab) spareIsAway(ctx context.Context) error {
	away := fault.Kill{Nodes: []int32{Spare}}
	if err := l.Inject(ctx, away); err != nil {
		return err
	}
	if err := l.Until(ctx, 60*time.Second, "the spare has left the ISR", func(v history.View) error {
		for _, p := range v.Partitions {
			if p.Topic == allMarked && len(p.ISR) > 1 {
				return fmt.Errorf("%s: leader %d, ISR %v", p.Topic, p.Leader, p.ISR)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := l.Heal(ctx, away); err != nil {
		return err
	}
	if err := l.Until(ctx, 60*time.Second, "the spare is back", func(v history.View) error {
		if !slices.Contains(v.Brokers, Spare) {
			return fmt.Errorf("broker %d lists %v", v.Via, v.Brokers)
		}
		return nil
	}); err != nil {
		return err
	}
	return l.Stays(ctx, DemotionWindow*time.Millisecond)
}

// said is a mark's text, empty when there is none.
func said(e history.Event) string {
	if e.Mark == nil {
		return ""
	}
	return e.Mark.Text
}

// kills gives the kills of one node, or (phase heal) its starts afterwards.
func kills(h history.History, phase string, node int32) []history.Event {
	return slices.DeleteFunc(h.Faults("kill -9", phase), func(e history.Event) bool { return !slices.Equal(e.Fault.Targets, []int32{node}) })
}

// judgeAway judges what becomes of the other replica of allMarked under set base.
func judgeAway(h history.History, o *Outcome) {
	left, later, taken := false, 0, 0
	if healed := kills(h, history.Heal, Spare); len(healed) > 0 {
		_, left = h.First(allMarked, 0, func(s history.Sample) bool { return len(s.ISR) == 1 && s.At < healed[0].Fault.Began })
		back, ok := h.First(allMarked, healed[0].At, func(s history.Sample) bool { return slices.Contains(s.Brokers, Spare) })
		for _, s := range h.Samples(allMarked) {
			if !ok || s.From < back.At {
				continue
			}
			later++
			if len(s.ISR) > 1 {
				taken++
			}
		}
	}
	o.require(check.That("a marked replica left the ISR and was back", left && later > 0, "%d samples after its return", later))
	o.find(check.That("the trap: a partition with marked replicas only does not take back a replica that was away", taken == 0, "in the ISR in %d of %d samples", taken, later))
}

func judgeS18(h history.History, p Plan, o *Outcome) {
	made, ok := h.Mark(answer)
	kills, healed := kills(h, history.Inject, 3), kills(h, history.Heal, 3)
	o.require(check.That("a topic was asked for while its sync replica was down", ok && len(kills) > 0 && len(healed) > 0 && made.At < healed[0].Fault.Began, "answer: %.120s", said(made)))
	if !ok || len(healed) == 0 {
		return
	}
	byObserver, early, orphans := 0, 0, 0
	for _, s := range h.Samples(orphan) {
		orphans++
		if s.At < healed[0].Fault.Began && s.Leader >= 0 {
			early++
		}
		if s.Leader == Observer || s.InISR(Observer) {
			byObserver++
		}
	}
	_, later := h.First(orphan, healed[0].At, func(s history.Sample) bool { return s.Leader == 3 })
	both, n := 0, 0
	for _, s := range h.Samples(allMarked) {
		n++
		if len(s.ISR) == 2 && s.Leader >= 0 {
			both++
		}
	}
	if p.Set == release.Base {
		judgeAway(h, o)
		if p.Mode == release.KRaft {
			o.find(check.That("the trap: the observer leads a topic made while its sync replica is down", byObserver > 0, "%d of %d samples", byObserver, orphans))
		}
		return
	}
	if p.Mode == release.KRaft {
		o.find(check.That("creation is refused while all sync replicas are down", made.Mark.Text != "created" && orphans == 0, "%.120s", made.Mark.Text))
	} else {
		o.find(check.That("a topic made while its sync replica is down waits for it", byObserver == 0 && early == 0 && later,
			"%d of %d samples have the observer as leader or in the ISR, %d have a leader before 3 is back, 3 leads afterwards: %v", byObserver, orphans, early, later))
	}
	o.find(check.That("a partition with marked replicas only keeps them in the ISR", both == n && n > 0, "%d of %d samples have both", both, n))
	written := 0
	for _, op := range h.Ops() {
		if op.Topic == allMarked && op.Outcome == history.Acked {
			written++
		}
	}
	o.find(check.That("it takes writes", written == 300, "%d of 300 records acknowledged", written))
	at, done := complete(h, 0)
	full, ok := h.First(p.Topic, 0, func(s history.Sample) bool {
		return s.ID == 0 && slices.Equal(sorted(s.Replicas), []int32{4, 5}) && slices.Equal(sorted(s.ISR), []int32{4, 5}) && s.Leader >= 0
	})
	o.find(check.That("the reassignment to marked targets completes with both in the ISR", ok && done, "seen at %.0f ms, back at %.0f ms", full.At, at))
}
