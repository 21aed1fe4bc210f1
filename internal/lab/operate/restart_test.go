//go:build cluster

package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
)

// writer writes to partitions of a topic with acks=all, one record after the other, and tries
// nothing again by itself: what a broker answers is counted.
type writer struct {
	t      *testing.T
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu sync.Mutex
	// acked are those acknowledged by partition, refused those answered with NOT_ENOUGH_REPLICAS,
	// other what any restart costs: no connection, another leader.
	acked   []int
	refused int
	other   map[string]int
}

// writes begins to write to so many partitions.
func (r *rig) writes(topic string, partitions int) *writer {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordRetries(0), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(500*time.Millisecond))
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.ctx)
	w := &writer{t: r.t, cancel: cancel, acked: make([]int, partitions), other: map[string]int{}}
	for p := range partitions {
		w.done.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				err := cl.ProduceSync(ctx, &kgo.Record{Partition: int32(p), Value: []byte("x")}).FirstErr()
				if ctx.Err() != nil {
					return
				}
				w.count(p, err)
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	r.t.Cleanup(func() { w.stop(); cl.Close() })
	return w
}

func (w *writer) count(partition int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.acked[partition]++
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		w.refused++
	default:
		w.other[err.Error()]++
	}
}

func (w *writer) stop() {
	w.cancel()
	w.done.Wait()
}

// went waits until every partition has acknowledged so many more records.
func (w *writer) went(r *rig, n int) {
	r.t.Helper()
	w.mu.Lock()
	from := append([]int{}, w.acked...)
	w.mu.Unlock()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, "writes go on", func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for p := range from {
			if w.acked[p] < from[p]+n {
				return fmt.Errorf("partition %d: %d of %d, %d refused, %v", p, w.acked[p]-from[p], n, w.refused, w.other)
			}
		}
		return nil
	}))
}

func (w *writer) counts() (acked, refused int, other map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.acked {
		acked += n
	}
	return acked, w.refused, w.other
}

func sum(counts map[string]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// says waits until the tool has said something.
func (r *rig) says(p *process, text string) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 2*time.Minute, "the tool says "+text, func(context.Context) error {
		said, err := os.ReadFile(p.said)
		if err == nil && !strings.Contains(string(said), text) {
			err = fmt.Errorf("so far: %s", said)
		}
		return err
	}))
}

// away waits until the broker is out of the ISRs of t, and until writes have gone on without it.
func (r *rig) away(broker int32, w *writer) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d is in no ISR", broker), "t", func(_ int32, isr []int32) bool { return !has(isr, broker) })
	w.went(r, 50)
}

// backAsItWas wants 3 to be an observer in every file, and the leaders at home.
func (r *rig) backAsItWas() {
	r.t.Helper()
	for _, n := range r.cluster.Nodes {
		require.Equal(r.t, []string{"3"}, r.ids(n.ID), "node %d", n.ID)
	}
	v, err := probe.Metadata(r.ctx, r.cluster, "t")
	require.NoError(r.t, err)
	for _, p := range v.Partitions {
		require.Equal(r.t, p.Replicas[0], p.Leader, "%s-%d is led at home", p.Topic, p.ID)
		require.ElementsMatch(r.t, []int32{1, 2}, p.ISR)
	}
}

// The smallest layout, 2 + 1, under acks=all with min.insync.replicas=2.
func TestASyncBrokerRestartsWithoutStoppingWrites(t *testing.T) {
	all := start(t, cluster.Spec{Brokers: 3, Controllers: 1, Observers: []int32{3}})
	all.topic("t", []int32{1, 2, 3}, []int32{2, 1, 3})
	all.produce("t", 1000)
	out, _ := all.run(exit.Done, "status")
	require.Contains(t, out, "to restart broker 1 without that: observer-patch restart 1 --stand-in 3")
	all.saw("status names the brokers whose restart would stop writes", "'observer-patch restart 1 --stand-in 3'")
	t.Run("killed, by a program", func(t *testing.T) { all.in(t).killedWithStandIn() })
	t.Run("stopped in order, by hand", func(t *testing.T) { all.in(t).stoppedWithStandIn() })
	t.Run("the tool is killed in the middle", func(t *testing.T) { all.in(t).toolKilledInRestart() })
	t.Run("without a stand-in", func(t *testing.T) { all.in(t).restartAlone() })
}

func (r *rig) killedWithStandIn() {
	t := r.t
	w := r.writes("t", 2)
	w.went(r, 20)
	ready := filepath.Join(t.TempDir(), "restart now")
	began := time.Now()
	tool := r.spawnAlone(nil, append(append([]string{"restart", "1", "--yes"}, r.args...), "--", "touch", ready)...)
	require.NoError(t, r.cluster.Await(r.ctx, 2*time.Minute, "the tool has run its program", func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	}))
	before, _, _ := w.counts()
	require.NoError(t, r.cluster.Node(1).Kill())
	r.away(1, w)
	away, _, _ := w.counts()
	require.NoError(t, r.cluster.Restart(r.ctx, 1))
	tool.ends(t)
	took := time.Since(began)
	w.went(r, 20)
	w.stop()
	_, refused, other := w.counts()
	require.Zero(t, refused, "refused with NOT_ENOUGH_REPLICAS")
	r.saw("kill -9 and restart of broker 1 with 3 standing in: writes with acks=all, min.insync.replicas=2", "%d acknowledged while 1 was away, 0 refused for want of replicas (%d not answered, or sent to the broker that was gone)", away-before, sum(other))
	r.took("restart 1 from the first file to the end of the demotion", took, 2*time.Minute)
	r.backAsItWas()
}

func (r *rig) stoppedWithStandIn() {
	t := r.t
	w := r.writes("t", 2)
	w.went(r, 20)
	tool := r.spawn(nil, "restart", "2", "--stand-in", "3", "--yes")
	r.says(tool, "restart broker 2 now")
	require.NoError(t, r.cluster.Node(2).Stop(r.ctx))
	r.away(2, w)
	require.NoError(t, r.cluster.Restart(r.ctx, 2))
	tool.ends(t)
	w.stop()
	_, refused, other := w.counts()
	require.Zero(t, refused, "refused with NOT_ENOUGH_REPLICAS")
	r.saw("orderly stop and start of broker 2 with 3 standing in", "0 refused for want of replicas (%d not answered, or sent to the broker that was gone)", sum(other))
	r.backAsItWas()
}

func (r *rig) toolKilledInRestart() {
	t := r.t
	w := r.writes("t", 2)
	w.went(r, 20)
	tool := r.spawn(nil, "restart", "1", "--yes")
	r.says(tool, "restart broker 1 now")
	tool.kill(t)
	require.NoError(t, r.cluster.Node(1).Kill())
	r.away(1, w)
	out, _ := r.run(exit.Done, "status")
	require.Contains(t, out, "observer 3 stands in for the restart of broker 1")
	require.Contains(t, out, "observer-patch restart --finish")
	_, errs := r.run(exit.Refused, "restart", "2", "--yes")
	require.Contains(t, errs, "without broker 2 its ISR would be [3]")
	_, errs = r.run(exit.Failed, "restart", "--finish", "--timeout", "2s", "--yes")
	require.Contains(t, errs, "broker 1 is not alive")
	require.Empty(t, r.ids(101), "3 stays promoted")
	require.NoError(t, r.cluster.Restart(r.ctx, 1))
	r.run(exit.Done, "restart", "--finish", "--yes")
	w.stop()
	_, refused, _ := w.counts()
	require.Zero(t, refused, "refused with NOT_ENOUGH_REPLICAS")
	r.backAsItWas()
	out, _ = r.run(exit.Done, "status")
	require.NotContains(t, out, "pending")
	r.saw("kill -9 of the tool while 3 stands in", "status names 'restart --finish', which waits for broker 1, moves leaders home and demotes 3; 0 writes refused")
}

// restartAlone is the control: what the others show has to be the stand-in's doing.
func (r *rig) restartAlone() {
	t := r.t
	w := r.writes("t", 2)
	w.went(r, 20)
	require.NoError(t, r.cluster.Node(1).Stop(r.ctx))
	require.NoError(t, r.cluster.Await(r.ctx, 90*time.Second, "writes are refused", func(context.Context) error {
		if acked, refused, other := w.counts(); refused < 50 {
			return fmt.Errorf("%d refused, %d acknowledged, %v", refused, acked, other)
		}
		return nil
	}))
	require.NoError(t, r.cluster.Restart(r.ctx, 1))
	w.went(r, 20)
	w.stop()
	_, refused, _ := w.counts()
	r.saw("the same restart without a stand-in", "%d writes refused with NOT_ENOUGH_REPLICAS until the broker was back", refused)
}
