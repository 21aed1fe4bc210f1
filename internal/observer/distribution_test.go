package observer_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"observer-patch/internal/observer"
)

func inventory() []observer.Node {
	return []observer.Node{{ID: 2, Broker: true}, {ID: 102, Controller: true}, {ID: 1, Broker: true}, {ID: 101, Controller: true}, {ID: 103, Controller: true}, {ID: 3, Broker: true}}
}

func TestOrderOfNodes(t *testing.T) {
	assert.Equal(t, [][]int32{{101, 102, 103}, {1, 2, 3}}, observer.Promote.Order(inventory()), "controllers first")
	assert.Equal(t, [][]int32{{1, 2, 3}, {101, 102, 103}}, observer.Demote.Order(inventory()), "controllers last")
	combined := []observer.Node{{ID: 3, Broker: true}, {ID: 2, Broker: true, Controller: true}, {ID: 1, Broker: true, Controller: true}}
	assert.Equal(t, [][]int32{{1, 2}, {3}}, observer.Promote.Order(combined), "a combined node is a controller")
	assert.Equal(t, [][]int32{{3}, {1, 2}}, observer.Demote.Order(combined))
}

func TestAListIsInForceOnTheControllerMajorityAndAllLiveBrokers(t *testing.T) {
	down := errors.New("connection refused")
	for name, c := range map[string]struct {
		live    []int32
		failed  []int32
		pending []int32
		rules   []string
	}{
		"everywhere":                        {ids(1, 2, 3), nil, nil, nil},
		"a dead broker is unreachable":      {ids(1, 2), ids(3), ids(3), nil},
		"one controller is unreachable":     {ids(1, 2, 3), ids(103), ids(103), nil},
		"a zone with broker and controller": {ids(1, 2), ids(3, 103), ids(3, 103), nil},
		"a live broker is unreachable":      {ids(1, 2, 3), ids(3), nil, []string{observer.RuleUnknown}},
		"two of three controllers are gone": {ids(1, 2, 3), ids(102, 103), ids(102, 103), []string{observer.RuleNoMajority}},
	} {
		failed := map[int32]error{}
		for _, id := range c.failed {
			failed[id] = down
		}
		s := cluster(c.live)
		s.Nodes = inventory()
		got := s.JudgeDistribution(failed)
		assert.Equal(t, c.pending, got.Pending, name)
		assert.ElementsMatch(t, c.rules, rules(got.Refusals), name)
		assert.Equal(t, len(c.rules) == 0, got.Done(), name)
	}
	zk := cluster(ids(1))
	zk.Nodes = []observer.Node{{ID: 1, Broker: true}, {ID: 2, Broker: true}}
	assert.Equal(t, ids(2), zk.JudgeDistribution(map[int32]error{2: down}).Pending)
	assert.True(t, zk.JudgeDistribution(nil).Done(), "ZooKeeper mode has no controllers to count")
}
