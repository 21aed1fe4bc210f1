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

// headed is a topic whose assignments begin with the observer.
const headed = "s15-headed"

// s15Led has assignments that are led by brokers which are patched in every layout of S15.
var s15Led = [][]int32{{2, 3, 1, 4}, {3, 2, 1, 4}}

// s15Controllers has patched brokers and unpatched controllers.
func s15Controllers() Scenario {
	return half(Scenario{
		ID: "S15-controllers", Title: "patched brokers, unpatched controllers (ZooKeeper: the controller is an unpatched broker that leads nothing)",
		Layout: func(p Plan) Layout {
			if p.Mode == release.ZK {
				return Layout{NodeJars: map[int32]string{1: Upstream}, First: 1}
			}
			p.complete()
			jars := map[int32]string{}
			for i := range p.Controllers {
				jars[101+int32(i)] = Upstream
			}
			return Layout{NodeJars: jars}
		},
	})
}

// s15ZK has the jars of mode zk on a KRaft cluster.
func s15ZK() Scenario {
	return half(Scenario{
		ID: "S15-zk", Title: "the ZooKeeper-only patch on a KRaft cluster",
		Layout: func(p Plan) Layout {
			p.complete()
			jars := map[int32]string{}
			for _, id := range p.nodes() {
				jars[id] = ZKOnly
			}
			return Layout{NodeJars: jars}
		},
		Applies: func(p Plan) string {
			if p.Mode == release.KRaft && !atLeast(p.Release, 4, 0) {
				return ""
			}
			return "there is a ZooKeeper-only patch for 3.x only; here it is for KRaft clusters"
		},
	})
}

// headByObserver starts the load, notes the active controller, and creates a topic whose preferred leader is the observer.
func (l *Lab) headByObserver(ctx context.Context, others ...int32) error {
	if _, err := l.Load(ctx); err != nil {
		return err
	}
	c, err := l.Cluster.ActiveController(ctx)
	if err != nil {
		return err
	}
	l.Rec.Mark(activeMark, int64(c), "")
	if err := l.CreateTopic(ctx, headed, [][]int32{append([]int32{Observer}, others...)}); err != nil {
		return err
	}
	return l.watch(ctx, headed)
}

// half completes a scenario in which the broker's hooks are there and the controller's are not.
func half(s Scenario) Scenario {
	s.Expect = "holds: leaders evict the observer and keep it out, and nobody waits for it, and it is not elected while it is out. Does not hold: a new topic starts with the observer in its ISR, and a topic headed by the observer is led by it"
	s.Breaks = []string{check.OutOfISR}
	s.Assignment = s15Led
	s.Run = func(ctx context.Context, l *Lab) error {
		if err := l.headByObserver(ctx, 2, 3); err != nil {
			return err
		}
		if err := l.Stays(ctx, DemotionWindow*time.Millisecond); err != nil {
			return err
		}
		kill := fault.Kill{Nodes: []int32{2}}
		if err := l.Inject(ctx, kill); err != nil {
			return err
		}
		if err := l.UntilEach(ctx, 60*time.Second, "another broker leads", func(p history.Partition) bool { return p.Leader >= 0 && p.Leader != 2 }); err != nil {
			return err
		}
		if err := l.untilWritten(ctx, 20); err != nil {
			return err
		}
		if err := l.Heal(ctx, kill); err != nil {
			return err
		}
		return l.UntilEach(ctx, 60*time.Second, "2 is back", func(p history.Partition) bool { return slices.Contains(p.ISR, 2) })
	}
	s.Judge = judgeHalf
	return s
}

// activeMark says who was the active controller.
const activeMark = "active-controller"

// unpatchedController asks that the active controller was one without the patch, or with half of it.
func (o *Outcome) unpatchedController(h history.History, p Plan, want bool) {
	c, ok := h.Mark(activeMark)
	name := ""
	if ok {
		name = p.NodeJars[int32(c.Mark.Value)]
	}
	o.require(check.That("the active controller was of the kind that was planned", ok && (name != "") == want, "node %d, jars %q (empty: the leg's own)", value(c), name))
}

func value(e history.Event) int64 {
	if e.Mark == nil {
		return -1
	}
	return e.Mark.Value
}

func judgeHalf(h history.History, p Plan, o *Outcome) {
	o.unpatchedController(h, p, true)
	began, in, late, n, first := -1.0, 0, 0, 0, 0
	for _, s := range h.Samples(p.Topic) {
		if began < 0 {
			began = s.From
		}
		n++
		if s.InISR(Observer) {
			in++
			if s.From < began+DemotionWindow {
				first++
			} else {
				late++
			}
		}
	}
	o.find(check.That("holds: the observer leaves the ISR within the time of a demotion and stays out", late == 0 && n > 0, "in the ISR of %d of %d samples, %d of them later", in, n, late))
	o.find(check.That("does not hold: a new topic starts without the observer in its ISR", first > 0 || ledBy(h, headed, Observer) > 0, "in the ISR of %d early samples", first))
	o.find(check.That("does not hold: the observer never leads (a topic that it heads)", ledBy(h, headed, Observer) > 0, "%d samples of %s led by it", ledBy(h, headed, Observer), headed))
	o.find(check.That("holds: the observer is not elected after kill -9 of a leader", ledBy(h, p.Topic, Observer) == 0, "%d samples of %s led by it", ledBy(h, p.Topic, Observer), p.Topic))
	o.stall(h, "kill -9")
}

func ledBy(h history.History, topic string, broker int32) int {
	n := 0
	for _, s := range h.Samples(topic) {
		if s.Leader == broker {
			n++
		}
	}
	return n
}

// s15Brokers has unpatched brokers and patched controllers.
func s15Brokers() Scenario {
	return Scenario{
		ID: "S15-brokers", Title: "unpatched brokers, patched controllers (ZooKeeper: one unpatched broker leads, a patched one is the controller)",
		Expect:     "holds: new topics start without the observer, the committed ISR stays without it while it is marked from the start, no election takes it. Does not hold: once it is in the ISR nobody evicts it",
		Breaks:     []string{check.OutOfISR},
		Assignment: [][]int32{{1, 2, 3, 4}, {1, 3, 2, 4}},
		Layout: func(p Plan) Layout {
			if p.Mode == release.ZK {
				return Layout{NodeJars: map[int32]string{1: Upstream}, First: 2}
			}
			return Layout{NodeJars: map[int32]string{1: Upstream, 2: Upstream, 3: Upstream, 4: Upstream}}
		},
		Applies: func(p Plan) string {
			if p.Mode == release.ZK && p.Set == release.Base {
				return "set base has no check of a proposed ISR in the ZooKeeper controller (R14)"
			}
			return ""
		},
		Run: func(ctx context.Context, l *Lab) error {
			if err := l.headByObserver(ctx, 1, 2); err != nil {
				return err
			}
			if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, headed, 0); err != nil {
				return err
			}
			if err := l.Stays(ctx, DemotionWindow*time.Millisecond); err != nil {
				return err
			}
			freeze := fault.Pause{Node: Observer}
			if err := l.Inject(ctx, freeze); err != nil {
				return err
			}
			if err := l.Stays(ctx, frozen); err != nil {
				return err
			}
			if err := l.Heal(ctx, freeze); err != nil {
				return err
			}
			if err := l.untilWritten(ctx, 20); err != nil {
				return err
			}
			if err := l.Promote(); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
				return err
			}
			if err := l.Demote(Observer); err != nil {
				return err
			}
			return l.Stays(ctx, DemotionWindow*time.Millisecond)
		},
		Judge: judgeS15Brokers,
	}
}

func judgeS15Brokers(h history.History, p Plan, o *Outcome) {
	o.unpatchedController(h, p, false)
	edits := changes(h)
	if len(edits) < 2 {
		o.require(check.That("it was promoted and marked again", false, "%d edits", len(edits)))
		return
	}
	in, n, kept, after := 0, 0, 0, 0
	for _, s := range h.Samples(p.Topic) {
		switch {
		case s.At < edits[0].began:
			n++
			if s.InISR(Observer) {
				in++
			}
		case s.From > edits[1].at+DemotionWindow/2:
			after++
			if s.InISR(Observer) {
				kept++
			}
		}
	}
	o.find(check.That("holds: the committed ISR is without the observer while it is marked from the start", in == 0 && n > 0, "in %d of %d samples", in, n))
	o.find(check.That("holds: a topic headed by the observer is not led by it", ledBy(h, headed, Observer) == 0 && len(h.Samples(headed)) > 0, "%d of %d samples", ledBy(h, headed, Observer), len(h.Samples(headed))))
	o.find(check.That("does not hold: a demoted broker leaves the ISR", kept > 0, "still in the ISR in %d of %d samples, %d ms and more after the edit", kept, after, DemotionWindow/2))
	if f := h.Faults("pause", history.Inject); len(f) > 0 {
		w := latencies(acked(h, -1, f[0].At, f[0].At+float64(frozen.Milliseconds())))
		o.measure(Measure{Name: "longest write while the observer is frozen", MS: quantile(w, 1), From: "record handed to the client within the 4 s of the freeze", To: fmt.Sprintf("acknowledgement (%d records)", len(w))}, len(w) > 0)
	}
}
