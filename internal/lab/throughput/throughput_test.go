//go:build throughput

package throughput

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/renameio/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

var (
	dist    = flag.String("dist", "", "folder with the bundle of the release")
	version = flag.String("release", "4.1.0", "release")
	rounds  = flag.Int("rounds", 30, "rounds; each measures every variant, beginning with another one")
	page    = flag.String("page", "", "file for the page; empty: none")
)

const (
	topic = "measured"
	other = "elsewhere"
	// size is bytes per value; warm, fast and paced are records.
	size, warm, fast, paced = 1000, 300_000, 60_000, 1_500
	// rate is records per second when latency is measured.
	rate = 600
	// seed is that of the bounds of the ratios.
	seed = 1
)

// variant is a cluster that is measured.
type variant struct {
	name      string
	patched   bool
	observers []int32
	cluster   *cluster.Cluster
	client    *kgo.Client
	// speed is in MB a second, p99 in ms, cpu in seconds of all brokers for a GB; one of each a round.
	speed, p99, cpu []float64
}

// TestWhatAProducerPays runs all variants' clusters at the same time and gives each its turn in
// every round, so that a machine that is slower for a while is slower for all of them.
func TestWhatAProducerPays(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	patched, _, err := campaign.Overlay(upstream, filepath.Join(*dist, *version+"-kraft"))
	require.NoError(t, err)
	variants := []*variant{{name: "upstream's jars"}, {name: "patched, no file", patched: true}, {name: "patched, an observer elsewhere", patched: true, observers: []int32{4}}}
	for _, v := range variants {
		classpath := upstream
		if v.patched {
			classpath = patched
		}
		v.start(ctx, t, classpath)
	}
	for _, v := range variants {
		v.produce(ctx, t, warm, 0)
		v.produce(ctx, t, paced, rate)
	}
	for round := range *rounds {
		for i := range variants {
			v := variants[(i+round)%len(variants)]
			v.measure(ctx, t)
			n := len(v.speed) - 1
			t.Logf("round %d, %s: %.1f MB/s, %.2f s of CPU a GB, p99 %.1f ms", round+1, v.name, v.speed[n], v.cpu[n], v.p99[n])
		}
	}
	text := table(t, variants)
	t.Log("\n" + text)
	if *page != "" {
		require.NoError(t, renameio.WriteFile(*page, []byte(text), 0o644))
	}
}

// start starts the variant's cluster, with its topics and one producer. Old segments go soon: the
// clusters' files lie in memory.
func (v *variant) start(ctx context.Context, t *testing.T, classpath []string) {
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[*version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "throughput")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	v.cluster, err = cluster.Start(ctx, cluster.Spec{Mode: release.KRaft, Brokers: 4, Controllers: 1, Observers: v.observers, Classpath: classpath, Java: jdk.Tool("java"),
		Properties: map[string]string{"log.segment.bytes": "16777216", "log.retention.bytes": "67108864", "log.retention.check.interval.ms": "2000", "log.segment.delete.delay.ms": "1000"}},
		dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.cluster.Close()) })
	if len(v.observers) == 0 {
		for _, n := range v.cluster.Nodes {
			require.NoError(t, os.RemoveAll(n.IDsPath()))
		}
	}
	create(ctx, t, v.cluster, topic, [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}})
	create(ctx, t, v.cluster, other, [][]int32{{1, 2, 4}})
	v.client, err = kgo.NewClient(kgo.SeedBrokers(v.cluster.Addrs()...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(5*time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression()))
	require.NoError(t, err)
	t.Cleanup(v.client.Close)
}

// measure is the variant's turn: full speed, then latency at a fixed rate.
func (v *variant) measure(ctx context.Context, t *testing.T) {
	before, began := v.processor(t), time.Now()
	v.produce(ctx, t, fast, 0)
	took, used := time.Since(began), v.processor(t)-before
	v.speed = append(v.speed, float64(fast)*size/1e6/took.Seconds())
	v.cpu = append(v.cpu, used.Seconds()*1e9/(float64(fast)*size))
	each := v.produce(ctx, t, paced, rate)
	slices.Sort(each)
	v.p99 = append(v.p99, float64(each[len(each)*99/100])/float64(time.Millisecond))
}

// ticks is how many of the clock's ticks of /proc are a second (USER_HZ, proc_pid_stat(5)).
const ticks = 100

// processor gives the processor time that the brokers have used, user and system.
func (v *variant) processor(t *testing.T) time.Duration {
	sum := time.Duration(0)
	for _, n := range v.cluster.Nodes {
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

// create makes a topic with the assignment; clients wait for its leaders by themselves.
func create(ctx context.Context, t *testing.T, c *cluster.Cluster, name string, assignment [][]int32) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, cluster.Topic(name, assignment))
	resp, err := c.Request(ctx, req)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode))
}

// produce sends count records with acks=all, at a rate or (0) as fast as they go, and gives how long each took.
func (v *variant) produce(ctx context.Context, t *testing.T, count, perSecond int) []time.Duration {
	value := []byte(strings.Repeat("x", size))
	var mu sync.Mutex
	var failed error
	took := make([]time.Duration, 0, count)
	began := time.Now()
	for i := range count {
		if perSecond > 0 {
			due := time.NewTimer(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
			<-due.C
		}
		sent := time.Now()
		v.client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(sent))
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	require.NoError(t, v.client.Flush(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.NoError(t, failed)
	return took
}

// table gives the page: every round, and the ratios to upstream's turn in the same round.
func table(t *testing.T, variants []*variant) string {
	load, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(load), " ")
	var b strings.Builder
	fmt.Fprintf(&b, "# What a producer pays\n\nMade by `make throughput` on %s UTC; %s, KRaft; three clusters of 4 brokers and a controller at the same time on one machine, load average %s at the end.\n", time.Now().UTC().Format("2006-01-02 15:04"), *version, first)
	fmt.Fprintf(&b, "acks=all, idempotent, %d bytes a record, three partitions of three replicas, %d records of warm-up. In every round each cluster has its turn, a different one first: %d records as fast as they go, then p99 of the acknowledgement at %d records a second. Processor time is that of all brokers. The nodes' JVMs compile with C1 only, which does less for a call than a production JVM.\n\n", size, warm, fast, rate)
	b.WriteString("Against upstream's jars, median of the rounds' ratios (and its 95 % bounds):\n\n| | throughput | processor time for a GB | p99 |\n| --- | --- | --- | --- |\n")
	compare := func(figures, baseline []float64) Ratio {
		r, err := Compare(figures, baseline, seed)
		require.NoError(t, err)
		return r
	}
	up := variants[0]
	var verdicts strings.Builder
	for _, v := range variants[1:] {
		speed, cpu := compare(v.speed, up.speed), compare(v.cpu, up.cpu)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v.name, speed, cpu, compare(v.p99, up.p99))
		fmt.Fprintf(&verdicts, "- %s: throughput is %s of upstream's; processor time is %s of upstream's.\n", v.name, speed.AtLeast(0.99), cpu.AtMost(1.01))
	}
	b.WriteString("\n" + verdicts.String() + "\n| round |")
	for _, v := range variants {
		fmt.Fprintf(&b, " %s |", v.name)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(variants)) + "\n")
	for round := range up.speed {
		fmt.Fprintf(&b, "| %d |", round+1)
		for _, v := range variants {
			fmt.Fprintf(&b, " %.1f MB/s, %.2f s/GB, p99 %.1f ms |", v.speed[round], v.cpu[round], v.p99[round])
		}
		b.WriteString("\n")
	}
	return b.String()
}
