//go:build throughput

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
	series  = flag.Int("series", 5, "how often all clusters are started anew")
	rounds  = flag.Int("rounds", 8, "rounds of a series, a multiple of four; each measures every variant, in another order")
	page    = flag.String("page", "", "file for the page; empty: none")
)

const (
	topic = "measured"
	other = "elsewhere"
	// size is bytes per value, full of a batch. With small ones, how many of them a follower fetches at a
	// time decides over the speed, by chance: 3 to 4 MB/s from turn to turn with 16 KB.
	// Batches are full whenever more is sent than goes, which makes all turns alike.
	size, full = 1000, 256 << 10
	// warm, fast and paced are records.
	warm, fast, paced = 120_000, 60_000, 450
	// rate is records per second when latency is measured.
	rate = 600
	// seed is that of the bounds of the ratios.
	seed = 1
)

// variant is a kind of cluster that is measured.
type variant struct {
	name      string
	patched   bool
	observers []int32
	cluster   *cluster.Cluster
	// filling sends full batches, prompt sends each record at once.
	filling, prompt *kgo.Client
	// speed is in MB a second, p99 in ms, cpu in seconds of all brokers for a GB; one of each a round,
	// by series.
	speed, p99, cpu [][]float64
}

// TestWhatAProducerPays runs the clusters of all variants at the same time and gives each its turn in
// every round, so that a machine that is slower for a while is slower for all of them. Upstream's
// jars stand there twice: how those two differ is what the method cannot tell apart.
func TestWhatAProducerPays(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	patched, _, err := campaign.Overlay(upstream, filepath.Join(*dist, *version+"-kraft"))
	require.NoError(t, err)
	variants := []*variant{{name: "upstream's jars"}, {name: "upstream's jars again"}, {name: "patched, no file", patched: true}, {name: "patched, an observer elsewhere", patched: true, observers: []int32{4}}}
	for n := range *series {
		if t.Failed() {
			break
		}
		t.Run(fmt.Sprintf("series %d", n+1), func(t *testing.T) { // which ends its clusters
			producers, nodes := processors(t)
			for i := range variants {
				v := variants[(i+n)%len(variants)]
				v.speed, v.p99, v.cpu = append(v.speed, nil), append(v.p99, nil), append(v.cpu, nil)
				v.start(ctx, t, map[bool][]string{false: upstream, true: patched}[v.patched])
			}
			for _, v := range variants {
				for _, n := range v.cluster.Nodes {
					bind(t, n.PID(), nodes)
				}
			}
			bind(t, os.Getpid(), producers)
			t.Cleanup(func() { bind(t, os.Getpid(), slices.Concat(nodes, producers)) })
			for _, v := range variants {
				v.send(ctx, t, v.filling, warm, 0)
				v.send(ctx, t, v.prompt, paced, rate)
			}
			for round := range *rounds {
				for _, v := range order(variants, round) {
					v.measure(ctx, t)
					t.Logf("round %d, %s: %.1f MB/s, %.2f s of CPU a GB, p99 %.1f ms", round+1, v.name, v.speed[n][round], v.cpu[n][round], v.p99[n][round])
				}
			}
		})
	}
	require.False(t, t.Failed())
	text := table(t, variants)
	t.Log("\n" + text)
	if *page != "" {
		require.NoError(t, renameio.WriteFile(*page, []byte(text), 0o644))
	}
}

// order gives whose turn it is: in as many rounds as there are variants, an even number, each comes
// once at every place and once after every other one (Williams 1949).
func order(variants []*variant, round int) []*variant {
	n := len(variants)
	out := make([]*variant, n)
	for i := range out {
		zigzag := (i + 1) / 2
		if i%2 == 0 {
			zigzag = n - i/2
		}
		out[i] = variants[(zigzag+round)%n]
	}
	return out
}

// start starts the variant's cluster, with its topics and producers. Old segments go soon: the
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
	client := func(linger time.Duration) *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(v.cluster.Addrs()...), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DefaultProduceTopic(topic),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(linger), kgo.ProducerBatchMaxBytes(full), kgo.ProducerBatchCompression(kgo.NoCompression()))
		require.NoError(t, err)
		t.Cleanup(cl.Close)
		return cl
	}
	v.filling, v.prompt = client(100*time.Millisecond), client(0)
}

// measure is the variant's turn: full speed, then latency at a fixed rate.
func (v *variant) measure(ctx context.Context, t *testing.T) {
	before, began := v.processor(t), time.Now()
	v.send(ctx, t, v.filling, fast, 0)
	took, used := time.Since(began), v.processor(t)-before
	n := len(v.speed) - 1
	v.speed[n] = append(v.speed[n], float64(fast)*size/1e6/took.Seconds())
	v.cpu[n] = append(v.cpu[n], used.Seconds()*1e9/(float64(fast)*size))
	each := v.send(ctx, t, v.prompt, paced, rate)
	slices.Sort(each)
	v.p99[n] = append(v.p99[n], float64(each[len(each)*99/100])/float64(time.Millisecond))
}

// create makes a topic with the assignment; clients wait for its leaders by themselves.
func create(ctx context.Context, t *testing.T, c *cluster.Cluster, name string, assignment [][]int32) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, cluster.Topic(name, assignment))
	resp, err := c.Request(ctx, req)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode))
}

// send sends count records with acks=all, at a rate or (0) as fast as they go, and gives how long each
// took from when it was due.
func (v *variant) send(ctx context.Context, t *testing.T, client *kgo.Client, count, perSecond int) []time.Duration {
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
	require.NoError(t, client.Flush(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.NoError(t, failed)
	return took
}
