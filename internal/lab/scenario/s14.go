package scenario

import (
	"context"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
)

// cutFor is how long the observer's zone is away; slowFor how long its link is slow.
const (
	cutFor  = 30 * time.Second
	slowFor = 8 * time.Second
)

// s14 cuts the observer's zone off, and makes its link slow.
func s14() Scenario {
	return Scenario{
		ID: "S14", Title: "cut the observer's zone for half a minute; make its link slow",
		Expect: "leaders and the ISR stay, producers do not notice, the observer catches up when the link is back",
		Layout: func(Plan) Layout { return Layout{Linked: Observer} },
		Run: func(ctx context.Context, l *Lab) error {
			load, err := l.Load(ctx)
			if err != nil {
				return err
			}
			faults := []fault.Fault{fault.Cut{Node: Observer}, fault.Slow{Node: Observer, Bits: 200000}}
			if l.Cluster.Spec.Linked == 0 {
				// Seen from the others a frozen broker is cut off too; what is lost is the slow link.
				faults = []fault.Fault{fault.Pause{Node: Observer}}
			}
			for i, f := range faults {
				if err := l.Stays(ctx, span*time.Millisecond); err != nil {
					return err
				}
				if err := l.Inject(ctx, f); err != nil {
					return err
				}
				if err := l.Stays(ctx, []time.Duration{cutFor, slowFor}[i]); err != nil {
					return err
				}
				if err := l.Heal(ctx, f); err != nil {
					return err
				}
				if err := l.UntilEach(ctx, 60*time.Second, "the observer has caught up", func(p history.Partition) bool {
					return p.HW >= 0 && p.LEO[Observer] >= p.HW
				}); err != nil {
					return err
				}
			}
			load.Stop()
			return nil
		},
		Judge: judgeS14,
	}
}

func judgeS14(h history.History, p Plan, o *Outcome) {
	injected, healed := h.Faults("", history.Inject), h.Faults("", history.Heal)
	o.require(check.That("the zone was cut", len(injected) > 0 && len(healed) == len(injected), "%d faults, %d healed", len(injected), len(healed)))
	for i, f := range injected {
		if i >= len(healed) {
			return
		}
		name, end := f.Fault.Name, healed[i].Fault.Began
		was, is := latencies(acked(h, -1, f.Fault.Began-span, f.Fault.Began)), latencies(acked(h, -1, f.At, end))
		o.require(check.That("the producer was at work around: "+name, len(was) > 300 && len(is) > 300, "%d records before, %d during", len(was), len(is)))
		from := "record handed to the client"
		o.measure(Measure{Name: "p99 before: " + name, MS: quantile(was, 0.99), From: from, To: "acknowledgement"}, len(was) > 0)
		o.measure(Measure{Name: "p99 during: " + name, MS: quantile(is, 0.99), From: from, To: "acknowledgement",
			Max: max(2*quantile(was, 0.99), quantile(was, 0.99)+250)}, len(is) > 0)
		old := before(h, p.Topic, f.Fault.Began)
		changed, n, lag := 0, 0, int64(0)
		for _, s := range h.Samples(p.Topic) {
			if s.From < f.At || s.At > end {
				continue
			}
			n++
			if s.Leader != old[s.ID].Leader || !slices.Equal(sorted(s.ISR), sorted(old[s.ID].ISR)) {
				changed++
			}
			if leo, ok := s.LEO[Observer]; ok {
				lag = max(lag, s.HW-leo)
			} else {
				lag = max(lag, s.HW-old[s.ID].LEO[Observer])
			}
		}
		o.find(check.That("ISR and leaders stay: "+name, n > 0 && changed == 0, "%d of %d samples differ", changed, n))
		o.require(check.That("the observer fell behind: "+name, lag > 20, "by up to %d records of a partition, as samples show", lag))
		at, ok := h.AllParts(p.Topic, healed[i].At, func(s history.Sample) bool { return s.HW >= 0 && s.LEO[Observer] >= s.HW })
		o.measure(Measure{Name: "catch-up after: " + name, MS: at - healed[i].At, From: "end of the fault", To: "the observer has everything up to the high watermark"}, ok)
	}
}
