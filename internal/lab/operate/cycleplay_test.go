//go:build cluster

package operate

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/witness"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// play does what the course says and brings every node back.
func (s *stage) play(c course) {
	s.t.Helper()
	sync, watching := 1+int32(c.Pick%2), 3+int32(c.Pick%2)
	began := time.Now()
	switch c.Kind {
	case syncLost:
		heal := s.lose(sync, c.How)
		s.patient(c, began)
		s.heal(heal)
	case observerLost:
		s.alsoLosing(c, sync, began, s.lose(watching, c.How))
	case controllers:
		s.alsoLosing(c, sync, began, s.lose(s.active(), c.How))
	case inTheMiddle:
		s.inTheMiddle(c, sync)
	case autoKilled:
		s.autoDies(c, sync)
	case blink:
		heal := s.lose(sync, byFreeze)
		s.waits(c.Lasts/5, never)
		s.heal(heal)
	case flapBack:
		heal := s.lose(sync, c.How)
		c.Patient = true
		s.patient(c, began)
		s.heal(heal)
		s.waits(time.Minute, s.whole)
		heal = s.lose(1+int32(c.Other%2), []string{byKill, byFreeze}[c.Other%2])
		s.waits(c.Lasts, never)
		s.heal(heal)
	case personCalm:
		if s.person(observer.Promote, watching, c.Also) {
			s.waits(c.Lasts, never)
			s.undone(watching, c.Also)
		}
	case personFirst:
		heal := s.lose(sync, byKill)
		s.waits(c.Lasts, never)
		did := s.person(observer.Promote, watching, c.Also)
		s.heal(heal)
		if did {
			s.undone(watching, c.Also)
		}
	case personAfter:
		heal := s.lose(sync, byKill)
		c.Patient = true
		s.patient(c, began)
		s.heal(heal)
		s.waits(time.Minute, s.whole)
		for _, l := range s.logged(began, promoter.AuditPromote) {
			s.person(observer.Demote, l.Broker, c.Also)
		}
	case fileDiffers:
		s.differs(c, sync)
	default:
		require.Fail(s.t, "no such kind", c.Kind)
	}
}

// alsoLosing goes on after a loss that alone asks for nothing: with a sync broker lost too an observer
// has to help out.
func (s *stage) alsoLosing(c course, sync int32, began time.Time, heals ...func() error) {
	s.t.Helper()
	if c.Also {
		heals = append(heals, s.lose(sync, byKill))
		s.patient(c, began)
	} else {
		s.waits(c.Lasts, never)
	}
	s.heal(heals...)
}

func never() bool { return false }

// heal brings nodes back side by side.
func (s *stage) heal(heals ...func() error) {
	s.t.Helper()
	var g errgroup.Group
	for _, heal := range heals {
		g.Go(heal)
	}
	require.NoError(s.t, g.Wait())
}

// active gives the active controller.
func (s *stage) active() int32 {
	s.t.Helper()
	id := int32(-1)
	require.True(s.t, s.waits(time.Minute, func() bool {
		now, err := s.cluster.ActiveController(s.ctx)
		id = now
		return err == nil && now > 0
	}))
	return id
}

// begins waits for the beginning of a promotion and gives its broker, 0 when there is none.
func (s *stage) begins(since time.Time) (broker int32) {
	s.waits(25*time.Second, func() bool {
		for _, l := range s.logged(since, promoter.AuditBegin) {
			if l.Rule == string(observer.Promote) {
				broker = l.Broker
			}
		}
		return broker != 0
	})
	return broker
}

// inTheMiddle loses another node while a promotion is under way.
func (s *stage) inTheMiddle(c course, sync int32) {
	began := time.Now()
	heals := []func() error{s.lose(sync, byKill)}
	if b := s.begins(began); b != 0 {
		nodes := []int32{b, b, 7 - b, s.active(), 3 - sync}
		heals = append(heals, s.lose(nodes[c.Other%len(nodes)], c.How))
		s.waits(c.Lasts, never)
		s.waits(cycleTimeout+5*time.Second, func() bool { return len(s.logged(began, promoter.AuditPromote, promoter.AuditFailed)) > 0 })
	}
	s.heal(heals...)
}

// autoDies kills auto during a promotion, or at any other moment, and starts it again.
func (s *stage) autoDies(c course, sync int32) {
	began := time.Now()
	heal := s.lose(sync, c.How)
	switch c.Other % 3 {
	case 0:
		s.begins(began)
	case 1: // after it, and before the demotion
		c.Patient = true
		s.patient(c, began)
	default:
		s.waits(c.Lasts, never)
	}
	s.watch.follow(nil)
	s.auto.kill(s.t)
	if c.Also {
		s.heal(heal)
	}
	s.auto = s.instance()
	s.watch.follow(s.auto)
	s.locked(s.auto)
	if !c.Also {
		s.waits(c.Lasts, never)
		s.heal(heal)
	}
}

// differs makes one node's file differ and loses a sync broker; the file is put right before the
// broker comes back.
func (s *stage) differs(c course, sync int32) {
	// The file of a broker that is not alive is not asked for.
	nodes := slices.DeleteFunc(slices.Clone(s.cluster.Nodes), func(n *cluster.Node) bool { return n.ID == sync })
	node, other := nodes[c.Other%len(nodes)], nodes[(c.Other+1)%len(nodes)]
	list := [][]int32{nil, {3}, {4}}[c.Pick%3]
	over := s.watch.begins(witness.Hand{Node: node.ID})
	require.NoError(s.t, node.WriteIDs(list))
	began := time.Now()
	heal := s.lose(sync, c.How)
	s.waits(3*time.Second+c.Lasts, never)
	lists, err := s.lists()
	require.NoError(s.t, err)
	require.NoError(s.t, node.WriteIDs(lists[other.ID]))
	over(false)
	c.Patient = true
	s.patient(c, began)
	s.heal(heal)
}

// kinds counts courses, those that lose a drawn node in a drawn way by that too.
func kinds(played []course) map[string]int {
	out := map[string]int{}
	for _, c := range played {
		kind := c.Kind
		if slices.Contains([]string{syncLost, observerLost, controllers, inTheMiddle}, kind) {
			kind += " by " + c.How
		}
		out[kind]++
	}
	return out
}

// middle gives the median and the largest of some times, in seconds.
func middle(took []witness.Took) (p50, most float64) {
	var ms []float64
	for _, x := range took {
		ms = append(ms, x.MS)
	}
	if len(ms) == 0 {
		return 0, 0
	}
	slices.Sort(ms)
	return ms[len(ms)/2] / 1000, ms[len(ms)-1] / 1000
}
