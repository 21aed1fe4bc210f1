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

// Result is what a change has come to.
type Result struct {
	Plan Plan `json:"plan"`
	// Distribution says which nodes have the list.
	Distribution observer.Distribution `json:"distribution"`
	// Took is from the first file to the verified end.
	Took time.Duration `json:"took_ns"`
	// Leaderless are partitions on the broker that still have no leader.
	Leaderless []string `json:"leaderless,omitempty"`
}

// Distributed tells whether the new list is in force, whatever did not follow it.
func (r Result) Distributed() bool {
	return len(r.Distribution.Written) > 0 && r.Distribution.Done()
}

// Refuse gives the plan's refusals as an error with exit code 5, nil when there is none.
func (p Plan) Refuse() error {
	return exit.With(exit.Refused, observer.Refused(p.Refusals))
}

// Promote does the plan and waits until the broker is in the ISR of every partition that has a
// leader. Partitions without one get a preferred election, which never loses anything. When it
// takes longer than limit, or the broker dies, the promotion stands, and the error says what is
// missing.
func (o *Operator) Promote(ctx context.Context, p Plan, limit time.Duration) (Result, error) {
	return o.promote(ctx, p, limit, func() error {
		if !slices.Contains(p.Before, p.Broker) {
			return nil
		}
		return o.disown(p.Broker) // an observer stands in for nobody
	})
}

// promote is Promote; first is done when nothing speaks against the plan, before the first file.
func (o *Operator) promote(ctx context.Context, p Plan, limit time.Duration, first func() error) (Result, error) {
	r := Result{Plan: p}
	v, err := o.begin(ctx, p)
	if err != nil {
		return r, err
	}
	if err := first(); err != nil {
		return r, err
	}
	if o.Fence != nil {
		if err := o.Fence(ctx); err != nil {
			return r, err
		}
	}
	began := o.Now()
	if r.Distribution, err = o.distribute(ctx, v, p.Change, p.Before, p.After); err != nil {
		return r, err
	}
	r.Took = o.Now().Sub(began)
	if err := o.electPreferred(ctx, p.Broker, v, limit); err != nil {
		return r, fmt.Errorf("broker %d is promoted: %w", p.Broker, err)
	}
	alive, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	dead := o.absent(p.Broker)
	v, err = o.until(alive, limit, fmt.Sprintf("broker %d is in every ISR", p.Broker), func(v observer.View) []string {
		if dead(v) {
			giveUp(fmt.Errorf("broker %d is not alive any more", p.Broker))
		}
		return missingFromISR(v, p.Broker, p.Await)
	})
	r.Took = o.Now().Sub(began)
	for _, q := range v.Partitions {
		if q.Leader == observer.NoLeader && slices.Contains(q.Replicas, p.Broker) {
			r.Leaderless = append(r.Leaderless, q.String())
		}
	}
	if err != nil {
		return r, fmt.Errorf("broker %d is promoted and has not joined yet; it joins when it has caught up: %w", p.Broker, err)
	}
	if len(r.Leaderless) > 0 {
		return r, fmt.Errorf("broker %d is promoted; %d partitions have no leader, the first is %s: observer-patch elect unclean --dry-run shows what that would lose", p.Broker, len(r.Leaderless), r.Leaderless[0])
	}
	return r, nil
}

// A promoted broker that so many looks, over such a time, do not show is given up.
const (
	absentLooks = 3
	absentFor   = 2 * time.Second
)

// absent tells, look after look, whether the broker has been missing for too long: some looks may be
// by a broker that does not know of it yet.
func (o *Operator) absent(broker int32) func(observer.View) bool {
	looks, since := 0, time.Time{}
	return func(v observer.View) bool {
		if v.IsLive(broker) {
			looks = 0
			return false
		}
		if looks++; looks == 1 {
			since = o.Now()
		}
		return looks >= absentLooks && o.Now().Sub(since) >= absentFor
	}
}

func missingFromISR(v observer.View, broker int32, await []string) []string {
	var out []string
	for _, q := range v.Partitions {
		if await != nil && !slices.Contains(await, q.String()) {
			continue
		}
		if q.Error != "" {
			out = append(out, q.String()+": "+q.Error)
		} else if q.Leader != observer.NoLeader && slices.Contains(q.Target(), broker) && !slices.Contains(q.ISR, broker) {
			out = append(out, fmt.Sprintf("%s: ISR %v", q, q.ISR))
		}
	}
	return out
}

// Demote does the plan: moves leaders, checks again, distributes, and waits until the broker is in
// no ISR any more. When that takes longer than limit the demotion stands, and the error says what
// is missing.
func (o *Operator) Demote(ctx context.Context, p Plan, limit time.Duration) (Result, error) {
	r := Result{Plan: p}
	if _, err := o.begin(ctx, p); err != nil {
		return r, err
	}
	began := o.Now()
	if len(p.Moves) > 0 {
		// What the plan may have been made without has to be asked before a leadership moves.
		all, err := o.DemotionView(ctx, p.Broker)
		if err != nil {
			return r, err
		}
		if err := PlanDemotion(all, p.Broker, true).Refuse(); err != nil {
			return r, err
		}
		if err := o.moveLeaders(ctx, p.Moves, p.Broker, limit); err != nil {
			return r, err
		}
	}
	// Time has passed: every hard check again, right before the first file is written.
	v, err := o.DemotionView(ctx, p.Broker)
	if err != nil {
		return r, err
	}
	now := PlanDemotion(v, p.Broker, false)
	if err := now.Refuse(); err != nil {
		return r, moved(p, err)
	}
	if !slices.Equal(now.Before, p.Before) {
		return r, moved(p, listChanged(p, now.Before))
	}
	if o.Fence != nil {
		if err := o.Fence(ctx); err != nil {
			return r, err
		}
	}
	if r.Distribution, err = o.distribute(ctx, v, p.Change, p.Before, p.After); err != nil {
		return r, err
	}
	r.Took = o.Now().Sub(began)
	if err := o.disown(p.Broker); err != nil {
		return r, fmt.Errorf("broker %d is demoted: %w", p.Broker, err)
	}
	_, err = o.until(ctx, limit, fmt.Sprintf("broker %d is in no ISR", p.Broker), func(v observer.View) []string {
		var out []string
		for _, q := range v.Partitions {
			switch {
			case q.Error != "":
				out = append(out, q.String()+": "+q.Error)
			case slices.Contains(q.Observers(p.After), p.Broker) && slices.Contains(q.ISR, p.Broker):
				out = append(out, fmt.Sprintf("%s: leader %d, ISR %v", q, q.Leader, q.ISR))
			}
		}
		return out
	})
	r.Took = o.Now().Sub(began)
	if err != nil {
		return r, fmt.Errorf("broker %d is demoted and has not left every ISR yet: %w", p.Broker, err)
	}
	return r, nil
}

// begin refuses what the plan refuses, what is not the plan any more, and a cluster with a
// distribution that was cut off.
func (o *Operator) begin(ctx context.Context, p Plan) (observer.View, error) {
	if err := p.Refuse(); err != nil {
		return observer.View{}, err
	}
	pending, err := o.Store.Pending()
	if err != nil {
		return observer.View{}, err
	}
	if pending != nil && !pending.Complete {
		return observer.View{}, exit.With(exit.Refused, fmt.Errorf("an earlier distribution is not finished: %s; run observer-patch pending --finish first", pending))
	}
	v, err := o.View(ctx)
	if err != nil {
		return v, err
	}
	if v.ClusterID != p.ClusterID {
		return v, exit.With(exit.Refused, fmt.Errorf("the plan was made for cluster %s, this is %s", p.ClusterID, v.ClusterID))
	}
	ids, refusals := v.Listed()
	if len(refusals) > 0 {
		return v, exit.With(exit.Refused, observer.Refused(refusals))
	}
	if ids = observer.With(ids); !slices.Equal(ids, p.Before) {
		return v, listChanged(p, ids)
	}
	return v, nil
}

// moved says, beside an error, what a demotion that stops before its first file has changed already.
func moved(p Plan, err error) error {
	if len(p.Moves) == 0 {
		return err
	}
	return fmt.Errorf("%w; the list is as it was, but broker %d leads %d partitions less and stands last in their assignments, the first is %s", err, p.Broker, len(p.Moves), p.Moves[0])
}

// listChanged refuses a plan that was made from another list: done now, it would take back what
// somebody else has changed since.
func listChanged(p Plan, now []int32) error {
	return exit.With(exit.Refused, fmt.Errorf("the plan was made when the list was %v, it is %v now; run the command again", p.Before, now))
}

// moveLeaders puts the partitions' replicas into their new order, asks for preferred elections and
// waits until the broker leads none of them.
func (o *Operator) moveLeaders(ctx context.Context, moves []observer.Partition, broker int32, limit time.Duration) error {
	if err := o.Kafka.Reorder(ctx, moves); err != nil {
		return fmt.Errorf("put broker %d last in its assignments: %w", broker, err)
	}
	if err := o.untilOrdered(ctx, moves, limit); err != nil {
		return err
	}
	answers, err := o.Kafka.Elect(ctx, observer.Preferred, moves)
	if err != nil {
		return fmt.Errorf("preferred election: %w", err)
	}
	var errs []error
	moved := map[string]bool{}
	for _, m := range moves {
		moved[m.String()] = true
		if err := answers[m.String()]; err != nil {
			errs = append(errs, fmt.Errorf("preferred election of %s: %w", m, err))
		}
	}
	_, err = o.until(ctx, limit, fmt.Sprintf("broker %d leads nothing", broker), func(v observer.View) []string {
		var out []string
		for _, q := range v.Partitions {
			if q.Leader == broker && moved[q.String()] {
				out = append(out, q.String())
			}
		}
		return out
	})
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	return nil
}

// electPreferred asks for a preferred election of the partitions on the broker that have no
// leader, and waits until the controller has read the new list: an election that finds nobody is
// asked for again for a while. Who is leaderless after that needs more than this.
func (o *Operator) electPreferred(ctx context.Context, broker int32, v observer.View, limit time.Duration) error {
	var none []observer.Partition
	for _, q := range v.Partitions {
		if q.Leader == observer.NoLeader && q.Error == "" && slices.Contains(q.Target(), broker) {
			none = append(none, q)
		}
	}
	if len(none) == 0 {
		return nil
	}
	// A node takes a shorter list over with the second look that agrees.
	deadline := o.Now().Add(min(limit, readLimit))
	tick := time.NewTicker(o.Poll)
	defer tick.Stop()
	for {
		answers, err := o.Kafka.Elect(ctx, observer.Preferred, none)
		if err != nil {
			return fmt.Errorf("preferred election: %w", err)
		}
		none = slices.DeleteFunc(none, func(q observer.Partition) bool { return answers[q.String()] == nil })
		if len(none) == 0 || !o.Now().Before(deadline) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// readLimit is how long nodes may take to read a new list: two looks at the slowest refresh that
// KAFKA_OBSERVER_REFRESH_MS allows would be 10 s, at the default one second.
const readLimit = 3 * time.Second
