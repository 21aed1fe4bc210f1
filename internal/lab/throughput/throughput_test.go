//go:build throughput

package throughput

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/maven/maventest"
)

var (
	dist    = flag.String("dist", "", "folder with the bundle of the release")
	version = flag.String("release", "4.1.0", "release")
	series  = flag.Int("series", 24, "how often all clusters are started anew")
	rounds  = flag.Int("rounds", 12, "rounds of a phase; in each every cluster has a turn")
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
	turn, warm, paced = 6_000, 90_000, 1_000
	// rate is records per second of each cluster when latency is measured.
	rate = 200
	// seed is that of the bounds of the ratios.
	seed = 1
)

// phases are what the patched cluster is measured as, in this order.
var phases = [2]string{"patched, no file", "patched, an observer elsewhere"}

// cycles are the two ways round of three clusters; the series take them in turn. Within a series the way
// stays, so that each has its turn after the same other one, never after itself, and the patched cluster
// always between upstream's two.
var cycles = [2][3]int{{0, 2, 1}, {1, 2, 0}}

// figures are what the three clusters gave in one phase: upstream's first, upstream's second, patched.
type figures struct {
	// Speed is in MB/s, by series and turn.
	Speed [3][][]float64 `json:"mb_per_second"`
	// CPU is the processor time of all brokers in seconds a GB, P99 in ms; one a series.
	CPU [3][][]float64 `json:"cpu_seconds_per_gb"`
	P99 [3][][]float64 `json:"p99_ms"`
}

// TestWhatAProducerPays runs two clusters of upstream's jars and one of the patched ones at the same
// time, in several series, and has them take turns of a third of a second: a machine that is slower
// for a while is slower for all. How upstream's two differ is what the method cannot tell apart. The
// patched cluster has no file in the first phase and one observer in the second, so that the phases
// differ in nothing else.
func TestWhatAProducerPays(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	patched, _, err := campaign.Overlay(upstream, filepath.Join(*dist, *version+"-kraft"))
	require.NoError(t, err)
	var measured [len(phases)]figures
	for n := range *series {
		ok := t.Run(fmt.Sprintf("series %d", n+1), func(t *testing.T) { // which ends its clusters
			var clusters [3]*producing
			for i := range clusters {
				at := (n + i) % len(clusters)
				clusters[at] = start(ctx, t, [3][]string{upstream, upstream, patched}[at])
			}
			cycle := cycles[n%len(cycles)]
			for range warm / turn {
				for _, at := range cycle {
					clusters[at].send(ctx, t, clusters[at].filling, turn, 0)
				}
			}
			for phase := range phases {
				if phase == 1 {
					clusters[2].mark(ctx, t, observer)
				}
				measured[phase].measure(ctx, t, clusters, cycle)
				t.Logf("%s: %s", phases[phase], measured[phase].series(n))
			}
		})
		require.True(t, ok)
	}
	t.Log("\n" + table(t, measured))
	if *page != "" {
		write(t, *page, measured)
	}
}

// measure adds a series: rounds of turns at full speed, then latency, all clusters at the same time.
func (f *figures) measure(ctx context.Context, t *testing.T, clusters [3]*producing, cycle [3]int) {
	var speed [3][]float64
	var used [3]time.Duration
	for range *rounds {
		for _, at := range cycle {
			c := clusters[at]
			before, began := c.processor(t), time.Now()
			c.send(ctx, t, c.filling, turn, 0)
			speed[at] = append(speed[at], turn*size/1e6/time.Since(began).Seconds())
			used[at] += c.processor(t) - before
		}
	}
	p99 := pace(ctx, t, clusters)
	for at := range clusters {
		f.Speed[at] = append(f.Speed[at], speed[at])
		f.CPU[at] = append(f.CPU[at], []float64{used[at].Seconds() * 1e9 / float64(*rounds*turn*size)})
		f.P99[at] = append(f.P99[at], []float64{p99[at]})
	}
}

// series says what a series gave.
func (f *figures) series(n int) string {
	var b strings.Builder
	for at := range f.Speed {
		fmt.Fprintf(&b, " %.1f MB/s, %.1f s/GB, %.1f ms |", geometric(f.Speed[at][n]), f.CPU[at][n][0], f.P99[at][n][0])
	}
	return b.String()
}
