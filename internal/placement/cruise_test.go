package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// model is what Cruise Control's cluster model has of a topic: who holds which partition in which
// order, and the brokers' racks. It knows no observers. The goals below are as its documentation
// describes them; docs/promotion.md says what follows.
type model struct {
	assignments [][]int32
	racks       map[int32]string
}

// laidOut gives the model of 60 partitions in the placement.
func laidOut(t *testing.T, text string, brokers []Broker) model {
	t.Helper()
	p, m := parse(t, text), model{racks: map[int32]string{}}
	for _, b := range brokers {
		m.racks[b.ID] = b.Rack
	}
	for i := range 60 {
		c, err := Assign(p, Partition{Topic: "t", ID: int32(i)}, brokers)
		require.NoError(t, err)
		m.assignments = append(m.assignments, c.To)
	}
	return m
}

// perRack counts a partition's replicas in each rack.
func (m model) perRack(replicas []int32) map[string]int {
	n := map[string]int{}
	for _, r := range m.racks {
		n[r] = 0
	}
	for _, b := range replicas {
		n[m.racks[b]]++
	}
	return n
}

// rackAware is RackAwareGoal: no rack has two replicas of a partition. rackSpread is
// RackAwareDistributionGoal: the racks' numbers differ by one at most.
func (m model) rackAware(replicas []int32) bool {
	for _, n := range m.perRack(replicas) {
		if n > 1 {
			return false
		}
	}
	return true
}

func (m model) rackSpread(replicas []int32) bool {
	var all []int
	for _, n := range m.perRack(replicas) {
		all = append(all, n)
	}
	return slices.Max(all)-slices.Min(all) <= 1
}

// moves are the moves of one replica that the goal allows, by the broker that loses it and the one that
// gets it; barred brokers get none (Cruise Control's brokers excluded for replica move).
func (m model) moves(goal func([]int32) bool, barred ...int32) map[[2]int32]bool {
	out := map[[2]int32]bool{}
	for _, replicas := range m.assignments {
		for i, from := range replicas {
			for to := range m.racks {
				if slices.Contains(replicas, to) || slices.Contains(barred, to) {
					continue
				}
				moved := slices.Clone(replicas)
				moved[i] = to
				if goal(moved) {
					out[[2]int32{from, to}] = true
				}
			}
		}
	}
	return out
}

// touching gives those moves that take a copy off the broker, and those that bring one to it.
func touching(moves map[[2]int32]bool, broker int32) (off, onto int) {
	for m := range moves {
		if m[0] == broker {
			off++
		}
		if m[1] == broker {
			onto++
		}
	}
	return off, onto
}

const remote = int32(9)

func zones(names ...string) []Broker {
	var out []Broker
	for i, n := range names {
		out = append(out, Broker{ID: int32(2*i + 1), Rack: n}, Broker{ID: int32(2*i + 2), Rack: n})
	}
	return append(out, Broker{ID: remote, Rack: "r", Observer: true})
}

func TestRackGoalsKeepALayoutThatHasOneReplicaInEveryRack(t *testing.T) {
	m := laidOut(t, usual, zones("a", "b", "c"))
	for _, replicas := range m.assignments {
		require.True(t, m.rackAware(replicas) && m.rackSpread(replicas), replicas)
	}
	for name, goal := range map[string]func([]int32) bool{"RackAwareGoal": m.rackAware, "RackAwareDistributionGoal": m.rackSpread} {
		moves := m.moves(goal)
		off, onto := touching(moves, remote)
		assert.Zero(t, off, name)
		assert.Zero(t, onto, name)
		assert.NotEmpty(t, moves, "%s: within a rack replicas move as they like", name)
	}
}

func TestWithMoreRacksThanReplicasOnlyAnExcludedTopicKeepsTheObserversCopies(t *testing.T) {
	brokers := zones("a", "b", "c", "d")
	m := laidOut(t, usual, brokers)
	for name, goal := range map[string]func([]int32) bool{"RackAwareGoal": m.rackAware, "RackAwareDistributionGoal": m.rackSpread} {
		off, _ := touching(m.moves(goal), remote)
		assert.NotZero(t, off, "%s: copies may leave the observer", name)
		off, onto := touching(m.moves(goal, remote), remote)
		assert.NotZero(t, off, "%s: a broker that is excluded as a destination still loses copies", name)
		assert.Zero(t, onto, "%s: and gets none", name)
	}
}

func TestAnObserversBrokerLooksIdleToLeaderGoalsAndFullToReplicaGoals(t *testing.T) {
	m := laidOut(t, usual, zones("a", "b", "c"))
	held, led := map[int32]int{}, map[int32]int{}
	for _, replicas := range m.assignments {
		led[replicas[0]]++ // PreferredLeaderElectionGoal: the first one
		for _, b := range replicas {
			held[b]++
		}
	}
	replicas, leaders := 240.0/7, 60.0/7
	assert.Zero(t, led[remote], "the preferred leader is never the observer")
	assert.Less(t, float64(led[remote]), 0.9*leaders, "LeaderReplicaDistributionGoal wants to give it leaderships")
	assert.Greater(t, float64(held[remote]), 1.1*replicas, "ReplicaDistributionGoal wants to take copies off it")
}
