// Package overview says in what state a cluster with observers is: what is broken, what would
// break next, and what is not known. It is a pure function of a cluster's snapshot and of the
// identity files of its nodes.
package overview

import (
	"time"

	"observer-patch/internal/cluster"
	"observer-patch/internal/hosts"
)

// Report is what status says. Numbers that could not be learnt are null.
type Report struct {
	Time      time.Time `json:"time"`
	ClusterID string    `json:"clusterId"`
	// Mode is kraft or zookeeper, or unknown where no controller could be told.
	Mode       string               `json:"mode"`
	Controller cluster.Value[int32] `json:"controller"`
	// Majority is whether an active controller has a majority behind it.
	Majority   cluster.Value[bool] `json:"controllerMajority"`
	Observers  Observers           `json:"observers"`
	Nodes      []Node              `json:"nodes"`
	Partitions Counts              `json:"partitions"`
	Lags       []Lag               `json:"observerLag"`
	Zones      []Loss              `json:"zones"`
	Restarts   []Loss              `json:"restarts"`
	Trouble    []Trouble           `json:"trouble"`
	Findings   []hosts.Finding     `json:"findings"`
	Pending    string              `json:"pending,omitempty"`
	Missing    []string            `json:"missing"`
	Quorum     *cluster.Quorum     `json:"quorum"`
	Moving     cluster.Value[int]  `json:"reassignments"`
}

// Observers are the ids that count as observers in a report.
type Observers struct {
	IDs []int32 `json:"ids"`
	// Source is files, flag or unknown. Unknown means that every replica is taken for a sync one.
	Source string `json:"source"`
	// Certain is whether a majority of the controllers and all live brokers have this list in
	// their files; Doubts say why not.
	Certain bool     `json:"certain"`
	Doubts  []string `json:"doubts"`
}

// Node is a broker or controller.
type Node struct {
	ID         int32  `json:"id"`
	Broker     bool   `json:"broker"`
	Controller bool   `json:"controller"`
	Zone       string `json:"zone"`
	// Alive is whether the cluster counts on it: a broker that is registered and not fenced, a
	// controller that follows the quorum's leader. Unknown where nobody tells.
	Alive    cluster.Value[bool] `json:"alive"`
	Observer bool                `json:"observer"`
	// IDs is what its identity file says; unknown when it could not be read or is not used.
	IDs cluster.Value[[]int32] `json:"ids"`
	// File is absent, ok, unusable, unreadable or not asked; Mode, Owner and Changed are its own.
	File    string                   `json:"file"`
	Mode    string                   `json:"mode"`
	Owner   string                   `json:"owner"`
	Changed cluster.Value[time.Time] `json:"changed"`
	// Jars are the SHA-256 of its Kafka jars, where they could be reached.
	Jars map[string]string `json:"jars,omitempty"`
	// Leads and Replicas are numbers of partitions.
	Leads    int `json:"leads"`
	Replicas int `json:"replicas"`
}

// Counts are numbers of partitions. A partition may count in several of them.
type Counts struct {
	Total         int `json:"total"`
	WithObservers int `json:"withObservers"`
	// Offline have no leader.
	Offline int `json:"offline"`
	// UnderMinISR take no acks=all writes: fewer sync replicas in the ISR than min.insync.replicas;
	// AtMinISR would not with one fewer.
	UnderMinISR int `json:"underMinIsr"`
	AtMinISR    int `json:"atMinIsr"`
	// UnderReplicated lack a sync replica in the ISR; an observer outside of it is not lacking.
	UnderReplicated int `json:"underReplicated"`
	// ObserverLeads are led by an effective observer, ObserverInISR have one in the ISR.
	ObserverLeads int `json:"observerLeads"`
	ObserverInISR int `json:"observerInIsr"`
	// AllMarked have marked replicas only, and so no observers.
	AllMarked int `json:"allMarked"`
	// Unknown could not be described, or their min.insync.replicas could not be learnt.
	Unknown int `json:"unknown"`
}

// Lag is how far an observer's replicas are behind their leaders, in records.
type Lag struct {
	Broker   int32 `json:"broker"`
	Replicas int   `json:"replicas"`
	CaughtUp int   `json:"caughtUp"`
	// Unknown are the replicas whose own or whose leader's log end is not known.
	Unknown int `json:"unknown"`
	// Max is the largest lag that is known, Total the sum, Worst the partition with the largest.
	Max   cluster.Value[int64] `json:"max"`
	Total cluster.Value[int64] `json:"total"`
	Worst string               `json:"worst"`
}

// Loss says what would happen if a zone or a broker went away now.
type Loss struct {
	// Zone is empty for the loss of one broker.
	Zone    string  `json:"zone,omitempty"`
	Brokers []int32 `json:"brokers"`
	// Stops is the number of partitions that would take no acks=all writes any more, Offline of
	// those that would have no leader; Example is one of them.
	Stops   int    `json:"stopsWrites"`
	Offline int    `json:"goesOffline"`
	Example string `json:"example"`
	// StandIns are, for one broker whose restart stops writes, the observers any of which would keep
	// them going when it is promoted and has joined.
	StandIns []int32 `json:"standIns,omitempty"`
	// Quorum is whether the controllers would have no majority; unknown where it is not known
	// which of them are there.
	Quorum cluster.Value[bool] `json:"losesQuorum"`
}

// Trouble is a partition that needs a look.
type Trouble struct {
	Partition string  `json:"partition"`
	State     string  `json:"state"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
	Observers []int32 `json:"observers"`
	// MinISR is how many sync replicas in the ISR writes need.
	MinISR cluster.Value[int] `json:"minIsr"`
}

// Healthy tells that nothing is in trouble, nothing is pending, no file is odd, and nothing is
// unknown.
func (r *Report) Healthy() bool {
	c := r.Partitions
	return c.Offline+c.UnderMinISR+c.ObserverLeads+c.Unknown == 0 && len(r.Findings) == 0 && len(r.Missing) == 0 && r.Pending == "" &&
		r.Observers.Certain && r.Majority.V
}
