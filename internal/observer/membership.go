package observer

import (
	"fmt"
	"slices"
)

// CheckPromotion says why the marked broker may not be promoted under the ids in force. Lag is no
// reason: a promoted replica joins the ISR when it has caught up, and not before.
func (s View) CheckPromotion(broker int32) []Refusal {
	var out []Refusal
	if !s.Majority {
		out = append(out, noMajority())
	}
	if !s.IsLive(broker) {
		out = append(out, Refusal{Rule: RuleDead, Reason: fmt.Sprintf("broker %d is not alive", broker), Do: "start it first: a dead replica cannot join any ISR"})
	}
	return out
}

// CheckDemotion says why the broker may not become an observer, given the ids in force. With
// moveLeaders a partition that it leads is no reason, as long as a live, unmarked member of the ISR
// can take the leadership over first.
func (s View) CheckDemotion(broker int32, ids []int32, moveLeaders bool) []Refusal {
	var out []Refusal
	if !s.Majority {
		out = append(out, noMajority())
	}
	after := With(ids, broker)
	for _, p := range s.Partitions {
		if p.Error != "" {
			out = append(out, Refusal{Rule: RuleUnknown, Partition: p.String(), Reason: "its state is not known: " + p.Error, Do: "try again when the cluster answers for it"})
			continue
		}
		if !slices.Contains(p.Replicas, broker) {
			continue
		}
		// Here the mark changes nothing: the partition goes on as upstream.
		if !slices.Contains(p.Observers(after), broker) {
			if slices.Contains(p.Replicas, broker) && len(p.Observers(ids)) > 0 {
				out = append(out, Refusal{Rule: RuleLastUnmarked, Partition: p.String(), Reason: fmt.Sprintf("%d is its last unmarked replica of %v: its observers would become full members", broker, p.Replicas),
					Do: "promote another replica or add an unmarked one first"})
			}
			continue
		}
		out = append(out, s.checkDemotionOf(p, broker, after, moveLeaders)...)
	}
	return out
}

func (s View) checkDemotionOf(p Partition, broker int32, after []int32, moveLeaders bool) []Refusal {
	var out []Refusal
	if slices.Contains(p.Adding, broker) {
		out = append(out, Refusal{Rule: RuleAdding, Partition: p.String(), Reason: fmt.Sprintf("a reassignment is adding %d: marked now, it would count as complete and the old copy would go", broker),
			Do: "wait until the reassignment has ended, or cancel it"})
	}
	if p.Leader == broker {
		switch {
		case !moveLeaders:
			out = append(out, Refusal{Rule: RuleLeads, Partition: p.String(), Reason: fmt.Sprintf("%d leads it", broker), Do: "add --move-leaders"})
		case len(p.Adding)+len(p.Removing) > 0:
			out = append(out, Refusal{Rule: RuleReassigning, Partition: p.String(), Reason: "a reassignment is running, its replicas cannot be put in another order", Do: "wait until it has ended"})
		default:
			if _, ok := s.OrderWithLast(p, broker, after); !ok {
				out = append(out, Refusal{Rule: RuleNoTaker, Partition: p.String(), Reason: fmt.Sprintf("no live unmarked member of the ISR %v can take the leadership over from %d", p.ISR, broker), Do: "wait until another replica is in the ISR"})
			}
		}
	}
	// A broker may be away for a moment before the controller takes it out of the ISR.
	switch left := slices.DeleteFunc(p.SyncISR(after), func(b int32) bool { return !s.IsLive(b) }); {
	case p.MinISR <= 0:
		out = append(out, Refusal{Rule: RuleUnknown, Partition: p.String(), Reason: "its min.insync.replicas is not known", Do: "allow the tool to describe the topic's configuration"})
	case len(left) < p.EffectiveMinISR():
		out = append(out, Refusal{Rule: RuleMinISR, Partition: p.String(), Reason: fmt.Sprintf("without %d the ISR would be %v, min.insync.replicas is %d", broker, left, p.EffectiveMinISR()),
			Do: "wait until other replicas are in the ISR"})
	}
	return out
}

// OrderWithLast gives the partition's replicas in an order that lets a preferred election take the
// leadership from the broker: a live unmarked member of the ISR first, the broker last. It says no
// when there is no such member. The ids are those in force afterwards.
func (s View) OrderWithLast(p Partition, broker int32, ids []int32) ([]int32, bool) {
	i := slices.IndexFunc(p.Replicas, func(r int32) bool {
		return r != broker && !slices.Contains(ids, r) && slices.Contains(p.ISR, r) && s.IsLive(r)
	})
	if i < 0 {
		return nil, false
	}
	first := p.Replicas[i]
	order := ObserversLast(append([]int32{first}, without(p.Replicas, first, broker)...), ids)
	return append(order, broker), true
}

// ObserversLast gives the replicas with the marked ones at the end, otherwise in their own order.
func ObserversLast(replicas, ids []int32) []int32 {
	unmarked := without(replicas, ids...)
	return append(unmarked, without(replicas, unmarked...)...)
}

// Heads gives the partitions whose assignment the broker heads although it is marked: promoted, it
// takes their leadership at the next preferred election and keeps it (trap 10).
func (s View) Heads(broker int32) []Partition {
	var out []Partition
	for _, p := range s.Partitions {
		if len(p.Replicas) > 1 && p.Replicas[0] == broker {
			out = append(out, p)
		}
	}
	return out
}

// Touched gives the topics with a partition on the broker, sorted: a broker is promoted and demoted
// whole.
func (s View) Touched(broker int32) []string {
	var out []string
	for _, p := range s.Partitions {
		if slices.Contains(p.Replicas, broker) {
			out = append(out, p.Topic)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func noMajority() Refusal {
	return Refusal{Rule: RuleNoMajority, Reason: "no active controller with a majority of the quorum answers", Do: "bring the controllers back: nothing can be elected or committed without them"}
}

// Crowded says which topics have so few sync replicas beside their observers that the loss of one
// stops writes: automatic placement has put a replica on an observer (trap 7). One line a topic.
func (v View) Crowded(ids []int32) []string {
	var out []string
	said := map[string]bool{}
	for _, p := range v.Partitions {
		observers := p.Observers(ids)
		sync := len(without(p.Replicas, observers...))
		if p.Error == "" && !said[p.Topic] && len(observers) > 0 && p.MinISR > 1 && sync <= p.EffectiveMinISR() {
			said[p.Topic] = true
			out = append(out, fmt.Sprintf("%s: %d of its replicas %v are observers %v: with %d sync replicas and min.insync.replicas %d the loss of one stops writes", p, len(observers), p.Replicas, observers, sync, p.EffectiveMinISR()))
		}
	}
	return out
}
