package scenario

import (
	"context"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// rolledOut and rolledBack are marks: every node runs the new jars, every node runs the old ones again.
const (
	rolledOut  = "rolled-out"
	rolledBack = "rolled-back"
)

// rollLimit bounds the scenarios that restart every node twice.
const rollLimit = 10 * time.Minute

// s13 rolls a loaded cluster from upstream's jars to the patched ones, uses them, and rolls back.
func s13() Scenario {
	return Scenario{
		ID: "S13", Title: "rolling upgrade of a loaded cluster from upstream's jars to the patched ones, and back",
		Expect: "without a file nothing changes; the file then makes 4 an observer, emptying it a full member; no record is lost, no observer leads",
		Layout: func(p Plan) Layout {
			p.complete()
			jars := map[int32]string{}
			for _, id := range p.nodes() {
				jars[id] = Upstream
			}
			return Layout{NodeJars: jars}
		},
		Observers: []int32{}, Limit: rollLimit,
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.LoadAt(ctx, Rate/2); err != nil {
				return err
			}
			nodes := append(l.Cluster.ControllerIDs(), l.brokers()...)
			if err := l.Inject(ctx, &fault.File{Kind: fault.Deleted, Nodes: nodes}); err != nil {
				return err
			}
			if err := l.Roll(ctx, "", nil, nodes...); err != nil {
				return err
			}
			l.Rec.Mark(rolledOut, int64(len(nodes)), "")
			if err := l.Demote(Observer); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 30*time.Second, Observer); err != nil {
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
			if err := l.Roll(ctx, Upstream, nil, append(l.brokers(), l.Cluster.ControllerIDs()...)...); err != nil {
				return err
			}
			l.Rec.Mark(rolledBack, int64(len(nodes)), "")
			return l.untilWritten(ctx, 20)
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			o.rolled(h, p, "", Upstream)
			out, ok := h.Mark(rolledOut)
			last := before(h, p.Topic, out.At)
			inert := ok && len(last) > 0
			for _, s := range last {
				inert = inert && len(s.ISR) == len(s.Replicas)
			}
			o.find(check.That("patched and without a file, every replica is in the ISR", inert, "%d partitions in the last sample before the file was written", len(last)))
			o.promotions(h, p, 0)
			o.demotions(h, p)
		},
	}
}

// s13Upgrade rolls a cluster to the next release with a populated file, one node without the patch by mistake.
func s13Upgrade() Scenario {
	return Scenario{
		ID: "S13-upgrade", Title: "rolling upgrade from 3.9.2 to " + NextRelease + ", both patched, with a populated file and one broker unpatched by mistake, and back before the new metadata version is finalised",
		Expect: "the observer stays out of the committed ISR and leads nothing, the controllers refusing what the unpatched broker proposes; no record is lost",
		Needs:  []string{Next, NextUpstream}, Limit: rollLimit,
		// A cluster of its own: nodes that have run the next release are not what others expect.
		Layout: func(p Plan) Layout {
			p.complete()
			return Layout{First: 1}
		},
		Applies: func(p Plan) string {
			if p.Release == "3.9.2" && p.Mode == release.KRaft {
				return ""
			}
			return "shown once, from 3.9.2 in KRaft mode"
		},
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.LoadAt(ctx, Rate/2); err != nil {
				return err
			}
			rest := l.Plan.Observers
			if err := l.Roll(ctx, Next, rest, append(l.Cluster.ControllerIDs(), 1)...); err != nil {
				return err
			}
			if err := l.Roll(ctx, NextUpstream, rest, 2); err != nil {
				return err
			}
			if err := l.Roll(ctx, Next, rest, 3, Observer); err != nil {
				return err
			}
			if err := l.Stays(ctx, 5*time.Second); err != nil {
				return err
			}
			if err := l.Roll(ctx, Next, rest, 2); err != nil {
				return err
			}
			l.Rec.Mark(rolledOut, int64(len(l.Plan.nodes())), "")
			if err := l.Roll(ctx, "", rest, append(l.brokers(), l.Cluster.ControllerIDs()...)...); err != nil {
				return err
			}
			l.Rec.Mark(rolledBack, int64(len(l.Plan.nodes())), "")
			return l.untilWritten(ctx, 20)
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			o.rolled(h, p, Next, "")
			mistake := slices.ContainsFunc(h, func(e history.Event) bool { return e.Jars != nil && e.Jars.Name == NextUpstream })
			o.require(check.That("one broker ran without the patch for a while", mistake, "on %s", NextUpstream))
		},
	}
}

// rolled asks that every node was restarted on the one jars and then on the other, and that records
// sent meanwhile were acknowledged.
func (o *Outcome) rolled(h history.History, p Plan, there, back string) {
	on := map[int32][]string{}
	first, last := -1.0, 0.0
	for _, e := range h {
		if e.Jars != nil {
			on[e.Jars.Node] = append(on[e.Jars.Node], e.Jars.Name)
			if first < 0 {
				first = e.At
			}
			last = e.At
		}
	}
	done := 0
	for _, id := range p.nodes() {
		i := slices.Index(on[id], there)
		if i >= 0 && on[id][len(on[id])-1] == back && len(on[id]) > i+1 {
			done++
		}
	}
	_, out := h.Mark(rolledOut)
	_, in := h.Mark(rolledBack)
	o.require(check.That("every node was restarted there and back", done == len(p.nodes()) && out && in, "%d of %d nodes", done, len(p.nodes())))
	n, longest := 0, 0.0
	for _, op := range acked(h, -1, first, last) {
		n++
		longest = max(longest, op.End-op.Start)
	}
	o.find(check.That("writes go on all the time", n > 0, "%d records acknowledged between the first restart and the last", n))
	o.measure(Measure{Name: "longest write", MS: longest, From: "record handed to the client, between the first restart and the last", To: "acknowledgement"}, n > 0)
}
