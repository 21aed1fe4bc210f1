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
	promoted, err := o.promote(ctx, *p.Promotion, r.Limit, func() error { return o.Store.save(restartFile, n) })
	if err != nil && !promoted.Distributed() {
		pending, unread := o.Store.Pending()
		if unread == nil && (pending == nil || pending.Complete) {
			return errors.Join(err, o.Store.drop(restartFile)) // nothing was promoted, or it was taken back
		}
		return errors.Join(err, unread, fmt.Errorf("the promotion of broker %d was neither finished nor taken back: when all nodes can be written: %s", n.StandIn, FinishRestart))
	}
	if err == nil {
		err = o.restart(ctx, n, r)
	}
	return o.standsIn(n, err)
}

// restart has the broker restarted and goes back, when its restart would stop no writes now.
func (o *Operator) restart(ctx context.Context, n Restarting, r Restart) error {
	now, err := o.PlanRestart(ctx, n.Broker, NoStandIn, r.Accept)
	if err != nil {
		return err
	}
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

// standsIn says, beside an error, that the stand-in stays promoted and how to go back, unless it is
// an observer again.
func (o *Operator) standsIn(n Restarting, err error) error {
	if err == nil {
		return nil
	}
	if left, unread := o.Store.Restarting(); unread == nil && left == nil {
		return err
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
	_, err = o.Failback(ctx, n.StandIn, limit)
	return err
}

// disown ends the restart for which the broker stands in, if there is one: the broker is an
// observer, and who promotes it after that does so for another reason.
func (o *Operator) disown(broker int32) error {
	n, err := o.Store.Restarting()
	if err != nil || n == nil || n.StandIn != broker {
		return err
	}
	return o.Store.drop(restartFile)
}

// FinishRestart goes back after a restart that was cut off, and is refused when that is not the one
// that is stored. A distribution that was cut off is finished first.
func (o *Operator) FinishRestart(ctx context.Context, n Restarting, limit time.Duration) error {
	now, err := o.Store.Restarting()
	if err != nil {
		return err
	}
	if now == nil || now.Broker != n.Broker || now.StandIn != n.StandIn || !now.Since.Equal(n.Since) {
		return exit.With(exit.Refused, fmt.Errorf("the restart of broker %d is not under way any more, somebody has changed that since: look again with %s", n.Broker, FinishRestart))
	}
	if _, err := o.Finish(ctx); err != nil && !errors.Is(err, ErrOvertaken) && !errors.Is(err, ErrTakenBack) {
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
	return o.standsIn(n, o.afterRestart(ctx, n, limit))
}
