package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// at makes known positions from (broker, epoch, end) triples.
func at(triples ...[3]int64) map[int32]observer.Position {
	out := map[int32]observer.Position{}
	for _, p := range triples {
		out[int32(p[0])] = observer.Position{Broker: int32(p[0]), Epoch: int32(p[1]), End: p[2]}
	}
	return out
}

func silent(positions map[int32]observer.Position, broker int32) map[int32]observer.Position {
	positions[broker] = observer.Position{Broker: broker, Cause: "timed out"}
	return positions
}

func TestElectionOfALeaderlessPartition(t *testing.T) {
	none := func(isr ...int32) observer.Partition { return part(observer.NoLeader, ids(1, 2, 3, 4), isr) }
	elr := none()
	elr.ELR = ids(4, 2)
	moving := none(1)
	moving.Adding = ids(4)
	for name, c := range map[string]struct {
		p      observer.Partition
		live   []int32
		marked []int32
		pos    map[int32]observer.Position
		accept bool
		kind   observer.ElectionKind
		leader int32
		order  []int32
		rules  []string
	}{
		"there is a leader": {p: part(1, ids(1, 2), ids(1)), live: ids(1, 2), kind: observer.NotNeeded, leader: 1},
		"an ISR member is alive: preferred, no positions needed":       {p: none(2), live: ids(2, 4), kind: observer.Preferred, leader: 2},
		"preferred before unclean, whatever positions say":             {p: none(2), live: ids(2, 4), pos: at([3]int64{2, 1, 5}, [3]int64{4, 9, 9}), accept: true, kind: observer.Preferred, leader: 2},
		"an ELR member is alive":                                       {p: elr, live: ids(2, 3), kind: observer.Preferred, leader: 2},
		"a promoted observer in the ELR (R10)":                         {p: elr, live: ids(4), kind: observer.Preferred, leader: 4},
		"a marked ELR member is not electable":                         {p: elr, live: ids(4), marked: ids(4), kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleNobody}},
		"a marked ISR member is not electable":                         {p: none(4), live: ids(4), marked: ids(4), kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleNobody}},
		"only the promoted observer lives: the operator has to say so": {p: none(1), live: ids(4), pos: at([3]int64{4, 3, 100}), kind: observer.Impossible, leader: 4, rules: []string{observer.RuleDataLoss}},
		"only the promoted observer lives, and loss is accepted":       {p: none(1), live: ids(4), pos: at([3]int64{4, 3, 100}), accept: true, kind: observer.Unclean, leader: 4},
		"a stale broker heads the assignment: reorder":                 {p: none(1), live: ids(2, 4), pos: at([3]int64{2, 3, 50}, [3]int64{4, 3, 100}), accept: true, kind: observer.Unclean, leader: 4, order: ids(4, 1, 2, 3)},
		"the longer log of an older epoch is worse":                    {p: none(1), live: ids(2, 4), pos: at([3]int64{2, 2, 900}, [3]int64{4, 3, 100}), accept: true, kind: observer.Unclean, leader: 4, order: ids(4, 1, 2, 3)},
		"the first live one is as good: no reordering":                 {p: none(1), live: ids(3, 4), pos: at([3]int64{3, 3, 100}, [3]int64{4, 3, 100}), accept: true, kind: observer.Unclean, leader: 3},
		"a marked replica has more: it has to be promoted":             {p: none(1), live: ids(2, 4), marked: ids(4), pos: at([3]int64{2, 3, 50}, [3]int64{4, 3, 100}), accept: true, kind: observer.Impossible, leader: 2, rules: []string{observer.RuleBehind}},
		"a marked replica has less: it is passed over":                 {p: none(1), live: ids(2, 4), marked: ids(4), pos: at([3]int64{2, 3, 50}, [3]int64{4, 3, 10}), accept: true, kind: observer.Unclean, leader: 2},
		"a live replica is silent":                                     {p: none(1), live: ids(2, 4), pos: silent(at([3]int64{4, 3, 100}), 2), kind: observer.Impossible, leader: 4, order: ids(4, 1, 2, 3), rules: []string{observer.RuleUnknown}},
		"a live replica was not asked":                                 {p: none(1), live: ids(2, 4), pos: at([3]int64{4, 3, 100}), kind: observer.Impossible, leader: 4, order: ids(4, 1, 2, 3), rules: []string{observer.RuleUnknown}},
		"a silent one may be passed over when loss is accepted":        {p: none(1), live: ids(2, 4), pos: silent(at([3]int64{4, 3, 100}), 2), accept: true, kind: observer.Unclean, leader: 4, order: ids(4, 1, 2, 3)},
		"nobody knows anything":                                        {p: none(1), live: ids(4), pos: silent(at(), 4), accept: true, kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleUnknown}},
		"all replicas are alive and known: nothing can be lost":        {p: none(), live: ids(1, 2, 3, 4), pos: at([3]int64{1, 3, 90}, [3]int64{2, 3, 100}, [3]int64{3, 3, 80}, [3]int64{4, 3, 100}), kind: observer.Unclean, leader: 2, order: ids(2, 1, 3, 4)},
		"nobody is alive":                                              {p: none(1), live: ids(9), accept: true, kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleNobody}},
		"a reassignment is running":                                    {p: moving, live: ids(4), accept: true, kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleReassigning}},
		"the partition is not known":                                   {p: observer.Partition{Leader: observer.NoLeader, Error: "x"}, kind: observer.Impossible, leader: observer.NoLeader, rules: []string{observer.RuleUnknown}},
	} {
		got := cluster(c.live).ChooseElection(c.p, c.marked, c.pos, c.accept)
		assert.Equal(t, c.kind, got.Kind, name)
		assert.Equal(t, c.leader, got.Leader, name)
		assert.Equal(t, c.order, got.Assignment, name)
		assert.ElementsMatch(t, c.rules, rules(got.Refusals), name)
	}
}

func TestWithoutAQuorumNothingIsElected(t *testing.T) {
	s := cluster(ids(4))
	s.Majority = false
	got := s.ChooseElection(part(observer.NoLeader, ids(1, 4), ids(4)), nil, nil, true)
	assert.Equal(t, []string{observer.RuleNoMajority}, rules(got.Refusals))
}

// The same, for an observer that is promoted in the assignment [1,2,3,4] with other observers at
// the end: they stay there.
func TestReorderingKeepsObserversLast(t *testing.T) {
	p := part(observer.NoLeader, ids(1, 5, 2, 4), ids(1))
	got := cluster(ids(2, 4, 5)).ChooseElection(p, ids(5), at([3]int64{2, 1, 1}, [3]int64{4, 1, 9}, [3]int64{5, 1, 2}), true)
	assert.Equal(t, ids(4, 1, 2, 5), got.Assignment)
}

func TestAStaleBrokerThatReturnsBetweenCheckAndElectionStopsIt(t *testing.T) {
	p := part(observer.NoLeader, ids(1, 2, 3, 4), ids(1))
	decided := cluster(ids(4)).ChooseElection(p, nil, at([3]int64{4, 3, 100}), true)
	require.Equal(t, observer.Unclean, decided.Kind)
	require.Empty(t, decided.StillHolds(p, decided))

	stale := cluster(ids(2, 4)).ChooseElection(p, nil, at([3]int64{2, 2, 50}, [3]int64{4, 3, 100}), true)
	require.Equal(t, []string{observer.RuleChanged}, rules(decided.StillHolds(p, stale)), "2 would win: it comes first")

	equal := cluster(ids(2, 4)).ChooseElection(p, nil, at([3]int64{2, 3, 100}, [3]int64{4, 3, 100}), true)
	require.Equal(t, []string{observer.RuleChanged}, rules(decided.StillHolds(p, equal)), "another one would lead")

	behind := part(observer.NoLeader, ids(4, 1, 2, 3), ids(1))
	later := cluster(ids(2, 4)).ChooseElection(behind, nil, at([3]int64{2, 2, 50}, [3]int64{4, 3, 100}), true)
	require.Equal(t, []string{observer.RuleChanged}, rules(decided.StillHolds(behind, later)), "also where it would not win: it was not compared before")

	back := cluster(ids(1, 4)).ChooseElection(p, nil, nil, true)
	require.Equal(t, observer.Preferred, back.Kind)
	require.Empty(t, decided.StillHolds(p, back), "an ISR member is back: the better election takes its place")

	gone := cluster(nil).ChooseElection(p, nil, nil, true)
	require.Equal(t, []string{observer.RuleChanged, observer.RuleNobody}, rules(decided.StillHolds(p, gone)))

	led := part(2, ids(1, 2, 3, 4), ids(2))
	require.Empty(t, decided.StillHolds(led, cluster(ids(2)).ChooseElection(led, nil, nil, true)), "somebody leads already")
}

func TestReorderedInBetweenIsNoChange(t *testing.T) {
	before := part(observer.NoLeader, ids(1, 2, 3, 4), ids(1))
	pos := at([3]int64{2, 3, 50}, [3]int64{4, 3, 100})
	s := cluster(ids(2, 4))
	decided := s.ChooseElection(before, nil, pos, true)
	require.Equal(t, ids(4, 1, 2, 3), decided.Assignment)
	require.Equal(t, []string{observer.RuleChanged}, rules(decided.StillHolds(before, decided)), "not reordered yet")
	after := before
	after.Replicas = decided.Assignment
	require.Empty(t, decided.StillHolds(after, s.ChooseElection(after, nil, pos, true)))
}
