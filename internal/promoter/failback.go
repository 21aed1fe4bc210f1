package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// Failback is the way back after a promotion: who has to be in the ISR first, which leaderships go
// home, and the demotion at the end.
type Failback struct {
	Broker int32 `json:"broker"`
	// Waiting are partitions with a sync replica that is not in the ISR yet, with those replicas.
	Waiting []string `json:"waiting"`
	// Home are partitions whose first replica is in the ISR, or will be, and does not lead.
	Home []string `json:"home"`
	// Refusals say why the broker could not be demoted if nothing else changed.
	Refusals []observer.Refusal `json:"refusals"`
}

// PlanFailback says what a failback of the promoted broker has to do.
func PlanFailback(v observer.View, broker int32) (Failback, error) {
	ids, refusals := v.InForce()
	if len(refusals) > 0 {
		return Failback{}, exit.With(exit.Refused, observer.Refused(refusals))
	}
	if slices.Contains(ids, broker) {
		return Failback{}, exit.With(exit.Refused, fmt.Errorf("broker %d is an observer already: there is nothing to go back from", broker))
	}
	f := Failback{Broker: broker, Waiting: missingSync(v, broker, ids), Home: []string{}, Refusals: v.CheckDemotion(broker, ids, true)}
	for _, p := range homeward(v, broker, ids) {
		f.Home = append(f.Home, p.String())
	}
	return f, nil
}

// missingSync gives the partitions on the broker that lack a sync replica in the ISR.
func missingSync(v observer.View, broker int32, ids []int32) []string {
	out := []string{}
	after := observer.With(ids, broker)
	for _, p := range v.Partitions {
		if !slices.Contains(p.Replicas, broker) {
			continue
		}
		missing := observer.Without(p.Target(), append(slices.Clone(p.ISR), p.Observers(after)...)...)
		switch {
		case p.Error != "":
			out = append(out, p.String()+": "+p.Error)
		case len(missing) > 0:
			out = append(out, fmt.Sprintf("%s: %v not in the ISR %v", p, missing, p.ISR))
		}
	}
	return out
}

// homeward gives the partitions on the broker that another one than their first replica leads,
// although that one could.
func homeward(v observer.View, broker int32, ids []int32) []observer.Partition {
	var out []observer.Partition
	for _, p := range v.Partitions {
		if p.Error != "" || len(p.Replicas) == 0 || !slices.Contains(p.Replicas, broker) {
			continue
		}
		first := p.Replicas[0]
		if first != broker && p.Leader != first && !slices.Contains(ids, first) && v.IsLive(first) {
			out = append(out, p)
		}
	}
	return out
}

// Failback waits until every sync replica is back in the ISR, moves leaderships home, and demotes
// the broker. It stops, with nothing half done, when the replicas are not back within the limit.
func (o *Operator) Failback(ctx context.Context, broker int32, limit time.Duration) (Result, error) {
	v, err := o.View(ctx)
	if err != nil {
		return Result{}, err
	}
	if _, err := PlanFailback(v, broker); err != nil {
		return Result{}, err
	}
	ids, _ := v.InForce() // certain, or there would be no plan
	v, err = o.until(ctx, limit, "every sync replica is in the ISR", func(v observer.View) []string { return missingSync(v, broker, ids) })
	if err != nil {
		return Result{}, fmt.Errorf("failback stopped, broker %d stays promoted: %w", broker, err)
	}
	if home := homeward(v, broker, ids); len(home) > 0 {
		if _, err := o.ElectPreferred(ctx, home, limit); err != nil {
			return Result{}, fmt.Errorf("failback stopped, broker %d stays promoted: %w", broker, err)
		}
	}
	if v, err = o.View(ctx); err != nil {
		return Result{}, err
	}
	return o.Demote(ctx, PlanDemotion(v, broker, true), limit)
}

// DrillTopic is the canary of a drill.
const DrillTopic = "observer-patch-drill"

// Drill is a promotion and failback for practice.
type Drill struct {
	Broker int32
	// MaxLag is how many committed records the observer may lack on any of its partitions.
	MaxLag int64
	Limit  time.Duration
	// Canary makes the canary topic with the assignment, Remove deletes it.
	Canary func(ctx context.Context, replicas []int32) error
	Remove func(ctx context.Context) error
}

// CheckDrill says why a drill is not begun, or has to be aborted: a partition without a leader or
// under its minimum, or, before it, an observer that lags.
func CheckDrill(v observer.View, broker int32, positions *Positions, maxLag int64) []observer.Refusal {
	ids, out := v.InForce()
	if !v.Majority {
		out = append(out, observer.Refusal{Rule: observer.RuleNoMajority, Reason: "no active controller with a majority of the quorum answers"})
	}
	for _, p := range v.Partitions {
		refuse := func(rule, reason string) {
			out = append(out, observer.Refusal{Rule: rule, Partition: p.String(), Reason: reason, Do: "put it right first"})
		}
		switch {
		case p.Error != "":
			refuse(observer.RuleUnknown, p.Error)
		case p.Leader == observer.NoLeader:
			refuse(observer.RuleNobody, "it has no leader")
		case p.MinISR <= 0:
			refuse(observer.RuleUnknown, "its min.insync.replicas is not known")
		case p.UnderMinISR(ids):
			refuse(observer.RuleMinISR, fmt.Sprintf("ISR %v, min.insync.replicas %d", p.ISR, p.EffectiveMinISR()))
		}
		if positions == nil || !slices.Contains(p.Observers(ids), broker) {
			continue
		}
		hw, known := positions.Committed(p.String())
		pos, ok := positions.Replicas[p.String()][broker]
		if !known || !ok || !pos.Known() {
			refuse(observer.RuleUnknown, fmt.Sprintf("the lag of broker %d is not known", broker))
		} else if hw-pos.End > maxLag {
			refuse(SkipLag, fmt.Sprintf("broker %d lacks %d committed records, at most %d are allowed", broker, hw-pos.End, maxLag))
		}
	}
	return out
}

// Drill promotes the observer, has it lead a canary topic, and goes back. Between the steps it
// looks for what would abort it, and goes back at once then, also when ctx ends. No records are sent.
func (o *Operator) Drill(ctx context.Context, d Drill) (err error) {
	sync, err := o.BeforeDrill(ctx, d)
	if err != nil {
		return err
	}
	canary := append(slices.Clone(sync), d.Broker)
	if err := d.Canary(ctx, canary); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Remove(context.WithoutCancel(ctx))) }()
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	if _, err := o.Promote(ctx, PlanPromotion(v, d.Broker), d.Limit); err != nil {
		return errors.Join(fmt.Errorf("drill: %w", err), o.goBack(ctx, d))
	}
	if err := o.lead(ctx, d, append([]int32{d.Broker}, sync...)); err != nil {
		return errors.Join(fmt.Errorf("drill aborted: %w", err), o.lead(ctx, d, canary), o.goBack(ctx, d))
	}
	if err := o.lead(ctx, d, canary); err != nil {
		return errors.Join(fmt.Errorf("drill aborted: %w", err), o.goBack(ctx, d))
	}
	return o.goBack(ctx, d)
}

// BeforeDrill gives the brokers that share the canary with the observer, or an error with exit code 5
// that says why the drill is not to be begun: what would abort it, and what is known already to stand
// in the way of going back.
func (o *Operator) BeforeDrill(ctx context.Context, d Drill) ([]int32, error) {
	v, err := o.DemotionView(ctx, d.Broker)
	if err != nil {
		return nil, err
	}
	ids, refusals := v.InForce()
	if len(refusals) == 0 && !slices.Contains(ids, d.Broker) {
		refusals = append(refusals, observer.Refusal{Rule: observer.RuleUnknown, Reason: fmt.Sprintf("broker %d is no observer", d.Broker), Do: "name an observer"})
	}
	positions, err := o.Kafka.Positions(ctx, observed(v, ids), false)
	if err != nil {
		return nil, err
	}
	refusals = append(refusals, CheckDrill(v, d.Broker, &positions, d.MaxLag)...)
	var sync []int32
	for _, b := range v.Live {
		if !slices.Contains(ids, b) && len(sync) < 3 {
			sync = append(sync, b)
		}
	}
	if len(sync) < 2 {
		refusals = append(refusals, observer.Refusal{Rule: observer.RuleNobody, Reason: "fewer than two live brokers are no observers"})
	}
	return sync, exit.With(exit.Refused, observer.Refused(refusals))
}

// goBack demotes the broker again, if it is promoted; whoever interrupts a drill wants that too.
func (o *Operator) goBack(ctx context.Context, d Drill) error {
	ctx = context.WithoutCancel(ctx)
	v, err := o.View(ctx)
	if err == nil {
		if PlanDemotion(v, d.Broker, true).Nothing {
			return nil
		}
		_, err = o.Failback(ctx, d.Broker, d.Limit)
	}
	if err != nil {
		err = fmt.Errorf("%w; broker %d may be promoted still: observer-patch failback %d", err, d.Broker, d.Broker)
	}
	return err
}

// lead puts the canary's replicas into the order and waits until the first one leads it; then it
// looks for what aborts a drill.
func (o *Operator) lead(ctx context.Context, d Drill, order []int32) error {
	p := observer.Partition{Topic: DrillTopic, Replicas: order}
	if err := o.Kafka.Reorder(ctx, []observer.Partition{p}); err != nil {
		return err
	}
	if err := o.untilOrdered(ctx, []observer.Partition{p}, d.Limit); err != nil {
		return err
	}
	if _, err := o.Kafka.Elect(ctx, observer.Preferred, []observer.Partition{p}); err != nil {
		return err
	}
	if _, err := o.until(ctx, d.Limit, fmt.Sprintf("broker %d leads the canary", order[0]), func(v observer.View) []string {
		q, ok := find(v, DrillTopic, 0)
		if !ok || q.Leader != order[0] {
			return []string{fmt.Sprintf("%s: leader %d, ISR %v", q, q.Leader, q.ISR)}
		}
		return nil
	}); err != nil {
		return err
	}
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	return observer.Refused(CheckDrill(v, d.Broker, nil, 0))
}
