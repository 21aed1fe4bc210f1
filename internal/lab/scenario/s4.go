package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

const (
	leaderless    = "leaderless"
	uncleanNeeded = "unclean-election"
)

// s4 kills everything but a caught-up observer.
func s4() Scenario {
	return leftAlone("S4", "kill -9 all but the observer, which has caught up", nil, false, nil)
}

// s4Load does it under load, with an observer that lags.
func s4Load() Scenario {
	return leftAlone("S4-load", "kill -9 all but the observer under load, the observer behind", nil, true, nil)
}

// s4NoELR does it with eligible leader replicas switched off, where a release has them on.
func s4NoELR() Scenario {
	return leftAlone("S4-noelr", "kill -9 all but the observer, ELR off", withoutELR, false,
		func(p Plan) string {
			if p.Mode == release.KRaft && hasELR(p.Release) {
				return ""
			}
			return "this release has no eligible leader replicas by default: S4 itself runs without them"
		})
}

func leftAlone(id, title string, layout func(Plan) Layout, underLoad bool, applies func(Plan) string) Scenario {
	return Scenario{
		ID: id, Title: title, Layout: layout, Applies: applies,
		Expect: "leader none, for good; after comparison, removal of the id and an explicit election the observer leads within 10 s; no more is lost than was printed",
		Run:    func(ctx context.Context, l *Lab) error { return l.leftAlone(ctx, underLoad) },
		Judge:  func(h history.History, p Plan, o *Outcome) { judgeS4(h, p, o, underLoad) },
	}
}

func (l *Lab) leftAlone(ctx context.Context, underLoad bool) error {
	load, err := l.Load(ctx)
	if err != nil {
		return err
	}
	if underLoad {
		err = l.fallBehind(ctx, 400)
	} else {
		load.Stop()
		err = l.UntilEach(ctx, 30*time.Second, "the observer has everything", func(p history.Partition) bool {
			return p.HW >= 0 && p.HW == p.LEO[p.Leader] && p.LEO[Observer] == p.HW
		})
	}
	if err != nil {
		return err
	}
	var sync []int32
	for _, b := range l.Cluster.BrokerIDs() {
		if b != Observer {
			sync = append(sync, b)
		}
	}
	kill := fault.Kill{Nodes: sync}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	load.Abandon()
	if err := l.UntilEach(ctx, 60*time.Second, "no partition has a leader", func(p history.Partition) bool { return p.Leader < 0 }); err != nil {
		return err
	}
	l.Rec.Mark(leaderless, 0, "")
	if err := l.Stays(ctx, 10*time.Second); err != nil {
		return err
	}
	if err := l.compare(ctx, Observer); err != nil {
		return err
	}
	if err := l.promoteAlone(ctx, Observer); err != nil {
		return err
	}
	if err := l.Heal(ctx, kill); err != nil {
		return err
	}
	if underLoad {
		if err := l.throttle(ctx, 0); err != nil {
			return err
		}
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

// fallBehind throttles the observer until it is n records behind in every partition.
func (l *Lab) fallBehind(ctx context.Context, n int64) error {
	if err := l.throttle(ctx, 5000); err != nil {
		return err
	}
	return l.UntilEach(ctx, 60*time.Second, fmt.Sprintf("the observer is %d records behind", n), func(p history.Partition) bool {
		end, ok := p.LEO[Observer]
		return ok && p.HW-end >= n
	})
}

// compare records, per partition, how much an unclean promotion costs at most: what was seen
// committed before, less what the observer has. This is what an operator gets printed.
func (l *Lab) compare(ctx context.Context, id int32) error {
	committed := map[int32]int64{}
	for _, s := range l.Rec.History().Samples(l.Plan.Topic) {
		committed[s.ID] = max(committed[s.ID], s.HW)
	}
	for _, op := range l.Rec.History().Ops() {
		if op.Outcome == history.Acked {
			committed[op.Partition] = max(committed[op.Partition], op.Offset+1)
		}
	}
	v, err := l.View(ctx)
	if err != nil {
		return err
	}
	for _, p := range v.Partitions {
		end, ok := p.LEO[id]
		if !ok {
			return fmt.Errorf("%s-%d: the observer did not tell its log end", p.Topic, p.ID)
		}
		lag := max(0, committed[p.ID]-end)
		l.Log.Info("comparison before promotion", "partition", p.ID, "committed", committed[p.ID], "observer", end, "lag", lag)
		l.Rec.Record(history.Event{Mark: &history.Mark{Name: check.LossBound, Partition: p.ID, Value: lag,
			Text: fmt.Sprintf("committed up to %d, observer has %d", committed[p.ID], end)}})
	}
	return nil
}

// promoteAlone takes the id out, leaves rest marked, and elects: a preferred election first, which loses nothing, an
// unclean one only for what is leaderless then.
func (l *Lab) promoteAlone(ctx context.Context, id int32, rest ...int32) error {
	marks, err := l.readers(ctx)
	if err != nil {
		return err
	}
	if err := l.Promote(rest...); err != nil {
		return err
	}
	if err := l.UntilLine(ctx, 10*time.Second, marks, "Observer id set changed"); err != nil {
		return err
	}
	all := l.partitions()
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, all...); err != nil {
		return err
	}
	leads := func(p history.Partition) bool { return p.Leader == id }
	return l.Until(ctx, 30*time.Second, "the promoted observer leads", func(v history.View) error {
		var none []int32
		for _, p := range v.Partitions {
			if !leads(p) {
				none = append(none, p.ID)
			}
		}
		if len(none) == 0 {
			return nil
		}
		l.Rec.Mark(uncleanNeeded, int64(len(none)), fmt.Sprint(none))
		res, err := l.Elect(ctx, kadm.ElectLiveReplica, l.Plan.Topic, none...)
		if err != nil {
			return err
		}
		return fmt.Errorf("partitions %v have no leader yet; election said %v", none, res)
	})
}

// readers gives the log ends of those nodes that decide about elections and have read their file
// already: in set base a node reads it at its first use, so one that has not is not waited for.
func (l *Lab) readers(ctx context.Context) (map[int32]int64, error) {
	c, err := l.Cluster.ActiveController(ctx)
	if err != nil {
		return nil, err
	}
	if c < 0 {
		return map[int32]int64{}, nil
	}
	return l.loaded(c)
}

// loaded gives the log ends of those of the nodes whose running process reads its identity file.
func (l *Lab) loaded(nodes ...int32) (map[int32]int64, error) {
	marks, err := l.LogMark(nodes...)
	if err != nil {
		return nil, err
	}
	for id := range marks {
		n := l.Cluster.Node(id)
		_, err := n.FindLine(n.LogStart(), "observer-patch generation")
		if errors.Is(err, cluster.ErrNoLine) {
			delete(marks, id)
		} else if err != nil {
			return nil, err
		}
	}
	return marks, nil
}

func (l *Lab) partitions() []int32 {
	var out []int32
	for i := range l.Plan.Assignment {
		out = append(out, int32(i))
	}
	return out
}

// stepDown gives leadership back to the first replicas and makes the brokers observers again.
func (l *Lab) stepDown(ctx context.Context, observers ...int32) error {
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, l.partitions()...); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 30*time.Second, "the first replicas lead", func(p history.Partition) bool { return p.Leader == p.Replicas[0] }); err != nil {
		return err
	}
	if err := l.Demote(observers...); err != nil {
		return err
	}
	return l.UntilWhole(ctx, 30*time.Second, observers...)
}

func judgeS4(h history.History, p Plan, o *Outcome, underLoad bool) {
	kills := h.Faults("kill -9", history.Inject)
	none, ok := h.Mark(leaderless)
	edits := changes(h)
	if len(kills) == 0 || !ok || len(edits) == 0 {
		o.require(check.That("the fault and the promotion took place", false, "%d kills, leaderless %v, %d edits", len(kills), ok, len(edits)))
		return
	}
	lag := int64(0)
	for _, e := range h.Marks(check.LossBound) {
		lag += e.Mark.Value
	}
	if underLoad {
		o.require(check.That("the observer was behind when the others died", lag >= 300, "%d records behind what was committed", lag))
	} else {
		o.require(check.That("the observer had caught up when the others died", lag == 0, "%d records behind what was committed", lag))
	}
	led, n := 0, 0
	for _, s := range h.Samples(p.Topic) {
		if s.From >= none.At && s.At < edits[0].began {
			n++
			if s.Leader >= 0 {
				led++
			}
		}
	}
	o.find(check.That("leader none, for good, while the observer is marked", n > 0 && led == 0, "%d of %d samples over %.1f s have a leader", led, n, (edits[0].began-none.At)/1000))
	at, ok := h.AllParts(p.Topic, edits[0].at, func(s history.Sample) bool { return s.Leader == Observer })
	o.measure(Measure{Name: "leaderless to led", MS: at - edits[0].began, Max: 10000,
		From: "first file of the promotion edit", To: "the former observer leads all partitions, as its metadata says"}, ok)
	at, ok = h.AllParts(p.Topic, kills[0].At, func(s history.Sample) bool { return s.Leader < 0 })
	o.measure(Measure{Name: "detection", MS: at - kills[0].At, From: "kill -9 of the last sync replica", To: "leader none in the observer's metadata"}, ok)
	if len(h.Marks(uncleanNeeded)) > 0 {
		o.Notes = append(o.Notes, "the preferred election found nobody; the unclean one was needed")
	} else {
		o.Notes = append(o.Notes, "the preferred election was enough")
	}
}
