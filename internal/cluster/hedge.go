package cluster

import (
	"cmp"
	"context"
	"time"
)

// A broker that hangs takes a request timeout for each question. The cluster lists it until its
// session is over, and brokers that have not heard of that list it a moment longer.
const (
	hedgeAfter = time.Second
	hedgeTimes = 3
)

// hedged asks, and each time that no answer came for hedgeAfter asks again beside that; the n-th
// time n is counted from 0. The first answer counts. When all that were asked by then have failed, it
// gives the first error.
func hedged[R any](ctx context.Context, ask func(ctx context.Context, n int) (R, error)) (R, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		r   R
		err error
	}
	answers := make(chan answer, hedgeTimes)
	asked := 0
	more := func() {
		n := asked
		asked++
		go func() {
			r, err := ask(ctx, n)
			answers <- answer{r, err}
		}()
	}
	more()
	tick := time.NewTicker(hedgeAfter)
	defer tick.Stop()
	var first error
	failed := 0
	for {
		select {
		case <-tick.C:
			if asked < hedgeTimes {
				more()
			}
		case a := <-answers:
			if a.err == nil {
				return a.r, nil
			}
			first = cmp.Or(first, a.err)
			if failed++; failed == asked {
				return a.r, first
			}
		}
	}
}
