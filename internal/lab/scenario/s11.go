package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// s11 demotes an observer while the ISR is below minISR, which puts it into the ELR.
func s11() Scenario {
	return Scenario{
		ID: "S11", Title: "demote below minISR with ELR on, then kill -9 and restart the last sync replica",
		Expect:     "the observer may be in the ELR and is never elected; taking its id out and a preferred election bring the partition back without loss",
		Assignment: [][]int32{{1, 2, 4}, {1, 2, 4}},
		Applies: func(p Plan) string {
			if p.Mode == release.KRaft && hasELR(p.Release) {
				return ""
			}
			return "this release has no eligible leader replicas by default"
		},
		Run:   runS11,
		Judge: judgeS11,
	}
}

func runS11(ctx context.Context, l *Lab) error {
	load, err := l.Load(ctx)
	if err != nil {
		return err
	}
	first, last := fault.Kill{Nodes: []int32{1}}, fault.Kill{Nodes: []int32{2}}
	if err := l.leaveTwo(ctx, first, 2); err != nil {
		return err
	}
	if err := l.Demote(Observer); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 20*time.Second, "the observer is in the ELR", func(p history.Partition) bool {
		return slices.Equal(p.ISR, []int32{2}) && slices.Contains(p.ELR, Observer)
	}); err != nil {
		return err
	}
	if err := l.Inject(ctx, last); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 60*time.Second, "no partition has a leader", func(p history.Partition) bool { return p.Leader < 0 }); err != nil {
		return err
	}
	load.Abandon()
	l.Rec.Mark(leaderless, 0, "")
	if err := l.Heal(ctx, last); err != nil {
		return err
	}
	if err := l.Stays(ctx, 6*time.Second); err != nil {
		return err
	}
	marks, err := l.readers(ctx)
	if err != nil {
		return err
	}
	if err := l.Promote(); err != nil {
		return err
	}
	if err := l.UntilLine(ctx, 10*time.Second, marks, "Observer id set changed"); err != nil {
		return err
	}
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, l.partitions()...); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 30*time.Second, "every partition has a leader", func(p history.Partition) bool { return p.Leader >= 0 }); err != nil {
		return err
	}
	if err := l.Heal(ctx, first); err != nil {
		return err
	}
	if err := l.UntilWhole(ctx, 60*time.Second); err != nil {
		return err
	}
	after, err := l.Produce(ctx, "after", Rate, 200)
	if err != nil {
		return err
	}
	after.Wait()
	return l.stepDown(ctx, Observer)
}

func judgeS11(h history.History, p Plan, o *Outcome) {
	edits, kills, none := changes(h), h.Faults("kill -9", history.Inject), h.Marks(leaderless)
	if len(edits) < 3 || len(kills) < 2 || len(none) == 0 {
		o.require(check.That("the demotion below minISR took place", false, "%d edits, %d kills, leaderless %v", len(edits), len(kills), len(none) > 0))
		return
	}
	_, in := h.AllParts(p.Topic, edits[1].at, func(s history.Sample) bool { return s.Eligible && slices.Contains(s.ELR, Observer) })
	o.require(check.That("the observer was in the ELR", in, "in that of all partitions"))
	led, n := 0, 0
	for _, s := range h.Samples(p.Topic) {
		if s.From >= edits[1].at && s.At < edits[2].began {
			n++
			if s.Leader == Observer {
				led++
			}
		}
	}
	o.find(check.That("the observer in the ELR is not elected", led == 0 && n > 0, "it leads in %d of %d samples", led, n))
	at, ok := h.AllParts(p.Topic, edits[2].at, func(s history.Sample) bool { return s.Leader >= 0 })
	o.measure(Measure{Name: "recovery", MS: at - edits[2].began, Max: 10000, From: "first file of the promotion edit", To: "every partition has a leader"}, ok)
	by := map[int32]bool{}
	for _, s := range h.Samples(p.Topic) {
		if s.From >= none[0].At && s.At < edits[2].began && s.Leader >= 0 {
			by[s.Leader] = true
		}
	}
	if len(by) == 0 {
		o.Notes = append(o.Notes, "the last sync replica, back after kill -9, was not elected: its unclean shutdown took it out of the ELR")
	} else {
		o.Notes = append(o.Notes, "the last sync replica led again after its restart, before the promotion")
	}
}
