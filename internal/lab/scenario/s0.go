package scenario

import (
	"context"
	"time"

	"observer-patch/internal/lab/history"
)

// s0 is the smoke test: the life of an observer in one minute.
func s0() Scenario {
	return Scenario{
		ID: "S0", Title: "an observer copies, is promoted, and is demoted again",
		Expect: "out of the ISR while marked, in it after promotion, out of it after demotion",
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			if err := l.Promote(); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
				return err
			}
			if err := l.Demote(Observer); err != nil {
				return err
			}
			return l.UntilWhole(ctx, 30*time.Second, Observer)
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			o.promotions(h, p, 0)
			o.demotions(h, p)
		},
	}
}
