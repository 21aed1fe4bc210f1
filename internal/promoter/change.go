package promoter

import (
	"fmt"
	"slices"

	"observer-patch/internal/observer"
)

// Plan is what a promotion or demotion will do, made from one view.
type Plan struct {
	Change    observer.Change `json:"change"`
	ClusterID string          `json:"cluster_id"`
	Broker    int32           `json:"broker"`
	// Before is the list in force, After the one that will be.
	Before []int32 `json:"before"`
	After  []int32 `json:"after"`
	// Steps are the nodes in the order in which their files are written.
	Steps [][]int32 `json:"steps"`
	// Moves are the partitions whose leadership is moved first, with their new order of replicas.
	Moves []observer.Partition `json:"moves,omitempty"`
	// Topics have a replica on the broker: all of them are touched.
	Topics []string `json:"topics"`
	// Warnings are no reason to refuse.
	Warnings []string `json:"warnings,omitempty"`
	// Refusals are.
	Refusals []observer.Refusal `json:"refusals,omitempty"`
	// Nothing is set when the broker is already what it shall be.
	Nothing bool `json:"nothing,omitempty"`
	// Await are the partitions whose ISR the promotion waits for; nil waits for all of the broker's.
	Await []string `json:"await,omitempty"`
	// Alters is set when leaderships are moved or elected: that needs ALTER on the cluster.
	Alters bool `json:"alters,omitempty"`
	// Undo is the command that takes the change back.
	Undo string `json:"undo"`
}

// undo gives the command that takes the change of the broker back.
func undo(change observer.Change, broker int32) string {
	if change == observer.Promote {
		return fmt.Sprintf("observer-patch demote %d --move-leaders", broker)
	}
	return fmt.Sprintf("observer-patch promote %d", broker)
}

// without says which nodes have no identity file: they get one, whatever they go on with now.
func without(v observer.View) []string {
	var absent []int32
	for _, n := range v.Nodes {
		if n.Absent {
			absent = append(absent, n.ID)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("nodes %v have no identity file and may go on with a list that they had: every node gets this one", absent)}
}

// PlanPromotion plans to take the broker's id out of every file.
func PlanPromotion(v observer.View, broker int32) Plan {
	before, refusals := v.Listed()
	p := Plan{Change: observer.Promote, ClusterID: v.ClusterID, Broker: broker, Before: observer.With(before), After: observer.Without(before, broker),
		Steps: observer.Promote.Order(v.Nodes), Topics: v.Touched(broker), Undo: undo(observer.Promote, broker)}
	p.Nothing = len(refusals) == 0 && !slices.Contains(before, broker) && len(without(v)) == 0
	p.Warnings = append(p.Warnings, without(v)...)
	p.Refusals = append(refusals, v.CheckPromotion(broker)...)
	for _, q := range v.Heads(broker) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s: the broker heads the assignment %v: it takes the leadership at the next preferred election and keeps it until leaders are moved", q, q.Replicas))
	}
	for _, q := range v.Partitions {
		if q.Leader == observer.NoLeader && slices.Contains(q.Replicas, broker) {
			p.Alters = true
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: it has no leader; promotion alone elects nobody, a preferred election follows, an unclean one only by observer-patch elect unclean", q))
		}
	}
	return p
}

// PlanDemotion plans to put the broker's id into every file, with moveLeaders after its leaderships
// have been moved.
func PlanDemotion(v observer.View, broker int32, moveLeaders bool) Plan {
	before, refusals := v.Listed()
	p := Plan{Change: observer.Demote, ClusterID: v.ClusterID, Broker: broker, Before: observer.With(before), After: observer.With(before, broker),
		Steps: observer.Demote.Order(v.Nodes), Topics: v.Touched(broker), Undo: undo(observer.Demote, broker)}
	p.Nothing = len(refusals) == 0 && slices.Contains(before, broker)
	p.Warnings = append(p.Warnings, without(v)...)
	p.Refusals = append(refusals, v.CheckDemotion(broker, before, moveLeaders)...)
	if !v.IsLive(broker) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("broker %d is not alive: it is an observer from its next start on", broker))
	}
	for _, q := range v.Partitions {
		if q.Leader != broker || !slices.Contains(q.Observers(p.After), broker) {
			continue
		}
		if order, ok := v.OrderWithLast(q, broker, p.After); ok && moveLeaders {
			q.Replicas = order
			p.Moves, p.Alters = append(p.Moves, q), true
		}
	}
	return p
}
