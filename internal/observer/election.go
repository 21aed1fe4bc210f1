package observer

import (
	"fmt"
	"slices"
)

// ElectionKind is what has to be asked of the controller.
type ElectionKind string

const (
	// NotNeeded: the partition has a live leader.
	NotNeeded ElectionKind = "not-needed"
	// Preferred: a live member of the ISR or ELR takes the leadership; nothing is lost.
	Preferred ElectionKind = "preferred"
	// Unclean: no such member is alive; the replica with the best log is taken.
	Unclean ElectionKind = "unclean"
	// Impossible: see the refusals.
	Impossible ElectionKind = "impossible"
)

// Election is how a leaderless partition gets a leader.
type Election struct {
	Kind ElectionKind `json:"kind"`
	// Leader is who will lead.
	Leader int32 `json:"leader"`
	// Assignment is the order that the replicas have to be put into first, nil when it is right: an
	// unclean election takes the first live unmarked replica, not the best one (R3).
	Assignment []int32 `json:"assignment,omitempty"`
	// Compared are the positions that decided, in assignment order.
	Compared []Position `json:"compared,omitempty"`
	// Lossy is set when the leader's log is not provably the best: a replica is dead or silent.
	Lossy bool `json:"lossy,omitempty"`
	// Refusals say why nothing may be elected.
	Refusals []Refusal `json:"refusals,omitempty"`
}

// ChooseElection decides how the partition gets a leader under the ids in force. Positions are
// needed of every live replica, marked ones included; acceptLoss is the operator's word that
// records may be lost. A live replica with a better log than the elected one is never passed over.
func (s View) ChooseElection(p Partition, ids []int32, positions map[int32]Position, acceptLoss bool) Election {
	refuse := func(rule, reason, do string) Election {
		return Election{Kind: Impossible, Leader: NoLeader, Refusals: []Refusal{{Rule: rule, Partition: p.String(), Reason: reason, Do: do}}}
	}
	switch {
	case p.Error != "":
		return refuse(RuleUnknown, "its state is not known: "+p.Error, "try again when the cluster answers for it")
	case !s.Majority:
		r := noMajority()
		return refuse(r.Rule, r.Reason, r.Do)
	case p.Leader != NoLeader:
		return Election{Kind: NotNeeded, Leader: p.Leader}
	case len(p.Adding)+len(p.Removing) > 0:
		return refuse(RuleReassigning, "a reassignment is running", "cancel it first: an election in its middle is not foreseen here")
	}
	observers := p.Observers(ids)
	var live []int32
	for _, r := range p.Replicas {
		if s.IsLive(r) {
			live = append(live, r)
		}
	}
	electable := without(live, observers...)
	for _, r := range electable {
		if slices.Contains(p.ISR, r) || slices.Contains(p.ELR, r) {
			return Election{Kind: Preferred, Leader: r}
		}
	}
	if len(electable) == 0 {
		if len(live) > 0 {
			return refuse(RuleNobody, fmt.Sprintf("only observers %v are alive", live), fmt.Sprintf("promote the one with the least lag first: observer-patch promote %d", live[0]))
		}
		return refuse(RuleNobody, fmt.Sprintf("none of its replicas %v is alive", p.Replicas), "start one")
	}
	return s.chooseUnclean(p, ids, live, electable, positions, acceptLoss)
}

func (s View) chooseUnclean(p Partition, ids, live, electable []int32, positions map[int32]Position, acceptLoss bool) Election {
	e := Election{Kind: Unclean, Leader: NoLeader, Lossy: len(live) < len(p.Replicas)}
	refuse := func(rule, reason, do string) {
		e.Refusals = append(e.Refusals, Refusal{Rule: rule, Partition: p.String(), Reason: reason, Do: do})
	}
	var best, bestOfAll *Position
	for _, r := range live {
		pos, ok := positions[r]
		if !ok {
			pos = Position{Broker: r, Cause: "not asked"}
		}
		e.Compared = append(e.Compared, pos)
		if !pos.Known() {
			e.Lossy = true
			if !acceptLoss {
				refuse(RuleUnknown, fmt.Sprintf("the position of live replica %s", pos), "make the broker answer, or add --accept-data-loss")
			}
			continue
		}
		if bestOfAll == nil || pos.Compare(*bestOfAll) > 0 {
			bestOfAll = &pos
		}
		if slices.Contains(electable, r) && (best == nil || pos.Compare(*best) > 0) {
			best = &pos
		}
	}
	if best == nil {
		refuse(RuleUnknown, fmt.Sprintf("no position of the electable replicas %v is known", electable), "make one of their brokers answer")
	} else {
		if bestOfAll.Compare(*best) > 0 {
			refuse(RuleBehind, fmt.Sprintf("observer %s has more than %s", bestOfAll, best), fmt.Sprintf("promote it first: observer-patch promote %d", bestOfAll.Broker))
		}
		e.Leader = best.Broker
		if electable[0] != best.Broker && !asGood(positions, electable[0], *best) {
			e.Assignment = ObserversLast(append([]int32{best.Broker}, without(p.Replicas, best.Broker)...), ids)
		} else {
			e.Leader = electable[0]
		}
	}
	if e.Lossy && !acceptLoss && len(e.Refusals) == 0 {
		refuse(RuleDataLoss, fmt.Sprintf("of its replicas %v only %v are alive: what the others alone have is lost", p.Replicas, live), "start the others, or add --accept-data-loss")
	}
	if len(e.Refusals) > 0 {
		e.Kind = Impossible
	}
	return e
}

func asGood(positions map[int32]Position, broker int32, best Position) bool {
	pos, ok := positions[broker]
	return ok && pos.Known() && pos.Compare(best) == 0
}

// StillHolds says why an election that was decided on may no longer be asked for, given the
// decision on a newer view: a broker that returned in between, a position that changed. An
// order that has been put right in between is no change.
func (e Election) StillHolds(p Partition, now Election) []Refusal {
	changed := func(reason string) []Refusal {
		return []Refusal{{Rule: RuleChanged, Partition: p.String(), Reason: reason, Do: "run the command again, and restart no broker meanwhile"}}
	}
	switch {
	case now.Kind == NotNeeded:
		return nil
	case now.Kind == Impossible:
		return append(changed("the election is no longer possible"), now.Refusals...)
	case now.Kind == Preferred && e.Kind == Unclean:
		return nil // better than what was decided: asked for as a preferred election
	case now.Kind != e.Kind:
		return changed(fmt.Sprintf("the election was %s and is %s now", e.Kind, now.Kind))
	case now.Kind == Unclean && now.Leader != e.Leader:
		return changed(fmt.Sprintf("broker %d was to lead, now it would be %d", e.Leader, now.Leader))
	case now.Kind == Unclean && now.Assignment != nil:
		return changed(fmt.Sprintf("the first live unmarked replica is not %d", e.Leader))
	case now.Kind == Unclean && !slices.Equal(brokers(e.Compared), brokers(now.Compared)):
		return changed(fmt.Sprintf("brokers %v were alive and compared, now they are %v", brokers(e.Compared), brokers(now.Compared)))
	}
	return nil
}

func brokers(positions []Position) []int32 {
	var out []int32
	for _, p := range positions {
		out = append(out, p.Broker)
	}
	slices.Sort(out)
	return out
}
