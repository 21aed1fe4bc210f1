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

const restartFile = "restart.json"

// NoStandIn is the stand-in of a restart that has none.
const NoStandIn int32 = -1

// RestartPlan is what the restart of a broker needs, made from one view.
type RestartPlan struct {
	ClusterID string `json:"cluster_id"`
	Broker    int32  `json:"broker"`
	// Stops are the partitions that take writes with acks=all now and would not without the broker.
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
		if !enough(q, observer.Without(q.SyncISR(ids), broker)) {
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
		reason := fmt.Sprintf("without broker %d its ISR would be %v, min.insync.replicas is %d", broker, observer.Without(q.SyncISR(ids), broker), q.EffectiveMinISR())
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
		if b != p.Broker && v.IsLive(b) && len(unhelped(p.Broker, b, ids, stops)) == 0 {
			will = append(will, b)
		}
	}
	switch {
	case wanted != NoStandIn:
		p.StandIn = wanted
		return unhelped(p.Broker, wanted, ids, stops)
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
func unhelped(broker, standIn int32, ids []int32, stops []observer.Partition) []observer.Partition {
	after := observer.Without(ids, standIn)
	return slices.DeleteFunc(slices.Clone(stops), func(q observer.Partition) bool {
		sync := q.SyncISR(after)
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

// Restarting is a restart with a stand-in that is under way. It is stored before the stand-in is
// promoted, so that a run that was killed leaves no promotion that nobody knows of.
type Restarting struct {
	Broker  int32     `json:"broker"`
	StandIn int32     `json:"stand_in"`
	Led     []string  `json:"led"`
	Since   time.Time `json:"since"`
	Who     string    `json:"who"`
}

// String says what is under way, for people.
func (r Restarting) String() string {
	return fmt.Sprintf("observer %d stands in for the restart of broker %d since %s by %s: when broker %d is back, %s", r.StandIn, r.Broker, r.Since.UTC().Format(time.RFC3339), r.Who, r.Broker, FinishRestart)
}

// FinishRestart is the command that goes back after a restart that was cut off or has failed.
const FinishRestart = "observer-patch restart --finish"

// Restarting gives the restart that is under way, nil when none is.
func (s *Store) Restarting() (*Restarting, error) {
	var r Restarting
	ok, err := s.load(restartFile, &r)
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}

// Restart is how a broker is restarted.
type Restart struct {
	Limit time.Duration
	// Up tells whether the broker takes part now. An error says that this is not known.
	Up func(ctx context.Context, broker int32) (bool, error)
	// Do restarts it; nil where somebody else does.
	Do func(ctx context.Context) error
	// Say tells a person what to do or what goes on.
	Say func(text string)
	// Accept is PlanRestart's.
	Accept bool
}

// Restart does the plan: promotes the stand-in and waits until it is in every ISR that needs it,
// has the broker restarted, waits until it was gone, is back and in every ISR, moves its
// leaderships home and demotes the stand-in. Whatever fails after the promotion leaves the
// stand-in promoted, which loses nothing, and FinishRestart to do.
func (o *Operator) Restart(ctx context.Context, p RestartPlan, r Restart) error {
	if err := p.Refuse(); err != nil {
		return err
	}
	if err := o.nothingUnderWay(); err != nil {
		return err
	}
	n := Restarting{Broker: p.Broker, StandIn: p.StandIn, Led: p.Led, Since: o.Now(), Who: o.Who}
	if n.StandIn == NoStandIn {
		return o.restart(ctx, n, r)
	}
	if err := o.Store.save(restartFile, n); err != nil {
		return err
	}
	promoted, err := o.Promote(ctx, *p.Promotion, r.Limit)
	if err != nil && (len(promoted.Distribution.Written) == 0 || !promoted.Distribution.Done()) {
		return errors.Join(err, o.Store.drop(restartFile)) // nothing was promoted, or it was taken back
	}
	if err == nil {
		err = o.restart(ctx, n, r)
	}
	return standsIn(n, err)
}

// restart has the broker restarted and goes back, when its restart would stop no writes now.
func (o *Operator) restart(ctx context.Context, n Restarting, r Restart) error {
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	now := PlanRestart(v, n.Broker, NoStandIn, r.Accept)
	if err := now.Refuse(); err != nil {
		return exit.With(exit.Refused, fmt.Errorf("right before the restart: %w", err))
	}
	if now.StandIn != NoStandIn {
		return exit.With(exit.Refused, fmt.Errorf("right before the restart: %d partitions would take no writes without broker %d, the first is %s", len(now.Stops), n.Broker, now.Stops[0]))
	}
	if err := o.awaitRestart(ctx, n.Broker, r); err != nil {
		return err
	}
	return o.afterRestart(ctx, n, r.Limit)
}

// standsIn says, beside an error, that the stand-in stays promoted and how to go back.
func standsIn(n Restarting, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; broker %d stays promoted, nothing is lost by that. When broker %d is back: %s; to demote broker %d alone: observer-patch failback %d", err, n.StandIn, n.Broker, FinishRestart, n.StandIn, n.StandIn)
}

// nothingUnderWay refuses while an earlier restart has not gone back.
func (o *Operator) nothingUnderWay() error {
	n, err := o.Store.Restarting()
	if err == nil && n != nil {
		err = exit.With(exit.Refused, fmt.Errorf("an earlier restart is not finished: %s", n))
	}
	return err
}

// awaitRestart has the broker restarted, and waits until it was seen to be gone and to be back.
func (o *Operator) awaitRestart(ctx context.Context, broker int32, r Restart) error {
	ctx, cancel := context.WithCancel(ctx)
	var ended chan error
	if r.Do == nil {
		r.Say(fmt.Sprintf("restart broker %d now", broker))
	} else {
		ended = make(chan error, 1)
		go func() { ended <- r.Do(ctx) }()
	}
	doing := r.Do != nil
	defer func() {
		cancel()
		if doing {
			<-ended // a program of ours does not outlast us
		}
	}()
	deadline := o.Now().Add(r.Limit)
	tick := time.NewTicker(o.Poll)
	defer tick.Stop()
	gone := false
	for {
		up, err := r.Up(ctx, broker)
		switch {
		case err != nil:
			o.Log.Debug("whether the broker takes part is not known", "broker", broker, "error", err)
		case !up && !gone:
			gone = true
			r.Say(fmt.Sprintf("broker %d is gone", broker))
		case up && gone && !doing:
			r.Say(fmt.Sprintf("broker %d is back", broker))
			return nil
		}
		if !o.Now().Before(deadline) {
			switch {
			case !gone:
				return fmt.Errorf("waited %v and broker %d was not seen to go away", r.Limit, broker)
			case doing:
				return fmt.Errorf("waited %v and the program that restarts broker %d has not ended", r.Limit, broker)
			}
			return fmt.Errorf("waited %v and broker %d is not back", r.Limit, broker)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			doing = false
			if err != nil {
				return fmt.Errorf("restart broker %d: %w", broker, err)
			}
		case <-tick.C:
		}
	}
}

// afterRestart is the way back: the broker in every ISR, its leaderships home, the stand-in an
// observer again.
func (o *Operator) afterRestart(ctx context.Context, n Restarting, limit time.Duration) error {
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	ids, _ := v.InForce() // whoever is no observer joins; a list that is not certain delays only
	v, err = o.until(ctx, limit, fmt.Sprintf("broker %d is in every ISR", n.Broker), func(v observer.View) []string {
		switch {
		case !v.IsLive(n.Broker):
			return []string{fmt.Sprintf("broker %d is not alive", n.Broker)}
		case slices.Contains(ids, n.Broker):
			return nil
		}
		return missingFromISR(v, n.Broker, nil)
	})
	if err != nil {
		return err
	}
	var home []observer.Partition
	for _, q := range v.Partitions {
		if slices.Contains(n.Led, q.String()) && q.Leader != n.Broker && len(q.Replicas) > 0 && q.Replicas[0] == n.Broker {
			home = append(home, q)
		}
	}
	if len(home) > 0 {
		if _, err := o.ElectPreferred(ctx, home, limit); err != nil {
			return err
		}
	}
	if n.StandIn == NoStandIn {
		return nil
	}
	if _, err := o.Failback(ctx, n.StandIn, limit); err != nil {
		return err
	}
	return o.Store.drop(restartFile)
}

// FinishRestart goes back after a restart that was cut off: none is no error. A distribution that
// was cut off is finished first.
func (o *Operator) FinishRestart(ctx context.Context, n Restarting, limit time.Duration) error {
	if _, err := o.Finish(ctx); err != nil && !errors.Is(err, ErrOvertaken) {
		return err
	}
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	ids, refusals := v.InForce()
	if len(refusals) > 0 {
		return exit.With(exit.Refused, observer.Refused(refusals))
	}
	if slices.Contains(ids, n.StandIn) {
		return o.Store.drop(restartFile) // it was not promoted yet, or somebody has demoted it
	}
	return standsIn(n, o.afterRestart(ctx, n, limit))
}
