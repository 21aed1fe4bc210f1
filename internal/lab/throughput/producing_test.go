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

// start starts a cluster without a file, with its topics and producers. Segments are small and go
// soon: the clusters' files lie in memory, and memory that was just in use costs the same each time.
func start(ctx context.Context, t *testing.T, classpath []string) *producing {
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[*version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "throughput")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	c, err := cluster.Start(ctx, cluster.Spec{Mode: release.KRaft, Brokers: 4, Controllers: 1, Classpath: classpath, Java: jdk.Tool("java"),
		Properties: map[string]string{"log.segment.bytes": "8388608", "log.retention.bytes": "8388608", "log.initial.task.delay.ms": "0", "log.retention.check.interval.ms": "200", "log.segment.delete.delay.ms": "100"}},
		dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for _, n := range c.Nodes {
		require.NoError(t, os.Remove(n.IDsPath()))
	}
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

// mark makes the broker an observer and waits until every node says that it is one.
func (p *producing) mark(ctx context.Context, t *testing.T, id int32) {
	for _, n := range p.cluster.Nodes {
		from, err := n.LogEnd()
		require.NoError(t, err)
		require.NoError(t, n.WriteIDs([]int32{id}))
		require.NoError(t, p.cluster.Await(ctx, 30*time.Second, fmt.Sprintf("node %d has the file", n.ID), func(context.Context) error {
			_, err := n.FindLine(from, fmt.Sprintf("Observer id set changed: [] -> [%d]", id))
			return err
		}))
	}
}

// send sends count records with acks=all, at a rate or (0) as fast as they go, and gives how long each
// took from when it was due.
func (p *producing) send(ctx context.Context, t *testing.T, client *kgo.Client, count, perSecond int) []time.Duration {
	value := []byte(strings.Repeat("x", size))
	var mu sync.Mutex
	var failed error
	took := make([]time.Duration, 0, count)
	began := time.Now()
	for i := range count {
		due := time.Now()
		if perSecond > 0 {
			due = began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
			<-time.After(time.Until(due))
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

// pace sends to all clusters at the same time and gives the 99th percentiles in ms.
func pace(ctx context.Context, t *testing.T, clusters [3]*producing) (p99 [3]float64) {
	var all sync.WaitGroup
	for at, c := range clusters {
		all.Go(func() {
			if each := c.send(ctx, t, c.prompt, paced, rate); len(each) > 0 {
				slices.Sort(each)
				p99[at] = float64(each[len(each)*99/100]) / float64(time.Millisecond)
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	return p99
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
