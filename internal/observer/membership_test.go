package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// part makes partition t-0 with the leader, replicas, ISR and a minimum of 2.
func part(leader int32, replicas, isr []int32) observer.Partition {
	return observer.Partition{Topic: "t", Leader: leader, Replicas: replicas, ISR: isr, MinISR: 2}
}

// cluster makes a view in which these brokers are alive and the quorum answers.
func cluster(live []int32, parts ...observer.Partition) observer.View {
	return observer.View{ClusterID: "c", Live: live, Majority: true, Partitions: parts}
}

func ids(list ...int32) []int32 { return list }

func rules(refusals []observer.Refusal) []string {
	out := []string{}
	for _, r := range refusals {
		out = append(out, r.Rule)
	}
	return out
}

func TestAPartitionWithOnlyMarkedReplicasHasNoObservers(t *testing.T) {
	for name, c := range map[string]struct {
		p    observer.Partition
		ids  []int32
		want []int32
	}{
		"one marked":                         {part(1, ids(1, 2, 4), nil), ids(4), ids(4)},
		"all marked":                         {part(1, ids(1, 4), nil), ids(1, 4), nil},
		"none marked":                        {part(1, ids(1, 2), nil), ids(4), ids()},
		"the only unmarked is being removed": {observer.Partition{Replicas: ids(4, 5, 1), Removing: ids(1)}, ids(4, 5), nil},
		"the only unmarked is being added":   {observer.Partition{Replicas: ids(4, 1), Adding: ids(1)}, ids(4), ids(4)},
	} {
		assert.ElementsMatch(t, c.want, c.p.Observers(c.ids), name)
	}
}

func TestMinISRCountsSyncMembersOnly(t *testing.T) {
	p := part(1, ids(1, 2, 3, 4), ids(1, 4))
	assert.True(t, p.UnderMinISR(ids(4)), "an observer that is still in the ISR does not count")
	assert.False(t, p.UnderMinISR(nil))
	capped := part(1, ids(1), ids(1))
	assert.False(t, capped.UnderMinISR(nil), "upstream caps the minimum by the replication factor")
	unknown := part(1, ids(1, 2), ids(1))
	unknown.MinISR = 0
	assert.False(t, unknown.UnderMinISR(nil), "what is not known is not claimed")
}

func TestAnObserverOutsideTheISRIsNotAMissingReplica(t *testing.T) {
	assert.False(t, part(1, ids(1, 2, 4), ids(1, 2)).UnderReplicated(ids(4)))
	assert.True(t, part(1, ids(1, 2, 4), ids(1, 2)).UnderReplicated(nil))
	assert.True(t, part(1, ids(1, 2, 4), ids(1)).UnderReplicated(ids(4)))
	adding := part(1, ids(1, 2, 4), ids(1, 2))
	adding.Adding = ids(4)
	assert.False(t, adding.UnderReplicated(nil))
}

func TestPromotionNeedsALiveBrokerAndAQuorum(t *testing.T) {
	s := cluster(ids(1, 2, 4), part(1, ids(1, 2, 4), ids(1, 2)))
	assert.Empty(t, s.CheckPromotion(4))
	assert.Equal(t, []string{observer.RuleDead}, rules(s.CheckPromotion(5)))
	s.Majority = false
	assert.Equal(t, []string{observer.RuleNoMajority}, rules(s.CheckPromotion(4)))
}

// Every hard check of demotion, one row each.
func TestDemotionIsRefused(t *testing.T) {
	adding := part(1, ids(1, 2, 3, 4), ids(1, 2, 3))
	adding.Adding = ids(4)
	own := part(1, ids(1, 2, 3, 4), ids(1, 2, 4))
	own.MinISR = 3
	silent := part(1, ids(1, 2, 3, 4), ids(1, 2, 3, 4))
	silent.MinISR = 0
	failed := part(1, ids(1, 2, 3), ids(1, 2, 3))
	failed.Error = "UNKNOWN_SERVER_ERROR"
	moving := part(4, ids(4, 1, 2, 3), ids(1, 2, 3, 4))
	moving.Removing = ids(3)
	for name, c := range map[string]struct {
		s    observer.View
		ids  []int32
		move bool
		want []string
	}{
		"all is well":                             {cluster(ids(1, 2, 3, 4), part(1, ids(1, 2, 3, 4), ids(1, 2, 3, 4))), nil, false, nil},
		"it has no replica":                       {cluster(ids(1, 2, 3, 4), part(1, ids(1, 2), ids(1))), nil, false, nil},
		"it leads":                                {cluster(ids(1, 2, 3, 4), part(4, ids(4, 1, 2, 3), ids(1, 2, 3, 4))), nil, false, []string{observer.RuleLeads}},
		"it leads, leaders are moved":             {cluster(ids(1, 2, 3, 4), part(4, ids(4, 1, 2, 3), ids(1, 2, 3, 4))), nil, true, nil},
		"it leads, the rest of the ISR is dead":   {cluster(ids(4), part(4, ids(4, 1, 2), ids(1, 2, 4))), nil, true, []string{observer.RuleNoTaker, observer.RuleMinISR}},
		"it leads, the rest of the ISR is marked": {cluster(ids(1, 2, 4, 5), part(4, ids(4, 1, 5), ids(4, 5))), ids(5), true, []string{observer.RuleNoTaker, observer.RuleMinISR}},
		"it leads in a reassignment":              {cluster(ids(1, 2, 3, 4), moving), nil, true, []string{observer.RuleReassigning}},
		"it is being added":                       {cluster(ids(1, 2, 3, 4), adding), nil, false, []string{observer.RuleAdding}},
		"the ISR would be too small":              {cluster(ids(1, 2, 3, 4), part(1, ids(1, 2, 3, 4), ids(1, 4))), nil, false, []string{observer.RuleMinISR}},
		"a marked member does not count":          {cluster(ids(1, 2, 4, 5), part(1, ids(1, 2, 4, 5), ids(1, 4, 5))), ids(5), false, []string{observer.RuleMinISR}},
		"the topic's own minimum counts":          {cluster(ids(1, 2, 3, 4), own), nil, false, []string{observer.RuleMinISR}},
		"the minimum is not known":                {cluster(ids(1, 2, 3, 4), silent), nil, false, []string{observer.RuleUnknown}},
		"another partition is not known":          {cluster(ids(1, 2, 3, 4), failed), nil, false, []string{observer.RuleUnknown}},
		"the last unmarked of a partition":        {cluster(ids(4, 5), part(4, ids(4, 5), ids(4))), ids(5), false, []string{observer.RuleLastUnmarked}},
		"the only replica":                        {cluster(ids(4), part(4, ids(4), ids(4))), nil, false, nil},
		"no quorum":                               {observer.View{Live: ids(1)}, nil, false, []string{observer.RuleNoMajority}},
	} {
		got := c.s.CheckDemotion(4, c.ids, c.move)
		assert.ElementsMatch(t, c.want, rules(got), name)
		for _, r := range got {
			assert.NotEmpty(t, r.Do, "%s: a refusal says what to do", name)
			if r.Rule != observer.RuleNoMajority {
				assert.Equal(t, "t-0", r.Partition, name)
			}
		}
	}
}

func TestADemotedLeaderIsPutLastBehindALiveMemberOfTheISR(t *testing.T) {
	s := cluster(ids(1, 2, 3, 4))
	got, ok := s.OrderWithLast(part(4, ids(4, 1, 2, 3), ids(4, 2, 3)), 4, ids(4))
	require.True(t, ok)
	assert.Equal(t, ids(2, 1, 3, 4), got, "1 is not in the ISR, so it cannot take over")
	got, ok = s.OrderWithLast(part(4, ids(4, 5, 1, 2), ids(4, 1, 5)), 4, ids(4, 5))
	require.True(t, ok)
	assert.Equal(t, ids(1, 2, 5, 4), got, "observers stay behind")
	_, ok = s.OrderWithLast(part(4, ids(4, 9), ids(4, 9)), 4, ids(4))
	assert.False(t, ok, "9 is dead")
}

func TestListsInForceAreCertainOnlyWhenTheNodesAgree(t *testing.T) {
	node := func(id int32, controller, known bool, list ...int32) observer.Node {
		return observer.Node{ID: id, Broker: !controller, Controller: controller, Known: known, IDs: list}
	}
	missing := func(n observer.Node) observer.Node { n.Absent = true; return n }
	for name, c := range map[string]struct {
		nodes []observer.Node
		ids   []int32
		want  []string
	}{
		"no node has a file: they may go on with a list that they had": {[]observer.Node{missing(node(101, true, true)), missing(node(1, false, true)), missing(node(2, false, true))}, nil, []string{observer.RuleUnknown}},
		"a live broker has no file, the others have empty ones":        {[]observer.Node{node(101, true, true), node(1, false, true), missing(node(2, false, true))}, nil, []string{observer.RuleUnknown}},
		"a live broker has no file, the others have a list":            {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), missing(node(2, false, true))}, ids(4), []string{observer.RuleDiffer, observer.RuleUnknown}},
		"a dead broker has no file":                                    {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), node(2, false, true, 4), missing(node(3, false, true))}, ids(4), nil},
		"all agree":                                                    {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), node(2, false, true, 4)}, ids(4), nil},
		"a live broker differs":                                        {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), node(2, false, true)}, ids(4), []string{observer.RuleDiffer}},
		"controllers differ":                                           {[]observer.Node{node(101, true, true, 4), node(102, true, true), node(1, false, true, 4), node(2, false, true, 4)}, ids(4), []string{observer.RuleDiffer}},
		"a dead broker differs":                                        {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), node(2, false, true, 4), node(3, false, true)}, ids(4), nil},
		"a dead broker is unknown":                                     {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4), node(2, false, true, 4), node(3, false, false)}, ids(4), nil},
		"a live broker is unknown":                                     {[]observer.Node{node(101, true, true, 4), node(1, false, false), node(2, false, true, 4)}, ids(4), []string{observer.RuleUnknown}},
		"a minority of controllers is unknown":                         {[]observer.Node{node(101, true, true, 4), node(102, true, true, 4), node(103, true, false), node(1, false, true, 4), node(2, false, true, 4)}, ids(4), nil},
		"half of the controllers are unknown":                          {[]observer.Node{node(101, true, true, 4), node(102, true, false), node(1, false, true, 4), node(2, false, true, 4)}, ids(4), []string{observer.RuleUnknown}},
		"a live broker is not listed":                                  {[]observer.Node{node(101, true, true, 4), node(1, false, true, 4)}, ids(4), []string{observer.RuleNotInInventory}},
		"a combined node is alive and unknown":                         {[]observer.Node{node(101, true, true, 4), node(102, true, true, 4), node(1, true, false), node(2, false, true, 4)}, ids(4), []string{observer.RuleUnknown}},
		"a combined node is dead and unknown":                          {[]observer.Node{node(101, true, true, 4), node(102, true, true, 4), node(3, true, false), node(1, false, true, 4), node(2, false, true, 4)}, ids(4), nil},
		"ZooKeeper: brokers only":                                      {[]observer.Node{node(1, false, true, 4), node(2, false, true, 4)}, ids(4), nil},
	} {
		s := cluster(ids(1, 2))
		s.Nodes = c.nodes
		got, refusals := s.InForce()
		assert.Equal(t, c.ids, got, name)
		assert.ElementsMatch(t, c.want, rules(refusals), name)
	}
}

// The majority of the controllers in an inventory is none of the quorum where some are not in it.
func TestEveryVoterOfTheQuorumHasAnEntry(t *testing.T) {
	s := cluster(ids(1, 2))
	s.Voters = ids(101, 102, 103)
	s.Nodes = []observer.Node{{ID: 1, Broker: true, Known: true}, {ID: 2, Broker: true, Known: true}}
	for _, voter := range s.Voters {
		_, refusals := s.InForce()
		assert.Contains(t, rules(refusals), observer.RuleNotInInventory, "%d is missing", voter)
		s.Nodes = append(s.Nodes, observer.Node{ID: voter, Controller: true, Known: true})
	}
	_, refusals := s.InForce()
	assert.Empty(t, refusals)
	s.Nodes[4].Controller = false
	_, refusals = s.Listed()
	assert.Equal(t, []string{observer.RuleNotInInventory}, rules(refusals), "its role decides when its file is written")
}

func TestTopicsOfABrokerAreNamed(t *testing.T) {
	a, b, c := part(1, ids(1, 4), nil), part(1, ids(4, 1), nil), part(1, ids(1, 2), nil)
	a.Topic, b.Topic, c.Topic = "a", "b", "c"
	s := cluster(ids(1, 2, 4), b, a, a, c)
	assert.Equal(t, []string{"a", "b"}, s.Touched(4))
	assert.Equal(t, []observer.Partition{b}, s.Heads(4))
}

// The controller has not taken it out of the ISR yet.
func TestADemotionDoesNotCountOnADeadMemberOfTheISR(t *testing.T) {
	p := part(1, ids(1, 2, 4), ids(1, 2, 4))
	assert.Empty(t, cluster(ids(1, 2, 4), p).CheckDemotion(4, nil, false))
	assert.Equal(t, []string{observer.RuleMinISR}, rules(cluster(ids(1, 4), p).CheckDemotion(4, nil, false)))
}
