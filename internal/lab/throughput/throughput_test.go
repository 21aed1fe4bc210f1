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
	series  = flag.Int("series", 40, "how often all clusters are started anew")
	rounds  = flag.Int("rounds", 16, "rounds of a series; in each every cluster has a turn")
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
	// blocks is how often latency is measured in a series, each time after as many rounds.
	blocks = 2
	// seed is that of the bounds of the ratios.
	seed = 1
)

// variants are the clusters of a series in the order of their turns, as a circle: each has its turn after
// the same other one, and each patched one between upstream's two.
var variants = [4]string{"upstream's first", "patched, no file", "upstream's second", "patched, an observer elsewhere"}

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
	var measured figures
	for n := range *series {
		ok := t.Run(fmt.Sprintf("series %d", n+1), func(t *testing.T) { // which ends its clusters
			cycle := order(n)
			var clusters [len(variants)]*producing
			for _, at := range cycle {
				clusters[at] = start(ctx, t, []cluster.Spec{
					{Classpath: upstream, NoFile: true}, {Classpath: patched, NoFile: true},
					{Classpath: upstream, NoFile: true}, {Classpath: patched, Observers: []int32{observer}},
				}[at])
			}
			for range warm / turn {
				for _, at := range cycle {
					clusters[at].send(ctx, t, turn)
				}
			}
			measured.measure(ctx, t, clusters, cycle)
			for at, c := range clusters {
				require.Equal(t, [][]int32{{1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {1, 2}}[at], c.isr(ctx, t), variants[at])
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

// order gives the order in which the clusters of a series start and take their turns. The circle stays,
// so that a patched one is always between upstream's; where a round begins, and which way round it goes,
// is each of its 8 ways as often: who has the first turn of a round, or the last, is slower or faster
// by more than what is looked for.
func order(n int) []int {
	cycle := []int{0, 1, 2, 3}
	cycle = append(cycle[n/2%4:], cycle[:n/2%4]...)
	if n%2 == 1 {
		slices.Reverse(cycle)
	}
	return cycle
}

// measure adds a series: rounds of turns at full speed, and between them latency, all clusters at the
// same time.
func (f *figures) measure(ctx context.Context, t *testing.T, clusters [len(variants)]*producing, cycle []int) {
	var speed, p50, p99 [len(variants)][]float64
	var used [len(variants)]time.Duration
	for range blocks {
		for range *rounds / blocks {
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
