//go:build throughput

// Package throughput measures what the patch costs a producer: upstream's jars, the patched jars
// without a file, and the patched jars with an observer that holds another topic, in rounds in one run.
package throughput

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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
	rounds  = flag.Int("rounds", 5, "rounds; each runs all variants, beginning with another one")
	page    = flag.String("page", "", "file for the page; empty: none")
)

const (
	topic = "measured"
	other = "elsewhere"
	// size is bytes per value. warm, fast and paced are records.
	size, warm, fast, paced = 1000, 60_000, 150_000, 6_000
	// rate is records per second when latency is measured.
	rate = 600
)

// variant is a cluster that is measured.
type variant struct {
	name      string
	patched   bool
	observers []int32
}

// result is what one variant gave in one round.
type result struct {
	mbPerSecond, p99ms float64
}

func TestWhatAProducerPays(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	patched, _, err := campaign.Overlay(upstream, filepath.Join(*dist, *version+"-kraft"))
	require.NoError(t, err)
	variants := []variant{{"upstream's jars", false, nil}, {"patched, no file", true, nil}, {"patched, an observer elsewhere", true, []int32{4}}}
	results := make([][]result, len(variants))
	for round := range *rounds {
		for i := range variants {
			k := (i + round) % len(variants)
			classpath := upstream
			if variants[k].patched {
				classpath = patched
			}
			r := measure(ctx, t, variants[k], classpath)
			t.Logf("round %d, %s: %.1f MB/s, p99 %.1f ms", round+1, variants[k].name, r.mbPerSecond, r.p99ms)
			results[k] = append(results[k], r)
		}
	}
	text := table(variants, results)
	t.Log("\n" + text)
	if *page != "" {
		require.NoError(t, renameio.WriteFile(*page, []byte(text), 0o644))
	}
}

// measure starts a cluster of its own, warms it up, and measures full speed and then latency at a fixed rate.
func measure(ctx context.Context, t *testing.T, v variant, classpath []string) result {
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[*version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "throughput")
	require.NoError(t, err)
	c, err := cluster.Start(ctx, cluster.Spec{Mode: release.KRaft, Brokers: 4, Controllers: 1, Observers: v.observers, Classpath: classpath, Java: jdk.Tool("java")},
		dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() {
		require.NoError(t, c.Close())
		require.NoError(t, os.RemoveAll(dir))
	}()
	if len(v.observers) == 0 {
		for _, n := range c.Nodes {
			require.NoError(t, os.RemoveAll(n.IDsPath()))
		}
	}
	create(ctx, t, c, topic, [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}})
	create(ctx, t, c, other, [][]int32{{1, 2, 4}})
	produce(ctx, t, c, warm, 0)
	began := time.Now()
	produce(ctx, t, c, fast, 0)
	speed := float64(fast) * size / 1e6 / time.Since(began).Seconds()
	took := produce(ctx, t, c, paced, rate)
	slices.Sort(took)
	return result{speed, float64(took[len(took)*99/100]) / float64(time.Millisecond)}
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
func produce(ctx context.Context, t *testing.T, c *cluster.Cluster, count, perSecond int) []time.Duration {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(5*time.Millisecond), kgo.ProducerBatchCompression(kgo.NoCompression()))
	require.NoError(t, err)
	defer client.Close()
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
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(sent))
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	require.NoError(t, client.Flush(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.NoError(t, failed)
	return took
}

// table gives the page: every round, and the median of the rounds' ratios to upstream.
func table(variants []variant, results [][]result) string {
	load, _ := os.ReadFile("/proc/loadavg")
	var b strings.Builder
	fmt.Fprintf(&b, "# What a producer pays\n\nMade by `make throughput` on %s UTC; %s, KRaft, 4 brokers and a controller on one machine, load average %s at the end.\n", time.Now().UTC().Format("2006-01-02 15:04"), *version, firstField(load))
	fmt.Fprintf(&b, "acks=all, idempotent, %d bytes a record, three partitions of three replicas; each cell is a fresh cluster after %d records of warm-up: %d records as fast as they go, then p99 of the acknowledgement at %d records a second.\n\n", size, warm, fast, rate)
	b.WriteString("| round |")
	for _, v := range variants {
		fmt.Fprintf(&b, " %s |", v.name)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(variants)) + "\n")
	for round := range results[0] {
		fmt.Fprintf(&b, "| %d |", round+1)
		for k := range variants {
			fmt.Fprintf(&b, " %.1f MB/s, p99 %.1f ms |", results[k][round].mbPerSecond, results[k][round].p99ms)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for k := 1; k < len(variants); k++ {
		var speed, latency []float64
		for round := range results[k] {
			speed = append(speed, results[k][round].mbPerSecond/results[0][round].mbPerSecond)
			latency = append(latency, results[k][round].p99ms/results[0][round].p99ms)
		}
		slices.Sort(speed)
		slices.Sort(latency)
		n := len(speed)
		fmt.Fprintf(&b, "- %s, against upstream in the same round: throughput %.3f (median; %.3f to %.3f), p99 %.3f (%.3f to %.3f).\n", variants[k].name, speed[n/2], speed[0], speed[n-1], latency[n/2], latency[0], latency[n-1])
	}
	return b.String()
}

func firstField(text []byte) string {
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
