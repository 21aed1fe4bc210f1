package observer

import (
	"fmt"
	"slices"
)

// InForce gives the ids that the controllers' majority and every live broker agree on. A node that
// does not hold a Kafka process alive may have an old list and is not asked. Refusals say why the
// ids are not certain; the ids are then the controllers', for display only.
//
// A file is what a node is told, not what it has read: readers follow within a second or so. A
// missing file tells a node nothing, so where one is missing the ids are not certain.
func (s View) InForce() ([]int32, []Refusal) {
	ids, refusals := s.Listed()
	var absent []int32
	for _, n := range s.Nodes {
		if n.Absent && (n.Controller || s.IsLive(n.ID)) {
			absent = append(absent, n.ID)
		}
	}
	if len(absent) > 0 {
		refusals = append(refusals, Refusal{Rule: RuleUnknown, Reason: fmt.Sprintf("nodes %v have no identity file: each goes on with the list that it had, or with that of KAFKA_OBSERVER_BROKER_IDS", absent),
			Do: "correct the inventory's path, or write the file, an empty one for no observers"})
	}
	return ids, refusals
}

// Listed is InForce for whoever writes all files anyway: a missing file is an empty list there.
func (s View) Listed() ([]int32, []Refusal) {
	var refusals []Refusal
	var ids []int32
	known := false
	controllers, answered := 0, 0
	differ := func(n Node) {
		refusals = append(refusals, Refusal{Rule: RuleDiffer, Reason: fmt.Sprintf("the file of node %d says %v, others say %v", n.ID, n.IDs, ids),
			Do: "compare the files on all nodes, controllers first, and write the same list everywhere"})
	}
	for _, n := range s.Nodes {
		if !n.Controller {
			continue
		}
		controllers++
		if !n.Known {
			continue
		}
		answered++
		if !known {
			ids, known = n.IDs, true
		} else if !slices.Equal(ids, n.IDs) {
			differ(n)
		}
	}
	if controllers > 0 && 2*answered <= controllers {
		refusals = append(refusals, Refusal{Rule: RuleUnknown, Reason: fmt.Sprintf("the identity files of %d of %d controllers could be read, expected a majority", answered, controllers),
			Do: "make the controllers reachable, or correct the inventory"})
	}
	for _, n := range s.Nodes {
		// A node that is both was compared as a controller, if it answered.
		if n.Controller && n.Known || !s.IsLive(n.ID) {
			continue
		}
		switch {
		case !n.Known:
			refusals = append(refusals, Refusal{Rule: RuleUnknown, Reason: fmt.Sprintf("broker %d is alive and its identity file could not be read: %s", n.ID, n.Cause),
				Do: "make the node reachable, or correct the inventory"})
		case !known:
			ids, known = n.IDs, true
		case !slices.Equal(ids, n.IDs):
			differ(n)
		}
	}
	for _, b := range s.Live {
		if !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.ID == b }) {
			refusals = append(refusals, Refusal{Rule: RuleNotInInventory, Reason: fmt.Sprintf("broker %d is alive and has no entry in the inventory", b),
				Do: "add it, so that its file can be read and written"})
		}
	}
	for _, voter := range s.Voters {
		if !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.ID == voter && n.Controller }) {
			refusals = append(refusals, Refusal{Rule: RuleNotInInventory, Reason: fmt.Sprintf("controller %d has a vote in the quorum and no entry in the inventory with the role controller", voter),
				Do: "add it, so that its file can be read and written: a controller with another list elects whom the others take for an observer"})
		}
	}
	if !known && len(refusals) == 0 {
		refusals = append(refusals, Refusal{Rule: RuleUnknown, Reason: "no identity file could be read", Do: "correct the inventory"})
	}
	return ids, refusals
}
