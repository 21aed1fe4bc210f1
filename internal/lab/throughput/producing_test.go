//go:build throughput

package throughput

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

// producing is a running cluster with its producers: filling sends full batches, prompt sends each
// record at once.
type producing struct {
	cluster         *cluster.Cluster
	filling, prompt *kgo.Client
}

// settings keep accidents of a start out. Segments are small and go soon: the clusters' files lie in
// memory, and memory that was just in use costs the same each time. With one network thread it is no
// matter of luck which connections share one.
var settings = map[string]string{
	"log.segment.bytes": "8388608", "log.retention.bytes": "8388608", "log.initial.task.delay.ms": "0",
	"log.retention.check.interval.ms": "200", "log.segment.delete.delay.ms": "100", "num.network.threads": "1",
}

// start starts a cluster of the jars and with the observers that spec names, with its topics and
// producers.
func start(ctx context.Context, t *testing.T, spec cluster.Spec) *producing {
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[*version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "throughput")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	spec.Mode, spec.Brokers, spec.Controllers, spec.Java, spec.Properties = release.KRaft, 4, 1, jdk.Tool("java"), settings
	c, err := cluster.Start(ctx, spec, dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	create(ctx, t, c, topic, [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}})
	create(ctx, t, c, other, [][]int32{{1, 2, observer}})
	client := func(linger time.Duration) *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DefaultProduceTopic(topic),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(linger), kgo.ProducerBatchMaxBytes(full), kgo.ProducerBatchCompression(kgo.NoCompression()))
		require.NoError(t, err)
		t.Cleanup(cl.Close)
		return cl
	}
	return &producing{cluster: c, filling: client(100 * time.Millisecond), prompt: client(0)}
}

// create makes a topic with the assignment; clients wait for its leaders by themselves.
func create(ctx context.Context, t *testing.T, c *cluster.Cluster, name string, assignment [][]int32) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, cluster.Topic(name, assignment))
	resp, err := c.Request(ctx, req)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode))
}

// isr gives the ISR of the other topic: that the observer is out of it shows that the file is in force.
func (p *producing) isr(ctx context.Context, t *testing.T) []int32 {
	admin, err := p.cluster.Admin()
	require.NoError(t, err)
	topics, err := admin.ListTopics(ctx, other)
	require.NoError(t, err)
	isr := topics[other].Partitions[0].ISR
	slices.Sort(isr)
	return isr
}

// send sends count records with acks=all, as fast as they go, and waits for the acknowledgements.
func (p *producing) send(ctx context.Context, t *testing.T, count int) {
	p.produce(ctx, t, p.filling, count, func(int) time.Time { return time.Now() })
}

// produce sends count records with acks=all, each when it is due, and gives how long each took from then.
func (p *producing) produce(ctx context.Context, t *testing.T, client *kgo.Client, count int, due func(i int) time.Time) []time.Duration {
	value := []byte(strings.Repeat("x", size))
	var mu sync.Mutex
	var failed error
	took := make([]time.Duration, 0, count)
	for i := range count {
		due := due(i)
		if wait := time.Until(due); wait > 0 {
			<-time.After(wait)
		}
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	err := client.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	if err == nil {
		err = failed
	}
	if err != nil { // other goroutines send too, which may not end the test
		t.Error(err)
	}
	return took
}

// pace sends to all clusters in the same time and gives how long each record took. The clusters' records
// are due one after the other at even distances, in the order of cycle: none is always in another's way.
func pace(ctx context.Context, t *testing.T, clusters [len(variants)]*producing, cycle []int) (took [len(variants)][]time.Duration) {
	began := time.Now()
	var all sync.WaitGroup
	for place, at := range cycle {
		all.Go(func() {
			took[at] = clusters[at].produce(ctx, t, clusters[at].prompt, paced, func(i int) time.Time {
				return began.Add(time.Duration(i*len(cycle)+place) * time.Second / time.Duration(rate*len(cycle)))
			})
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	return took
}

// ticks is how many of the clock's ticks of /proc are a second (USER_HZ, proc_pid_stat(5)).
const ticks = 100

// processor gives the processor time that the brokers have used, user and system.
func (p *producing) processor(t *testing.T) time.Duration {
	sum := time.Duration(0)
	for _, n := range p.cluster.Nodes {
		if !n.IsBroker() {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		require.NoError(t, err)
		// The second field, the name, may hold anything; utime and stime are the 14th and 15th.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		for _, f := range fields[11:13] {
			n, err := strconv.ParseInt(string(f), 10, 64)
			require.NoError(t, err)
			sum += time.Duration(n) * time.Second / ticks
		}
	}
	return sum
}
