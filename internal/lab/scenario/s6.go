package scenario

import (
	"context"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

const rejection = "Rejecting AlterPartition"

// s6 takes the id out on the brokers only.
func s6() Scenario {
	return Scenario{
		ID: "S6", Title: "clear the identity file on brokers only",
		Expect: "the controller rejects, the committed ISR stays; it heals within 6 s after the controllers' files are aligned (ZooKeeper: only set full has that check, R14)",
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			controllers, err := l.deciders(ctx)
			if err != nil {
				return err
			}
			brokers := slices.DeleteFunc(l.Cluster.BrokerIDs(), func(id int32) bool { return slices.Contains(controllers, id) })
			active, err := l.Cluster.ActiveController(ctx)
			if err != nil {
				return err
			}
			marks, err := l.LogMark(active)
			if err != nil {
				return err
			}
			if err := l.Edit(nil, brokers...); err != nil {
				return err
			}
			if l.Plan.Mode == release.KRaft {
				if err := l.UntilLine(ctx, 20*time.Second, marks, rejection); err != nil {
					return err
				}
			}
			if err := l.Stays(ctx, 6*time.Second); err != nil {
				return err
			}
			if err := l.Edit(nil, controllers...); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
				return err
			}
			if err := l.Demote(Observer); err != nil {
				return err
			}
			return l.UntilWhole(ctx, 30*time.Second, Observer)
		},
		Judge: judgeS6,
	}
}

// deciders gives the nodes whose lists decide about a proposed ISR: the quorum, or in ZooKeeper
// mode the broker that is the controller.
func (l *Lab) deciders(ctx context.Context) ([]int32, error) {
	if ids := l.Cluster.ControllerIDs(); len(ids) > 0 {
		return ids, nil
	}
	c, err := l.Cluster.ActiveController(ctx)
	return []int32{c}, err
}

func judgeS6(h history.History, p Plan, o *Outcome) {
	var edits []history.Event
	for _, e := range h {
		if e.Edit != nil && !e.Edit.Initial {
			edits = append(edits, e)
		}
	}
	if len(edits) < 2 {
		o.require(check.That("both edits took place", false, "%d edits", len(edits)))
		return
	}
	if p.Mode == release.KRaft {
		n := 0
		for _, e := range h {
			if e.Line != nil {
				n++
			}
		}
		o.require(check.That("a leader did propose the observer", n > 0, "%d lines '%s' in the active controller's log", n, rejection))
	}
	in, n := 0, 0
	for _, s := range h.Samples(p.Topic) {
		if s.From >= edits[0].At && s.At < edits[1].Edit.Began {
			n++
			if s.InISR(Observer) {
				in++
			}
		}
	}
	o.find(check.That("the committed ISR stays as it was while the controllers still know the observer", in == 0 && n > 0, "%d of %d samples have it", in, n))
	at, ok := h.AllParts(p.Topic, edits[1].At, func(s history.Sample) bool { return s.InISR(Observer) })
	o.measure(Measure{Name: "healing", MS: at - edits[1].At, Max: 6000, From: "edit of the controllers' files", To: "in the ISR of all partitions"}, ok)
}
