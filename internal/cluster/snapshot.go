// Package cluster is a Kafka cluster as an operator sees it over the Kafka protocol: how to
// connect, and one Snapshot of brokers, partitions and replica positions. What follows from a
// snapshot is decided elsewhere, by pure functions.
package cluster

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"time"
)

// Value is something that was asked for and may not be known. Its zero value is unknown, which
// is never the same as 0; in JSON and YAML unknown is null.
type Value[T any] struct {
	V     T
	Known bool
}

// Known gives a value that is known.
func Known[T any](v T) Value[T] { return Value[T]{V: v, Known: true} }

// Get gives the value and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.V, v.Known }

// MarshalJSON gives the value, or null.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	if !v.Known {
		return []byte("null"), nil
	}
	return json.Marshal(v.V)
}

// UnmarshalJSON takes what MarshalJSON gives.
func (v *Value[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Value[T]{}
		return nil
	}
	v.Known = true
	return json.Unmarshal(text, &v.V)
}

// None is the leader of a partition without one.
const None int32 = -1

// NoEpoch is the last epoch of a log without a batch.
const NoEpoch int32 = -1

// Snapshot is what was seen of a cluster within a short time. It is data: nothing in it changes
// by itself, and what was not asked for or not answered is unknown.
type Snapshot struct {
	// Time is when the looking began, by this machine's clock.
	Time      time.Time `json:"time"`
	ClusterID string    `json:"clusterId"`
	// Controller is the active controller: the leader of the KRaft quorum, or the controlling
	// broker of a ZooKeeper cluster.
	Controller Value[int32] `json:"controller"`
	// Quorum is nil where there is none (ZooKeeper) or where it could not be asked.
	Quorum *Quorum `json:"quorum"`
	// Reassignments is how many partitions are being moved; unknown when that could not be
	// asked, and then nothing is known of Adding and Removing either.
	Reassignments Value[int] `json:"reassignments"`
	// Brokers are ascending by id: those that the cluster lists, and those that hold replicas
	// without being listed (Alive is false).
	Brokers []Broker `json:"brokers"`
	// Topics are ascending by name.
	Topics []Topic `json:"topics"`
	// Missing says what could not be asked, and why.
	Missing []string `json:"missing"`
}

// Broker is a broker of the cluster.
type Broker struct {
	ID int32 `json:"id"`
	// Rack is broker.rack, empty when it has none or is unknown.
	Rack string `json:"rack"`
	// Host and Port are those of the listener that was asked; empty for one that is not listed.
	Host string `json:"host"`
	Port int32  `json:"port"`
	// Alive is whether the cluster lists it as a broker that may lead (registered, not fenced).
	Alive bool `json:"alive"`
}

// Quorum is the KRaft quorum (DescribeQuorum, KIP-595).
type Quorum struct {
	Leader int32 `json:"leader"`
	Epoch  int32 `json:"epoch"`
	// Voters are ascending by id.
	Voters []Voter `json:"voters"`
}

// Voter is a controller with a vote.
type Voter struct {
	ID     int32 `json:"id"`
	LogEnd int64 `json:"logEnd"`
	// Fetched is when the leader last heard of it (KIP-836).
	Fetched Value[time.Time] `json:"fetched"`
}

// fresh is how far a voter's last fetch may lie behind the newest one for it to count as
// following. Followers fetch at least every half second.
const fresh = 5 * time.Second

// Following gives the voters that follow the leader, by the leader's own clock, and the leader.
// Where fetch times are not told (before 3.5) that is the leader alone.
func (q *Quorum) Following() []int32 {
	var newest time.Time
	for _, v := range q.Voters {
		if v.Fetched.Known && v.Fetched.V.After(newest) {
			newest = v.Fetched.V
		}
	}
	var out []int32
	for _, v := range q.Voters {
		if v.ID == q.Leader || v.Fetched.Known && newest.Sub(v.Fetched.V) <= fresh {
			out = append(out, v.ID)
		}
	}
	return out
}

// Topic is a topic with its partitions.
type Topic struct {
	Name string `json:"name"`
	// ID is the topic's id (KIP-516), zero where the cluster gives none.
	ID [16]byte `json:"-"`
	// Internal is what the cluster says: __consumer_offsets and its like.
	Internal bool `json:"internal"`
	// Problem says why the topic could not be described; empty when it could.
	Problem string `json:"problem,omitempty"`
	// MinISR is min.insync.replicas as it is in force for the topic, in replicas.
	MinISR Value[int32] `json:"minInsyncReplicas"`
	// Partitions are ascending by number.
	Partitions []Partition `json:"partitions"`
}

// Partition is the committed state of a partition. Slices of ids keep the cluster's order.
type Partition struct {
	ID int32 `json:"partition"`
	// Replicas is the assignment in order, the preferred leader first; while a reassignment
	// runs, it includes Adding and Removing.
	Replicas []int32 `json:"replicas"`
	Adding   []int32 `json:"adding,omitempty"`
	Removing []int32 `json:"removing,omitempty"`
	// Leader is None when there is none.
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leaderEpoch"`
	ISR         []int32 `json:"isr"`
	// ELR are the eligible leader replicas (KIP-966); known and empty where the feature is off.
	ELR Value[[]int32] `json:"elr"`
	// HighWatermark is the leader's.
	HighWatermark Value[int64] `json:"highWatermark"`
	// CommittedBelow is the leader's log end where it cannot tell its high watermark yet: whatever
	// is committed lies below. A new leader tells it when it has passed the beginning of its epoch
	// (Partition.fetchOffsetForTimestamp), and from 3.7 on it does not move while the ISR is
	// under min.insync.replicas (KAFKA-15583).
	CommittedBelow Value[int64] `json:"committedBelow"`
	// Positions are those of the replicas that were asked, ascending by broker.
	Positions []Position `json:"positions,omitempty"`
}

// Position is where a replica's own log stands, as that replica's broker says.
type Position struct {
	Broker int32 `json:"broker"`
	// LogEnd is the offset after the last record, LogStart that of the first one.
	LogEnd   Value[int64] `json:"logEnd"`
	LogStart Value[int64] `json:"logStart"`
	// LastEpoch is the leader epoch of the last batch, NoEpoch in a log without a batch. Logs
	// are ordered by the pair (LastEpoch, LogEnd), never by the offset alone.
	LastEpoch Value[int32] `json:"lastEpoch"`
	// Missing is the time stamp of the first batch that the leader has and the replica lacks: by
	// default the producer's clock. Unknown for a replica that lacks nothing.
	Missing Value[time.Time] `json:"missingSince"`
	// Problem says why something is unknown; empty when nothing is.
	Problem string `json:"problem,omitempty"`
}

// Position gives what is known of a replica; everything is unknown in one that was not asked.
func (p Partition) Position(broker int32) Position {
	i, found := slices.BinarySearchFunc(p.Positions, broker, func(q Position, id int32) int { return int(q.Broker) - int(id) })
	if !found {
		return Position{Broker: broker, Problem: "not asked"}
	}
	return p.Positions[i]
}

// Broker gives the broker with the id; one that the snapshot does not know is not alive.
func (s *Snapshot) Broker(id int32) Broker {
	i, found := slices.BinarySearchFunc(s.Brokers, id, func(b Broker, id int32) int { return int(b.ID) - int(id) })
	if !found {
		return Broker{ID: id}
	}
	return s.Brokers[i]
}

// Topic gives the topic with the name, nil when the snapshot has none.
func (s *Snapshot) Topic(name string) *Topic {
	i, found := s.topicPlace(name)
	if !found {
		return nil
	}
	return &s.Topics[i]
}

// partition gives a partition to write to, nil when the snapshot has none.
func (s *Snapshot) partition(topic string, id int32) *Partition {
	t := s.Topic(topic)
	if t == nil {
		return nil
	}
	i, found := t.partitionPlace(id)
	if !found {
		return nil
	}
	return &t.Partitions[i]
}

// topicPlace and partitionPlace look at nothing but what they search by: the rest may be filled in
// at the same time.
func (s *Snapshot) topicPlace(name string) (int, bool) {
	return sort.Find(len(s.Topics), func(i int) int { return cmp.Compare(name, s.Topics[i].Name) })
}

func (t *Topic) partitionPlace(id int32) (int, bool) {
	return sort.Find(len(t.Partitions), func(i int) int { return cmp.Compare(id, t.Partitions[i].ID) })
}
