package scenario

import (
	"context"
	"fmt"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
)

const liftMark = "throttle"

// behind is the lag over all partitions that S5 promotes with, in records.
const behind = 30000

// s5 promotes an observer that is far behind, under load.
func s5() Scenario {
	return Scenario{
		ID: "S5", Title: "promote an observer 30,000 records behind",
		Expect: "it joins only after it has caught up; the high watermark never goes back", MinAcked: behind,
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			if err := l.throttle(ctx, 5000); err != nil {
				return err
			}
			// A fifth more than wanted: the first fetches pass before the throttle bites.
			bulk, err := l.Produce(ctx, "bulk", 0, behind*12/10/int64(len(l.Plan.Assignment)))
			if err != nil {
				return err
			}
			bulk.Wait()
			if err := l.Until(ctx, 30*time.Second, fmt.Sprintf("the observer is %d records behind", behind), func(v history.View) error {
				if lag := lagOf(v.Partitions, Observer); lag < behind {
					return fmt.Errorf("it is %d behind", lag)
				}
				return nil
			}); err != nil {
				return err
			}
			if err := l.Promote(); err != nil {
				return err
			}
			if err := l.Stays(ctx, 4*time.Second); err != nil {
				return err
			}
			if err := l.throttle(ctx, 0); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 60*time.Second); err != nil {
				return err
			}
			if err := l.Demote(Observer); err != nil {
				return err
			}
			return l.UntilWhole(ctx, 30*time.Second, Observer)
		},
		Judge: judgeS5,
	}
}

// lagOf is what the broker lacks of what is committed, over all partitions; unknown counts as none.
func lagOf(parts []history.Partition, broker int32) int64 {
	lag := int64(0)
	for _, p := range parts {
		if end, ok := p.LEO[broker]; ok && p.HW > end {
			lag += p.HW - end
		}
	}
	return lag
}

func judgeS5(h history.History, p Plan, o *Outcome) {
	edits := changes(h)
	lifted := h.Marks(liftMark)
	if len(edits) == 0 || len(lifted) < 2 {
		o.require(check.That("the promotion took place", false, "%d edits", len(edits)))
		return
	}
	var parts []history.Partition
	for _, s := range before(h, p.Topic, edits[0].began) {
		parts = append(parts, s.Partition)
	}
	lag := lagOf(parts, Observer)
	o.require(check.That("the observer was that far behind when it was promoted", lag >= behind, "%d records behind the high watermarks", lag))
	early, n, waited := 0, 0, 0
	for _, s := range h.Samples(p.Topic) {
		end, known := s.LEO[Observer]
		if s.HW < 0 || !known {
			continue
		}
		n++
		if s.InISR(Observer) && end < s.HW {
			early++
		}
		if s.From >= edits[0].at && !s.InISR(Observer) && end < s.HW {
			waited++
		}
	}
	o.find(check.That("it is in the ISR only with everything up to the high watermark", early == 0, "%d of %d samples show it behind in the ISR", early, n))
	o.require(check.That("it was seen promoted and still behind", waited > 0, "%d samples", waited))
	at, ok := h.AllParts(p.Topic, edits[0].at, func(s history.Sample) bool { return s.InISR(Observer) })
	o.measure(Measure{Name: "catch-up", MS: at - lifted[1].At, From: "end of the throttle that kept it behind", To: "in the ISR of all partitions"}, ok)
	o.measure(Measure{Name: "promotion while behind", MS: at - edits[0].at, From: "edit of the last file, throttle still on for 4 s", To: "in the ISR of all partitions"}, ok)
	o.demotions(h, p)
}
