package promoter

import (
	"context"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// Record takes one look and adds it to the recordings: what the command record and every scan of
// automatic promotion do, so that an unclean election can say afterwards what it loses. The lists
// in force have to be certain: whose positions are worth recording depends on them.
func (o *Operator) Record(ctx context.Context) error {
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	ids, refusals := v.InForce()
	if len(refusals) > 0 {
		return exit.With(exit.Refused, observer.Refused(refusals))
	}
	p, err := o.Kafka.Positions(ctx, observed(v, ids), false)
	if err != nil {
		return err
	}
	return o.Store.Record(v, ids, p, v.At)
}

// observed gives the partitions that have an observer.
func observed(v observer.View, ids []int32) []observer.Partition {
	var out []observer.Partition
	for _, p := range v.Partitions {
		if p.Error == "" && len(p.Observers(ids)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// lags gives for how long each observer lacks what was committed, as far as the recordings tell.
func lags(recordings map[string]observer.Recording, p Positions, at time.Time) map[string]map[int32]time.Duration {
	out := map[string]map[int32]time.Duration{}
	for name, replicas := range p.Replicas {
		r, ok := recordings[name]
		if !ok {
			continue
		}
		out[name] = map[int32]time.Duration{}
		for broker, pos := range replicas {
			if b := r.Bound(pos.End, at); pos.Known() && b.SecondsKnown {
				out[name][broker] = time.Duration(b.Seconds * float64(time.Second))
				if b.Records == 0 {
					out[name][broker] = 0
				}
			}
		}
	}
	return out
}
