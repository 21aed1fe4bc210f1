package scenario

import (
	"context"
	"fmt"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
)

const (
	// choice is the mark of a comparison: partition for partition, how far a broker is behind what was
	// committed. Its text names the broker.
	choice = "lag-of"
	// chosen is the mark with the broker that was promoted.
	chosen = "chosen"
)

// s12 has two observers, one of which lags, and loses all sync replicas.
func s12() Scenario {
	return Scenario{
		ID: "S12", Title: "two observers with different lag; kill -9 all sync replicas",
		Expect: "each stays out of the ISR; the one with less lag is promoted, nothing is lost, the other one stays an observer",
		Layout: five, Observers: []int32{Observer, Spare}, Assignment: [][]int32{{1, 2, 3, 4, 5}, {2, 3, 1, 5, 4}},
		Run:   runS12,
		Judge: judgeS12,
	}
}

func runS12(ctx context.Context, l *Lab) error {
	load, err := l.Load(ctx)
	if err != nil {
		return err
	}
	// Frozen, and thawed when there is nobody left to catch up from: a throttle would slow both.
	freeze := fault.Pause{Node: Spare}
	if err := l.Inject(ctx, freeze); err != nil {
		return err
	}
	if err := l.untilWritten(ctx, 400); err != nil {
		return err
	}
	load.Stop()
	if err := l.UntilEach(ctx, 30*time.Second, "the other observer has everything", func(p history.Partition) bool {
		return p.HW >= 0 && p.HW == p.LEO[p.Leader] && p.LEO[Observer] == p.HW
	}); err != nil {
		return err
	}
	kill := fault.Kill{Nodes: []int32{1, 2, 3}}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 60*time.Second, "no partition has a leader", func(p history.Partition) bool { return p.Leader < 0 }); err != nil {
		return err
	}
	if err := l.Heal(ctx, freeze); err != nil {
		return err
	}
	l.Rec.Mark(leaderless, 0, "")
	best, rest, err := l.choose(ctx)
	if err != nil {
		return err
	}
	if err := l.compare(ctx, best); err != nil {
		return err
	}
	if err := l.promoteAlone(ctx, best, rest); err != nil {
		return err
	}
	if err := l.Heal(ctx, kill); err != nil {
		return err
	}
	if err := l.UntilWhole(ctx, 60*time.Second, rest); err != nil {
		return err
	}
	after, err := l.Produce(ctx, "after", Rate, 200)
	if err != nil {
		return err
	}
	after.Wait()
	return l.stepDown(ctx, Observer, Spare)
}

// choose records the log ends of both observers and gives the one that has more, and the other.
func (l *Lab) choose(ctx context.Context) (best, rest int32, err error) {
	var v history.View
	if err := l.Until(ctx, 20*time.Second, "both observers tell their log ends", func(now history.View) error {
		for _, p := range now.Partitions {
			for _, id := range l.Plan.Observers {
				if _, ok := p.LEO[id]; !ok {
					return fmt.Errorf("%s-%d: nothing from %d", p.Topic, p.ID, id)
				}
			}
		}
		v = now
		return nil
	}); err != nil {
		return 0, 0, err
	}
	sum := map[int32]int64{}
	for _, id := range l.Plan.Observers {
		for _, p := range v.Partitions {
			sum[id] += p.LEO[id]
			l.Rec.Record(history.Event{Mark: &history.Mark{Name: choice, Partition: p.ID, Value: p.LEO[id], Text: fmt.Sprint(id)}})
		}
	}
	best, rest = Observer, Spare
	if sum[rest] > sum[best] {
		best, rest = rest, best
	}
	l.Rec.Mark(chosen, int64(best), "")
	return best, rest, nil
}

func judgeS12(h history.History, p Plan, o *Outcome) {
	picked, ok := h.Mark(chosen)
	kills, none, edits := h.Faults("kill -9", history.Inject), h.Marks(leaderless), changes(h)
	if !ok || len(kills) == 0 || len(none) == 0 || len(edits) == 0 {
		o.require(check.That("the fault and the promotion took place", false, "%d kills, %d edits", len(kills), len(edits)))
		return
	}
	ends := map[string]int64{}
	for _, e := range h.Marks(choice) {
		ends[e.Mark.Text] += e.Mark.Value
	}
	best := int32(picked.Mark.Value)
	rest := Observer + Spare - best
	ahead := ends[fmt.Sprint(best)] - ends[fmt.Sprint(rest)]
	o.require(check.That("one observer was behind the other", ahead >= 300, "%d records over all partitions: %v", ahead, ends))
	lag := int64(0)
	for _, e := range h.Marks(check.LossBound) {
		lag += e.Mark.Value
	}
	o.find(check.That("the one with less lag had everything", lag == 0, "%d is %d records behind what was committed", best, lag))
	led := 0
	for _, s := range h.Samples(p.Topic) {
		if s.From >= none[0].At && s.At < edits[0].began && s.Leader >= 0 {
			led++
		}
	}
	o.find(check.That("neither leads while it is marked", led == 0, "%d samples with a leader", led))
	at, ok := h.AllParts(p.Topic, edits[0].at, func(s history.Sample) bool { return s.Leader == best })
	o.measure(Measure{Name: "leaderless to led", MS: at - edits[0].began, Max: 10000, From: "first file of the promotion edit", To: "the chosen observer leads all partitions"}, ok)
	in, n, from := 0, 0, inForce(h)
	for _, s := range h.Samples(p.Topic) {
		if s.From < from {
			continue
		}
		n++
		if s.InISR(rest) {
			in++
		}
	}
	o.find(check.That("the other one is in no ISR at any time", in == 0 && n > 0, "%d of %d samples have %d", in, n, rest))
}
