//go:build throughput

package throughput

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
)

var (
	dist    = flag.String("dist", "", "folder with the bundle of the release")
	version = flag.String("release", "4.1.0", "release")
	series  = flag.Int("series", 24, "how often all clusters are started anew")
	blocks  = flag.Int("blocks", 8, "blocks of a series, each with another order: rounds at full speed, and then records at a fixed rate")
	rounds  = flag.Int("rounds", 6, "rounds of a block; in each every cluster has a turn")
	page    = flag.String("page", "", "file for the page, with its raw figures beside it as .json; empty: none")
)

const (
	topic = "measured"
	other = "elsewhere"
	// observer holds no replica of topic, but one of other.
	observer = 4
	// size is bytes per value, full of a batch: the default of upstream's producer (batch.size). Small
	// batches make brokers pay for requests, where the patch's questions are asked, and not for bytes.
	size, full = 1000, 16 << 10
	// turn, warm and paced are records: of one turn, about a third of a second; of the turns before any
	// counts; of those at a fixed rate.
	turn, warm, paced = 6_000, 90_000, 1_500
	// rate is records per second of each cluster when latency is measured.
	rate = 150
)

// variants are the clusters of a series in the order of their turns, as a circle: each patched one has its
// turn between upstream's two. The ISR is that of the other topic, whose replicas are 1, 2 and 4: who is
// out of it shows which observers are in force.
var variants = [4]struct {
	name           string
	patched        bool
	observers, isr []int32
}{
	{name: "upstream's first", isr: []int32{1, 2, observer}},
	{name: "patched, no file", patched: true, isr: []int32{1, 2, observer}},
	{name: "upstream's second", isr: []int32{1, 2, observer}},
	{name: "patched, an observer elsewhere", patched: true, observers: []int32{observer}, isr: []int32{1, 2}},
}

// figures are what the clusters gave, by series, for each of variants.
type figures [len(variants)]struct {
	// Speed is in MB/s, by turn.
	Speed [][]float64 `json:"mb_per_second"`
	// CPU is the processor time of all brokers in seconds a GB, one a series.
	CPU [][]float64 `json:"cpu_seconds_per_gb"`
	// P50 and P99 are in ms, by block.
	P50 [][]float64 `json:"p50_ms"`
	P99 [][]float64 `json:"p99_ms"`
}

// TestWhatAProducerPays runs all variants at the same time, in several series, and has them take turns
// of a third of a second: a machine that is slower for a while is slower for all. How upstream's two
// differ is what the method cannot tell apart.
func TestWhatAProducerPays(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 110*time.Minute)
	defer cancel()
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	patched, _, err := campaign.Overlay(upstream, filepath.Join(*dist, *version+"-kraft"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, *series, 2, "-series: bounds need two")
	require.Positive(t, *blocks, "-blocks")
	require.Positive(t, *rounds, "-rounds")
	if *page != "" {
		require.Zero(t, *series%8+*blocks%8, "-series and -blocks: a page needs every order as often, multiples of 8")
	}
	var measured figures
	for n := range *series {
		ok := t.Run(fmt.Sprintf("series %d", n+1), func(t *testing.T) { // which ends its clusters
			var clusters [len(variants)]*producing
			for _, at := range order(n) {
				spec := cluster.Spec{Classpath: upstream, Observers: variants[at].observers, NoFile: variants[at].observers == nil}
				if variants[at].patched {
					spec.Classpath = patched
				}
				clusters[at] = start(ctx, t, spec)
			}
			for range warm / turn {
				for _, at := range order(n) {
					clusters[at].send(ctx, t, turn)
				}
			}
			measured.measure(ctx, t, clusters, n)
			for at, c := range clusters {
				require.Equal(t, variants[at].isr, c.isr(ctx, t), variants[at].name)
			}
			t.Log(measured.series(n))
		})
		require.True(t, ok)
	}
	t.Log("\n" + table(t, &measured))
	if *page != "" {
		write(t, *page, &measured)
	}
}

// order gives the order in which the clusters of a series start, and that of the turns of a block. The
// circle stays, so that a patched one is always between upstream's; where it begins, and which way round
// it goes, is each of its 8 ways as often: who has the first turn of a round, or the last, is slower or
// faster by more than what is looked for.
func order(n int) []int {
	cycle := []int{0, 1, 2, 3}
	cycle = append(cycle[n/2%4:], cycle[:n/2%4]...)
	if n%2 == 1 {
		slices.Reverse(cycle)
	}
	return cycle
}

// measure adds series n: blocks of turns at full speed and, after each, latency, all clusters at the same
// time. Each block has the order after that of the block before, the first that of the start: 8 blocks
// give every cluster every place.
func (f *figures) measure(ctx context.Context, t *testing.T, clusters [len(variants)]*producing, n int) {
	var speed, p50, p99 [len(variants)][]float64
	var used [len(variants)]time.Duration
	for block := range *blocks {
		cycle := order(n + block)
		for range *rounds {
			for _, at := range cycle {
				c := clusters[at]
				before, began := c.processor(t), time.Now()
				c.send(ctx, t, turn)
				speed[at] = append(speed[at], turn*size/1e6/time.Since(began).Seconds())
				used[at] += c.processor(t) - before
			}
		}
		for at, took := range pace(ctx, t, clusters, cycle) {
			p50[at] = append(p50[at], quantile(took, 0.5))
			p99[at] = append(p99[at], quantile(took, 0.99))
		}
	}
	for at := range f {
		f[at].Speed = append(f[at].Speed, speed[at])
		f[at].CPU = append(f[at].CPU, []float64{used[at].Seconds() * 1e9 / float64(len(speed[at])*turn*size)})
		f[at].P50 = append(f[at].P50, p50[at])
		f[at].P99 = append(f[at].P99, p99[at])
	}
}

// series says what a series gave.
func (f *figures) series(n int) string {
	var b strings.Builder
	for at := range f {
		fmt.Fprintf(&b, " %.1f MB/s, %.1f s/GB, %.2f ms, %.1f ms |", geometric(f[at].Speed[n]), f[at].CPU[n][0], geometric(f[at].P50[n]), geometric(f[at].P99[n]))
	}
	return b.String()
}
