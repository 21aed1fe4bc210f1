package scenario

import (
	"context"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
)

// cycles times two observers give twenty promotions.
const cycles = 10

// p1 promotes and demotes two observers again and again.
func p1() Scenario {
	return Scenario{
		ID: "P1", Title: "how long a promotion takes",
		Expect:     "file edit to ISR: p50 at most 2 s over 20 promotions; demotion at most replica.lag.time.max.ms/2 + 3 s",
		Observers:  []int32{3, Observer},
		Assignment: [][]int32{{1, 2, 3, 4}, {2, 1, 3, 4}},
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			for range cycles {
				if err := l.Promote(); err != nil {
					return err
				}
				if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
					return err
				}
				if err := l.Demote(l.Plan.Observers...); err != nil {
					return err
				}
				if err := l.UntilWhole(ctx, 30*time.Second, l.Plan.Observers...); err != nil {
					return err
				}
			}
			return nil
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			n := 0
			for _, c := range changes(h) {
				n += len(c.gone)
			}
			o.require(check.That("there were 20 promotions", n >= 2*cycles, "%d, two brokers at a time", n))
			o.promotions(h, p, 2000)
			o.demotions(h, p)
		},
	}
}
