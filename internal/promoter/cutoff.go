package promoter

import (
	"context"
	"errors"

	"observer-patch/internal/observer"
)

// finish writes what is pending on nodes that have come back, and deals with what a kill has cut
// off. It tells whether anything came of it; the error is then one that ends automatic promotion.
func (a *Auto) finish(ctx context.Context) (bool, error) {
	before, err := a.Operator.Store.Pending()
	if err != nil || before == nil {
		return false, err
	}
	if err := a.Lock.Check(ctx, before.Change); err != nil {
		a.Operator.Log.Warn("pending list", "error", err)
		return false, nil
	}
	release, err := a.Operator.Store.Lock(ChangeLock)
	if err != nil {
		return false, nil // a person is at it
	}
	defer release()
	left, err := a.Operator.Finish(ctx)
	if failed := a.settle(ctx, errors.Is(err, ErrOvertaken)); failed != nil {
		return true, failed
	}
	switch {
	case errors.Is(err, ErrOvertaken):
		return true, a.audit(AuditLine{Event: AuditOvertaken, Broker: -1, Reason: before.String(), Error: err.Error()})
	case err != nil:
		a.Operator.Log.Warn("pending list", "error", err)
	}
	if left == nil || len(left.Nodes) < len(before.Nodes) || left.Complete != before.Complete {
		line := AuditLine{Event: AuditFinished, Broker: -1, Reason: before.String()}
		if errors.Is(err, ErrTakenBack) {
			line.Error = err.Error()
		}
		return true, a.audit(line)
	}
	return false, nil
}

// settle keeps how an action ended that a kill had cut off, as soon as that is known: what a person
// changes afterwards must not be taken for it. Where a person was first, the broker is the person's.
func (a *Auto) settle(ctx context.Context, overtaken bool) error {
	s, err := a.load()
	if err != nil || s.Doing == nil {
		return err
	}
	if pending, err := a.Operator.Store.Pending(); err != nil || pending != nil && !pending.Complete {
		return err
	}
	v, err := a.Operator.View(ctx)
	ids, refusals := v.InForce()
	if err != nil || len(refusals) > 0 {
		return nil // the next scan finds out
	}
	if b := s.Doing.Broker; overtaken {
		s = s.Ended(*s.Doing, false)
		s.Held[b], s.List, s.Seen = a.Operator.Now().Add(a.Rules.Hold), observer.With(ids), true
		delete(s.Promoted, b)
	}
	return a.store(s.settled(observer.With(ids)))
}
