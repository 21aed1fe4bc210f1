package observer

import (
	"fmt"
	"slices"
)

// Change is in which direction the list changes.
type Change string

const (
	// Promote takes an id out.
	Promote Change = "promote"
	// Demote puts an id in.
	Demote Change = "demote"
)

// Order gives the ids of the nodes in the steps in which their files are written. Promotion:
// controllers first, or a leader would propose an ISR that the controller still rejects. Demotion:
// brokers first, controllers last. A combined node counts as a controller.
func (c Change) Order(nodes []Node) [][]int32 {
	var controllers, rest []int32
	for _, n := range nodes {
		if n.Controller {
			controllers = append(controllers, n.ID)
		} else {
			rest = append(rest, n.ID)
		}
	}
	slices.Sort(controllers)
	slices.Sort(rest)
	steps := [][]int32{controllers, rest}
	if c == Demote {
		steps = [][]int32{rest, controllers}
	}
	return slices.DeleteFunc(steps, func(s []int32) bool { return len(s) == 0 })
}

// Distribution is how the writing of a list went.
type Distribution struct {
	// Written took the list.
	Written []int32 `json:"written"`
	// Pending did not, and may take it later: dead brokers and a minority of controllers.
	Pending []int32 `json:"pending,omitempty"`
	// Refusals are set when this is not enough; what was written has to be undone then.
	Refusals []Refusal `json:"refusals,omitempty"`
}

// Done tells whether the distribution is a success: the controller majority and all live brokers.
func (d Distribution) Done() bool { return len(d.Refusals) == 0 }

// JudgeDistribution says whether a list is in force when the files of some nodes could not be
// written. Success is the majority of the controllers and all live brokers; what is left is pending.
func (s View) JudgeDistribution(failed map[int32]error) Distribution {
	var d Distribution
	controllers, have := 0, 0
	for _, n := range s.Nodes {
		err, bad := failed[n.ID]
		if n.Controller {
			controllers++
			if !bad {
				have++
			}
		}
		switch {
		case !bad:
			d.Written = append(d.Written, n.ID)
		case s.IsLive(n.ID):
			d.Refusals = append(d.Refusals, Refusal{Rule: RuleUnknown, Reason: fmt.Sprintf("broker %d is alive and its file was not written: %v", n.ID, err), Do: "make the node reachable or stop its broker"})
		default:
			d.Pending = append(d.Pending, n.ID)
		}
	}
	if controllers > 0 && 2*have <= controllers {
		d.Refusals = append(d.Refusals, Refusal{Rule: RuleNoMajority, Reason: fmt.Sprintf("the list is on %d of %d controllers, expected a majority", have, controllers), Do: "make the controllers reachable"})
	}
	slices.Sort(d.Written)
	slices.Sort(d.Pending)
	return d
}
