package promoter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

const autoFile = "auto.json"

// Fence says whether this instance may make such a change now; GroupLock is one.
type Fence interface {
	Check(ctx context.Context, change observer.Change) error
}

// Auto is automatic promotion: it scans, decides by Rules and acts as an operator would. What it
// knows survives a kill at any moment.
type Auto struct {
	Operator *Operator
	Rules    Rules
	Lock     Fence
	Audit    *Audit
	Metrics  *Metrics
	// Every is the pause between scans, Limit how long one action may take.
	Every, Limit time.Duration
	// DryRun decides and says so, and changes nothing.
	DryRun bool

	cluster string
	said    map[string]time.Time
	// dry is the state of a dry run, which writes nothing that a real run would read.
	dry *State
}

// sayAgain is how long a reason to skip that lasts is not written again.
const sayAgain = 5 * time.Minute

// Run scans until ctx ends, or until the audit log or the state cannot be written: without them
// nothing may be done.
func (a *Auto) Run(ctx context.Context) error {
	a.said = map[string]time.Time{}
	if err := a.audit(AuditLine{Event: AuditStart, Broker: -1, Reason: fmt.Sprintf("policy %s, scan every %v, dry run %v, enabled %v", a.Rules.Policy, a.Every, a.DryRun, a.Rules.Enabled)}); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return a.audit(AuditLine{Event: AuditStop, Broker: -1})
		case <-timer.C:
		}
		next, err := a.Scan(ctx)
		if err != nil {
			return err
		}
		timer.Reset(next)
	}
}

// Scan looks once, decides and does at most one thing. It gives the pause until the next scan. Its
// error ends automatic promotion; what goes wrong with the cluster is no error but a reason to do
// nothing.
func (a *Auto) Scan(ctx context.Context) (time.Duration, error) {
	if a.said == nil {
		a.said = map[string]time.Time{}
	}
	state, err := a.load()
	if err != nil {
		return 0, err
	}
	scan, finished, err := a.look(ctx)
	if finished {
		// What was written just now is this scan's one action.
		return a.Every, err
	}
	if err != nil {
		a.Metrics.scanned(a.Operator.Now(), false)
		if len(state.Checked) > 0 {
			// What was not seen between two checks may have been anything.
			clear(state.Checked)
			if err := a.store(state); err != nil {
				return 0, err
			}
		}
		return a.Every, a.skip(Skip{Broker: -1, Rule: observer.RuleUnknown, Reason: err.Error()})
	}
	a.Metrics.scanned(scan.At, true)
	next, action, skips := a.Rules.Step(state, scan)
	for _, s := range skips {
		if err := a.skip(s); err != nil {
			return 0, err
		}
	}
	a.Metrics.state(scan, next)
	if action != nil && action.Change == observer.Demote {
		if s := a.refused(ctx, action.Broker); s != nil {
			delete(next.Checked, action.Broker) // another broker's demotion has its turn
			return a.Rules.Next(next, a.Every), errors.Join(a.store(next), a.skip(*s))
		}
	}
	switch {
	case a.DryRun:
		if action != nil {
			if err := a.skipOnce(a.line(AuditDryRun, *action, nil), string(action.Change)+fmt.Sprint(action.Broker)); err != nil {
				return 0, err
			}
		}
		return a.Rules.Next(next, a.Every), a.store(next)
	case action == nil:
		return a.Rules.Next(next, a.Every), a.store(next)
	}
	return a.act(ctx, next, *action)
}

// refused tells why a demotion would be refused for what a scan does not see, topics that the cluster hides
// from this client: found out right before the first file only, it would be begun and fail with every scan.
func (a *Auto) refused(ctx context.Context, broker int32) *Skip {
	v, err := a.Operator.DemotionView(ctx, broker)
	if err != nil {
		return &Skip{Broker: broker, Rule: observer.RuleUnknown, Reason: err.Error()}
	}
	refusals := PlanDemotion(v, broker, true).Refusals
	if len(refusals) == 0 {
		return nil
	}
	return &Skip{Broker: broker, Rule: refusals[0].Rule, Reason: refusals[0].String()}
}

// look takes a scan: the lock, what is pending, the cluster, the files and the positions of
// observers, which it records too. Finished says that something pending was dealt with instead; its
// error is then one that ends automatic promotion.
func (a *Auto) look(ctx context.Context) (scan Scan, finished bool, err error) {
	o := a.Operator
	scan.At = o.Now()
	if err := a.Lock.Check(ctx, observer.Promote); err == nil {
		scan.Locked = true
	} else if !errors.Is(err, ErrNotHeld) {
		o.Log.Warn("lock on the cluster", "error", err)
	}
	if scan.Locked && !a.DryRun && a.Rules.Enabled {
		if finished, err := a.finish(ctx); finished || err != nil {
			return scan, finished, err
		}
	}
	if scan.Pending, err = o.Store.Pending(); err != nil {
		return scan, false, err
	}
	if scan.View, err = o.View(ctx); err != nil {
		return scan, false, err
	}
	a.cluster = scan.View.ClusterID
	ids, refusals := scan.View.InForce()
	if len(refusals) > 0 {
		return scan, false, nil
	}
	if scan.Positions, err = o.Kafka.Positions(ctx, observed(scan.View, ids), false); err != nil {
		return scan, false, err
	}
	if err := o.Store.Record(scan.View, ids, scan.Positions, scan.View.At); err != nil {
		return scan, false, err
	}
	recordings, err := o.Store.Recordings()
	if err != nil {
		return scan, false, err
	}
	scan.Lags = lags(recordings, scan.Positions, scan.View.At)
	return scan, false, nil
}

// act does an action: it is stored and written down first, and the lock is asked for again right
// before the first file.
func (a *Auto) act(ctx context.Context, s State, action Action) (time.Duration, error) {
	o := a.Operator
	release, err := o.Store.Lock(ChangeLock)
	if err != nil {
		return a.Every, errors.Join(a.store(s), a.skip(Skip{Broker: action.Broker, Rule: SkipPerson, Reason: err.Error()}))
	}
	defer release()
	if err := a.store(s.Began(action)); err != nil {
		return 0, err
	}
	if err := a.audit(a.line(AuditBegin, action, nil)); err != nil {
		return 0, err
	}
	if err := a.Lock.Check(ctx, action.Change); err != nil {
		return a.Every, errors.Join(a.store(s), a.skip(Skip{Broker: action.Broker, Rule: SkipNoLock, Reason: err.Error()}))
	}
	err = a.do(ctx, action, func() error {
		action.Writing = true
		return a.store(s.Began(action))
	})
	// How it ended is what the files say now; when they cannot be read, the next scan finds out.
	v, verr := o.View(context.WithoutCancel(ctx))
	ids, refusals := v.InForce()
	if verr == nil && len(refusals) == 0 {
		s = s.Began(action).settled(observer.With(ids))
	} else {
		s = s.Began(action)
	}
	line := a.line(AuditPromote, action, err)
	if action.Change == observer.Demote {
		line.Event = AuditDemote
	}
	if err != nil {
		line.Event = AuditFailed
	}
	line.Seconds = o.Now().Sub(action.Since).Seconds()
	a.Metrics.acted(action.Change, err == nil)
	return a.Every, errors.Join(a.audit(line), a.store(s))
}

// do does an action; writing is called right before the first file. What a person has done already
// is not done: it would be taken for an action of its own, and taken back as one.
func (a *Auto) do(ctx context.Context, action Action, writing func() error) error {
	v, err := a.Operator.View(ctx)
	if err != nil {
		return err
	}
	if _, refusals := v.InForce(); len(refusals) > 0 {
		return exit.With(exit.Refused, observer.Refused(refusals)) // the plans take a missing file for an empty one
	}
	o := *a.Operator
	o.Fence = func(ctx context.Context) error {
		// Leaders are moved first, which takes longer than the lock may be silent.
		if action.Change == observer.Demote {
			if err := a.Lock.Check(ctx, observer.Demote); err != nil {
				return err
			}
		}
		return writing()
	}
	p := PlanPromotion(v, action.Broker)
	if action.Change == observer.Demote {
		p = PlanDemotion(v, action.Broker, true)
	}
	p.Await = action.Partitions
	switch {
	case p.Nothing:
		return fmt.Errorf("%s of broker %d: %w", action.Change, action.Broker, ErrOvertaken)
	case action.Change == observer.Promote:
		_, err = o.Promote(ctx, p, a.Limit)
	default:
		_, err = o.Demote(ctx, p, a.Limit)
	}
	return err
}

func (a *Auto) line(event string, action Action, err error) AuditLine {
	l := AuditLine{Event: event, Broker: action.Broker, Rule: string(action.Change), Reason: action.Reason, Partitions: action.Partitions, Topics: action.Topics, Since: action.Since}
	if err != nil {
		l.Error = err.Error()
	}
	return l
}

func (a *Auto) audit(l AuditLine) error {
	l.Time, l.Cluster, l.Who = a.Operator.Now(), a.cluster, a.Operator.Who
	a.Operator.Log.Info(l.Event, "broker", l.Broker, "rule", l.Rule, "reason", l.Reason, "error", l.Error)
	return a.Audit.Write(l)
}

// skip writes why something is not done, once and then again after a while.
func (a *Auto) skip(s Skip) error {
	a.Metrics.skipped(s.Rule)
	return a.skipOnce(AuditLine{Event: AuditSkip, Broker: s.Broker, Rule: s.Rule, Reason: s.Reason}, fmt.Sprint(s.Broker, s.Rule))
}

func (a *Auto) skipOnce(l AuditLine, what string) error {
	now := a.Operator.Now()
	if at, ok := a.said[what]; ok && now.Sub(at) < sayAgain {
		return nil
	}
	a.said[what] = now
	return a.audit(l)
}

func (a *Auto) load() (State, error) {
	if a.dry != nil {
		return a.dry.clone(), nil
	}
	var s State
	_, err := a.Operator.Store.load(autoFile, &s)
	return s.clone(), err
}

func (a *Auto) store(s State) error {
	if a.DryRun {
		a.dry = &s
		return nil
	}
	return a.Operator.Store.save(autoFile, s)
}

// NoFence lets everybody act; it is for dry runs, which do not.
type NoFence struct{}

// Check gives no error.
func (NoFence) Check(context.Context, observer.Change) error { return nil }
