package overview

import (
	"slices"

	"observer-patch/internal/cluster"
	"observer-patch/internal/observer"
)

// Replica is one line of lag.
type Replica struct {
	Partition string `json:"partition"`
	Broker    int32  `json:"broker"`
	// Alive is whether the cluster counts on its broker.
	Alive  bool `json:"alive"`
	Leader bool `json:"leader"`
	// Observer is whether it is an effective observer, Eligible whether it may be in the ISR.
	Observer bool `json:"observer"`
	Eligible bool `json:"isrEligible"`
	InISR    bool `json:"inIsr"`
	InELR    bool `json:"inElr"`
	// CaughtUp is whether it has everything that was committed when the looking began.
	CaughtUp cluster.Value[bool] `json:"holdsCommitted"`
	// Lag is the leader's log end less its own, in records: at most that, since the leader was
	// asked later. BehindMillis is the age of the first batch that it lacks; 0 when none.
	Lag          cluster.Value[int64] `json:"lag"`
	BehindMillis cluster.Value[int64] `json:"behindMs"`
	LogStart     cluster.Value[int64] `json:"logStart"`
	LogEnd       cluster.Value[int64] `json:"logEnd"`
	LastEpoch    cluster.Value[int32] `json:"lastEpoch"`
	Problem      string               `json:"problem,omitempty"`
}

// ObserversOf gives the effective observers of a partition under the ids in force.
func ObserversOf(t *cluster.Topic, p *cluster.Partition, ids []int32) []int32 {
	return partitionOf(t, p).Observers(ids)
}

func partitionOf(t *cluster.Topic, p *cluster.Partition) observer.Partition {
	return observer.Partition{Topic: t.Name, ID: p.ID, Leader: p.Leader, Replicas: p.Replicas, Adding: p.Adding, Removing: p.Removing, ISR: p.ISR, ELR: p.ELR.V, MinISR: int(t.MinISR.V)}
}

// Replicas gives a line for every replica that was asked, in the order of topics and partitions,
// and within one of the assignment.
func Replicas(s *cluster.Snapshot, o Observers) []Replica {
	out := []Replica{}
	for i := range s.Topics {
		t := &s.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if len(p.Positions) == 0 {
				continue
			}
			q := partitionOf(t, p)
			marked := q.Observers(o.IDs)
			leader := p.Position(p.Leader)
			for _, b := range p.Replicas {
				pos := p.Position(b)
				r := Replica{Partition: q.String(), Broker: b, Alive: s.Broker(b).Alive, Leader: b == p.Leader, Observer: slices.Contains(marked, b),
					InISR: slices.Contains(p.ISR, b), InELR: slices.Contains(p.ELR.V, b), LogStart: pos.LogStart, LogEnd: pos.LogEnd, LastEpoch: pos.LastEpoch, Problem: pos.Problem}
				r.Eligible = !r.Observer
				if hw, ok := p.HighWatermark.Get(); ok && pos.LogEnd.Known {
					r.CaughtUp = cluster.Known(pos.LogEnd.V >= hw)
				} else if all, ok := p.CommittedBelow.Get(); ok && pos.LogEnd.Known && pos.LogEnd.V >= all {
					r.CaughtUp = cluster.Known(true) // short of it says nothing
				}
				r.behind(s, leader, pos)
				out = append(out, r)
			}
		}
	}
	return out
}

func (r *Replica) behind(s *cluster.Snapshot, leader, own cluster.Position) {
	if !leader.LogEnd.Known || !own.LogEnd.Known {
		return
	}
	r.Lag = cluster.Known(max(0, leader.LogEnd.V-own.LogEnd.V))
	switch {
	case r.Lag.V == 0:
		r.BehindMillis = cluster.Known[int64](0)
	case own.Missing.Known:
		r.BehindMillis = cluster.Known(max(0, s.Time.Sub(own.Missing.V).Milliseconds()))
	}
}
