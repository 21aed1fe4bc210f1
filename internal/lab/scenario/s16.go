package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// stepMark is the mark of every random step, with its kind.
const stepMark = "step"

// Kinds of random steps.
const (
	killSync     = "kill a sync broker"
	killObserver = "kill the observer"
	pauseBroker  = "pause a broker"
	killQuorum   = "kill a controller"
	damageFile   = "damage the files"
	promoteIt    = "promote or demote"
	electLeaders = "preferred election"
	reorder      = "reassign"
)

// step is one thing that S16 does. Only one thing is broken at a time, so that writes have to go on.
type step struct {
	kind string
	node int32
	// damage is a kind of damage to the identity files.
	damage string
	// lasts is how long it stays.
	lasts time.Duration
}

// dice draws steps; equal plans give equal sequences.
type dice struct {
	r     *rand.Rand
	kinds []string
}

func newDice(p Plan) dice {
	d := dice{rand.New(rand.NewPCG(p.Seed, 16)), []string{killSync, killObserver, pauseBroker, damageFile, promoteIt, promoteIt, electLeaders}}
	if p.Mode == release.KRaft {
		d.kinds = append(d.kinds, killQuorum)
	}
	if p.Set == release.Full { // with base it may never complete, see S9
		d.kinds = append(d.kinds, reorder, reorder)
	}
	return d
}

func (d dice) next() step {
	s := step{kind: d.kinds[d.r.IntN(len(d.kinds))], node: 1 + d.r.Int32N(3), lasts: time.Duration(500+d.r.IntN(3000)) * time.Millisecond}
	switch s.kind {
	case killObserver:
		s.node = Observer
	case killQuorum:
		s.node += 100
	case damageFile:
		s.damage = lasting()[d.r.IntN(len(lasting()))]
	}
	return s
}

// s16 does random things for the plan's seconds.
func s16() Scenario {
	return Scenario{
		ID: "S16", Title: "random faults, one after the other",
		Expect: "no acknowledged record is lost, watermarks only grow, no observer is in the committed ISR outside the transition window, none leads",
		Random: true,
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.LoadAt(ctx, Rate/2); err != nil {
				return err
			}
			d := newDice(l.Plan)
			ids := l.Plan.Observers
			for end := l.Rec.Now() + float64(l.Plan.Seconds)*1000; l.Rec.Now() < end; {
				s := d.next()
				l.Rec.Mark(stepMark, int64(s.node), s.kind)
				var err error
				if ids, err = l.step(ctx, s, ids); err != nil {
					return fmt.Errorf("%s (node %d): %w", s.kind, s.node, err)
				}
				if err := l.UntilWhole(ctx, 90*time.Second, ids...); err != nil {
					return fmt.Errorf("after: %s (node %d): %w", s.kind, s.node, err)
				}
			}
			return l.stepDown(ctx, Observer)
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			kinds := map[string]int{}
			for _, e := range h.Marks(stepMark) {
				kinds[e.Mark.Text]++
			}
			n := len(h.Marks(stepMark))
			o.require(check.That("several random things were done", n >= 3 && len(kinds) >= 2, "seed %d: %d steps of %d kinds: %v", p.Seed, n, len(kinds), kinds))
		},
	}
}

// step does one thing and undoes it; it gives the ids that are observers then.
func (l *Lab) step(ctx context.Context, s step, ids []int32) ([]int32, error) {
	var f fault.Fault
	switch s.kind {
	case killSync, killObserver, killQuorum:
		f = fault.Kill{Nodes: []int32{s.node}}
	case pauseBroker:
		f = fault.Pause{Node: s.node}
	case damageFile:
		f = &fault.File{Kind: s.damage, Nodes: append(l.Cluster.ControllerIDs(), l.brokers()...), IDs: ids}
	case promoteIt:
		if slices.Contains(ids, Observer) {
			return nil, l.Promote()
		}
		return []int32{Observer}, l.stepDown(ctx, Observer)
	case electLeaders:
		_, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, l.partitions()...)
		return ids, err
	case reorder:
		v, err := l.View(ctx)
		if err != nil {
			return ids, err
		}
		old := v.Partitions[0].Replicas
		if err := l.Reassign(ctx, map[int32][]int32{0: {old[1], old[2], old[0], old[3]}}); err != nil {
			return ids, err
		}
		return ids, l.UntilMoved(ctx, 30*time.Second, 0)
	default:
		return ids, fmt.Errorf("no such step: %q", s.kind)
	}
	if err := l.Inject(ctx, f); err != nil {
		return ids, err
	}
	if err := l.Stays(ctx, s.lasts); err != nil {
		return ids, err
	}
	return ids, l.Heal(ctx, f)
}
