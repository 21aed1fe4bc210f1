//go:build cluster

package operate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/promoter"
)

// The active controller hangs, with its connections open, while two sync replicas are lost. A broker
// looks for another controller only when its question to this one has timed out, after
// controller.socket.timeout.ms (upstream's NodeToControllerChannelManager): whatever it forwards for
// a client waits for that. Its changes of ISRs go by a channel of their own, which finds out by itself,
// and not before it is used: hence the time comes twice.
func TestAutoPromotesBesideAControllerThatHangs(t *testing.T) {
	for _, timeout := range []time.Duration{30 * time.Second, 3 * time.Second} { // upstream's default, and what docs/promotion.md advises
		t.Run(timeout.String(), func(t *testing.T) {
			r := start(t, crowded(map[string]string{"controller.socket.timeout.ms": fmt.Sprint(timeout.Milliseconds())}))
			r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4})
			r.produce("t", 1000)
			r.busy()
			a := r.auto(t.TempDir(), nil)
			r.locked(a)
			active, err := r.cluster.ActiveController(r.ctx)
			require.NoError(t, err)
			require.NoError(t, r.cluster.Node(active).Pause())
			hung := time.Now()
			answers := r.forwarded()
			_, killed, under := r.fall("t")
			ok := r.event(a.audit, promoter.AuditPromote, killed)
			require.Equal(t, int32(4), ok.Broker)
			setting := "controller.socket.timeout.ms=" + fmt.Sprint(timeout.Milliseconds())
			r.took("auto: PROMOTE-OK after the partitions fell under their minimum, the active controller hung, "+setting, ok.Time.Sub(under), promoteBound+2*timeout)
			r.took("auto: the same after the controller hung", ok.Time.Sub(hung), 0)
			r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
			r.saw("how long brokers took for a question that they forward, asked when the controller hung, "+setting, "%s", answers())
		})
	}
}

// forwarded asks every broker what the active controller answers. It gives what came of it when
// those that still run have answered.
func (r *rig) forwarded() (answers func() string) {
	var mu sync.Mutex
	var done sync.WaitGroup
	took := map[int32]string{}
	ctx, cancel := context.WithTimeout(r.ctx, 2*time.Minute)
	r.t.Cleanup(cancel)
	began := time.Now()
	for _, n := range r.cluster.Nodes {
		if !n.IsBroker() {
			continue
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(n.Addr()), kgo.RequestRetries(0), kgo.RequestTimeoutOverhead(2*time.Minute))
		require.NoError(r.t, err)
		r.t.Cleanup(cl.Close)
		done.Go(func() {
			resp, err := cl.SeedBrokers()[0].Request(ctx, cluster.DescribeQuorum())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				took[n.ID] = "no answer: " + err.Error()
				return
			}
			took[n.ID] = fmt.Sprintf("%.1f s (error code %d)", time.Since(began).Seconds(), resp.(*kmsg.DescribeQuorumResponse).ErrorCode)
		})
	}
	return func() string {
		done.Wait()
		var out []string
		for _, n := range r.cluster.Nodes {
			if n.IsBroker() {
				out = append(out, fmt.Sprintf("broker %d: %s", n.ID, took[n.ID]))
			}
		}
		return strings.Join(out, "; ")
	}
}
