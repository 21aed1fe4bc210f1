package observer

import (
	"fmt"
	"slices"
	"time"
)

// NoLeader is the leader of a partition that has none.
const NoLeader int32 = -1

// Partition is one partition as a controller describes it.
type Partition struct {
	Topic string `json:"topic"`
	ID    int32  `json:"partition"`
	// Leader is NoLeader while there is none.
	Leader int32 `json:"leader"`
	// Replicas are in assignment order; Adding and Removing are those of a running reassignment and
	// also in Replicas.
	Replicas []int32 `json:"replicas"`
	Adding   []int32 `json:"adding,omitempty"`
	Removing []int32 `json:"removing,omitempty"`
	ISR      []int32 `json:"isr"`
	// ELR are the eligible leader replicas (KIP-966), empty where a release has none.
	ELR []int32 `json:"elr,omitempty"`
	// MinISR is the topic's own min.insync.replicas; 0 when it could not be learnt.
	MinISR int `json:"min_isr"`
	// Error says why the partition could not be described; empty when it could.
	Error string `json:"error,omitempty"`
}

// String gives topic-partition.
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.ID) }

// Node is one holder of an identity file: a broker, a controller, or both.
type Node struct {
	ID         int32 `json:"id"`
	Broker     bool  `json:"broker"`
	Controller bool  `json:"controller"`
	// IDs is what the file says, when Known.
	IDs   []int32 `json:"ids"`
	Known bool    `json:"known"`
	// Absent says that there is no file, which is known and taken for an empty list: but the node
	// goes on with the list that it had, or began with that of KAFKA_OBSERVER_BROKER_IDS.
	Absent bool `json:"absent,omitempty"`
	// Cause says why the file is not known.
	Cause string `json:"cause,omitempty"`
}

// View is one moment of a cluster, as it is seen from outside; every rule of this package is
// a function of one.
type View struct {
	ClusterID string    `json:"cluster_id"`
	At        time.Time `json:"at"`
	// Live are the brokers that are registered and not fenced.
	Live []int32 `json:"live"`
	// Majority tells whether an active controller with a majority of the quorum behind it answered;
	// in ZooKeeper mode, whether there is a controller.
	Majority bool `json:"majority"`
	// Voters are the controllers of a KRaft quorum, Following those that follow its leader, and it;
	// empty where there is none.
	Voters    []int32 `json:"voters,omitempty"`
	Following []int32 `json:"following,omitempty"`
	// Nodes are those of the inventory.
	Nodes      []Node      `json:"nodes"`
	Partitions []Partition `json:"partitions"`
}

// IsLive tells whether the broker is registered and not fenced.
func (s View) IsLive(broker int32) bool { return slices.Contains(s.Live, broker) }

// Target gives the replicas less those that a reassignment removes.
func (p Partition) Target() []int32 {
	return slices.DeleteFunc(slices.Clone(p.Replicas), func(r int32) bool { return slices.Contains(p.Removing, r) })
}

// Observers gives the effective observers of the partition under the ids in force: its marked
// replicas, unless every target replica is marked; such a partition has none and behaves as
// upstream does.
func (p Partition) Observers(ids []int32) []int32 {
	unmarked := func(r int32) bool { return !slices.Contains(ids, r) }
	if !slices.ContainsFunc(p.Target(), unmarked) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Replicas), unmarked)
}

// SyncISR gives the members of the ISR that are no effective observers.
func (p Partition) SyncISR(ids []int32) []int32 {
	return without(p.ISR, p.Observers(ids)...)
}

// EffectiveMinISR is how many members of the ISR a write with acks=all needs: upstream caps the
// topic's value by the replication factor, with observers counted (R16).
func (p Partition) EffectiveMinISR() int { return min(p.MinISR, len(p.Replicas)) }

// UnderMinISR tells whether the sync members of the ISR are too few for writes with acks=all. A
// partition whose minimum is not known is not called so.
func (p Partition) UnderMinISR(ids []int32) bool {
	return p.MinISR > 0 && len(p.SyncISR(ids)) < p.EffectiveMinISR()
}

// UnderReplicated tells whether a sync replica is missing from the ISR; an observer outside of the
// ISR is not a missing one, nor is a replica that is being added.
func (p Partition) UnderReplicated(ids []int32) bool {
	want := without(without(p.Replicas, p.Adding...), p.Observers(ids)...)
	return len(without(want, p.ISR...)) > 0
}

func without(list []int32, out ...int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(id int32) bool { return slices.Contains(out, id) })
}

// Without gives the list, ascending, less the ids.
func Without(list []int32, ids ...int32) []int32 {
	out := without(list, ids...)
	slices.Sort(out)
	return slices.Compact(out)
}

// With gives the list and the ids, ascending, each once.
func With(list []int32, ids ...int32) []int32 {
	return Without(append(slices.Clone(list), ids...))
}
