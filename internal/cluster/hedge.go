package cluster

import (
	"cmp"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that hangs takes a request timeout for each question. The cluster lists it until its
// session is over, and brokers that have not heard of that list it a moment longer.
const (
	hedgeAfter = time.Second
	hedgeTimes = 3
)

// ask sends the request to who is asked for the n-th time, as hedged has it, each time a copy: what it
// points to must not change any more. An answer with an error code is none.
func ask[Q, R any, P interface {
	*Q
	RequestWith(context.Context, kmsg.Requestor) (R, error)
}](ctx context.Context, req P, who func(n int) kmsg.Requestor, code func(R) int16) (R, error) {
	return hedged(ctx, func(ctx context.Context, n int) (R, error) {
		again := *req
		resp, err := P(&again).RequestWith(ctx, who(n))
		if err == nil {
			err = kerr.ErrorForCode(code(resp))
		}
		return resp, err
	})
}

// uncoded is for answers whose error codes are those of their parts.
func uncoded[R any](R) int16 { return 0 }

// anybody has the client choose, each time another broker.
func (c *Client) anybody(int) kmsg.Requestor { return c.kgo }

// forwarding gives who is asked what the active controller answers. In KRaft every broker forwards it,
// while the client goes on with one; in ZooKeeper mode it has to be the controller.
func (c *Client) forwarding(live []int32, a abilities) func(n int) kmsg.Requestor {
	return func(n int) kmsg.Requestor {
		if n == 0 || !a.quorum || len(live) == 0 {
			return c.kgo
		}
		return c.kgo.Broker(int(live[n%len(live)]))
	}
}

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
