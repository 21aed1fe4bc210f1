package promoter

import (
	"context"
	"fmt"
	"slices"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// NoStandIn is the stand-in of a restart that has none.
const NoStandIn int32 = -1

// RestartPlan is what the restart of a broker needs, made from one view.
type RestartPlan struct {
	ClusterID string `json:"cluster_id"`
	Broker    int32  `json:"broker"`
	// Stops are the partitions with the broker in their ISR that would take no writes with acks=all
	// without it.
	Stops []string `json:"stops"`
	// StandIn is the observer that is promoted meanwhile, NoStandIn where none is needed.
	StandIn int32 `json:"stand_in"`
	// Promotion is that of the stand-in, nil where there is none.
	Promotion *Plan `json:"promotion,omitempty"`
	// Led are the partitions that the broker leads now: those that have it first go back to it.
	Led      []string           `json:"led"`
	Warnings []string           `json:"warnings,omitempty"`
	Refusals []observer.Refusal `json:"refusals,omitempty"`
}

// PlanRestart says what the restart of a broker needs so that writes with acks=all go on. The
// stand-in is promoted only when that is needed; NoStandIn takes the one observer that will do.
// With accept, what no stand-in can help is a warning and no refusal.
func PlanRestart(v observer.View, broker, standIn int32, accept bool) RestartPlan {
	ids, refusals := v.InForce()
	p := RestartPlan{ClusterID: v.ClusterID, Broker: broker, StandIn: NoStandIn, Stops: []string{}, Led: []string{}, Refusals: refusals}
	refuse := func(rule, partition, do, reason string, args ...any) {
		p.Refusals = append(p.Refusals, observer.Refusal{Rule: rule, Partition: partition, Reason: fmt.Sprintf(reason, args...), Do: do})
	}
	if !v.Majority {
		refuse(observer.RuleNoMajority, "", "bring the controllers back", "no active controller with a majority of the quorum answers")
	}
	if !v.IsLive(broker) {
		refuse(observer.RuleDead, "", "start it; observer-patch status says what is missing meanwhile", "broker %d is not alive, so there is nothing to restart", broker)
	}
	if slices.Contains(v.Voters, broker) && 2*len(observer.Without(v.Following, broker)) <= len(v.Voters) {
		refuse(observer.RuleNoMajority, "", "bring the other controllers back first", "it is a controller too, and without it %v of the voters %v would follow: no majority", observer.Without(v.Following, broker), v.Voters)
	}
	var stops []observer.Partition
	for _, q := range v.Partitions {
		if q.Error != "" {
			refuse(observer.RuleUnknown, q.String(), "try again when the cluster answers for it", "its state is not known: %s", q.Error)
			continue
		}
		if q.Leader == broker {
			p.Led = append(p.Led, q.String())
		}
		if !slices.Contains(q.SyncISR(ids), broker) {
			continue
		}
		if q.MinISR <= 0 {
			refuse(observer.RuleUnknown, q.String(), "allow the tool to describe the topic's configuration", "its min.insync.replicas is not known")
			continue
		}
		if !enough(q, observer.Without(liveISR(v, q, ids), broker)) {
			stops = append(stops, q)
			p.Stops = append(p.Stops, q.String())
		}
	}
	helpless := p.choose(v, ids, stops, standIn)
	for _, q := range v.Partitions {
		if q.Error == "" && q.Leader == observer.NoLeader && (slices.Contains(q.Replicas, broker) || slices.Contains(q.Replicas, p.StandIn)) {
			refuse(observer.RuleNobody, q.String(), "observer-patch elect preferred, or bring its brokers back", "it has no leader")
		}
	}
	for _, q := range helpless {
		reason := fmt.Sprintf("without broker %d its ISR would be %v, min.insync.replicas is %d", broker, observer.Without(liveISR(v, q, ids), broker), q.EffectiveMinISR())
		if accept {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: it takes no writes meanwhile: %s", q, reason))
			continue
		}
		refuse(observer.RuleMinISR, q.String(), "name another --stand-in, wait until other replicas are in the ISR, or say --accept-stopped-writes", "%s, and no stand-in helps", reason)
	}
	if p.StandIn != NoStandIn {
		promotion := PlanPromotion(v, p.StandIn)
		promotion.Await = []string{}
		for _, q := range stops {
			if !slices.Contains(names(helpless), q.String()) {
				promotion.Await = append(promotion.Await, q.String())
			}
		}
		p.Promotion = &promotion
		p.Refusals = append(p.Refusals, v.CheckPromotion(p.StandIn)...)
	}
	return p
}

// liveISR gives the sync members of the ISR that are alive: a broker may be away for a moment before
// the controller takes it out.
func liveISR(v observer.View, q observer.Partition, ids []int32) []int32 {
	return slices.DeleteFunc(q.SyncISR(ids), func(b int32) bool { return !v.IsLive(b) })
}

// enough tells whether a partition with these sync members in its ISR has a leader and takes
// writes with acks=all.
func enough(q observer.Partition, sync []int32) bool {
	return len(sync) > 0 && len(sync) >= q.EffectiveMinISR()
}

// choose picks the stand-in for the partitions that would stop, and gives those that it does not
// help: all of them where there is none.
func (p *RestartPlan) choose(v observer.View, ids []int32, stops []observer.Partition, wanted int32) []observer.Partition {
	if wanted != NoStandIn && !slices.Contains(ids, wanted) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("broker %d is no observer: it is not promoted for this, nor demoted after it", wanted))
		wanted = NoStandIn
		if len(stops) > 0 {
			return stops
		}
	}
	if len(stops) == 0 {
		return nil
	}
	var will []int32
	for _, b := range ids {
		if b != p.Broker && v.IsLive(b) && len(unhelped(v, p.Broker, b, ids, stops)) == 0 {
			will = append(will, b)
		}
	}
	switch {
	case wanted != NoStandIn:
		p.StandIn = wanted
		return unhelped(v, p.Broker, wanted, ids, stops)
	case len(will) == 1:
		p.StandIn = will[0]
		return nil
	case len(will) > 1:
		p.Refusals = append(p.Refusals, observer.Refusal{Rule: observer.RuleUnknown, Reason: fmt.Sprintf("which of the observers %v is to stand in is not said", will),
			Do: fmt.Sprintf("say --stand-in %d, or the one with the least lag: observer-patch lag --observers-only", will[0])})
		return nil
	}
	return stops
}

// unhelped gives the partitions that would still stop without the broker when the stand-in is
// promoted and has joined every ISR.
func unhelped(v observer.View, broker, standIn int32, ids []int32, stops []observer.Partition) []observer.Partition {
	after := observer.Without(ids, standIn)
	return slices.DeleteFunc(slices.Clone(stops), func(q observer.Partition) bool {
		sync := liveISR(v, q, after)
		if slices.Contains(q.Target(), standIn) {
			sync = observer.With(sync, standIn)
		}
		return enough(q, observer.Without(sync, broker))
	})
}

func names(parts []observer.Partition) []string {
	out := make([]string, 0, len(parts))
	for _, q := range parts {
		out = append(out, q.String())
	}
	return out
}

// PlanRestart is PlanRestart on what is there now, with topics that are hidden from this client as
// partitions that are not known: those of the broker, whose writes might stop, and those of the
// stand-in, which could not be demoted again.
func (o *Operator) PlanRestart(ctx context.Context, broker, standIn int32, accept bool) (RestartPlan, error) {
	v, err := o.DemotionView(ctx, broker)
	if err != nil {
		return RestartPlan{}, err
	}
	p := PlanRestart(v, broker, standIn, accept)
	if p.StandIn == NoStandIn || !v.IsLive(p.StandIn) {
		return p, nil
	}
	if v.Partitions, err = o.withHidden(ctx, v.Partitions, p.StandIn); err != nil {
		return p, err
	}
	return PlanRestart(v, broker, p.StandIn, accept), nil
}

// Refuse gives the plan's refusals as an error with exit code 5, nil when there is none.
func (p RestartPlan) Refuse() error { return exit.With(exit.Refused, observer.Refused(p.Refusals)) }
