//go:build throughput

package throughput

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/renameio/v2"
	"github.com/stretchr/testify/require"
)

// write writes the page and its raw figures.
func write(t *testing.T, path string, measured *figures) {
	raw := map[string]any{}
	for at, v := range variants {
		raw[v.name] = measured[at]
	}
	text, err := json.Marshal(raw)
	require.NoError(t, err)
	require.NoError(t, renameio.WriteFile(strings.TrimSuffix(path, ".md")+".json", append(text, '\n'), 0o644))
	require.NoError(t, renameio.WriteFile(path, []byte(table(t, measured)), 0o644))
}

// table gives the page: the ratios to upstream's two, the verdicts, and every series.
func table(t *testing.T, measured *figures) string {
	var b, verdicts strings.Builder
	fmt.Fprintf(&b, "# What a producer pays\n\nMade by `make throughput` on %s UTC; %s, KRaft; %d series on %d processors. In each series four clusters of 4 brokers and a controller are started anew and run at the same time: two of upstream's jars, a patched one without a file, and a patched one whose file names broker %d, which holds a replica of another topic. They take turns of %d records at full speed, each in every round, a patched cluster between upstream's two; %d blocks of %d rounds. Clusters start, and have their turns in a block, in one of 8 orders, as often each.\n", time.Now().UTC().Format("2006-01-02 15:04"), *version, len(measured[0].CPU), runtime.NumCPU(), observer, turn, *blocks, *rounds)
	fmt.Fprintf(&b, "acks=all, idempotent, %d bytes a record, batches of %d bytes, three partitions of three replicas, %d records of warm-up each. p50 and p99 are of the acknowledgement of %d records at %d a second, to all clusters in the same time, evenly apart, after each block. Processor time is that of the brokers. Nodes compile with C1 only, which does less for a call than a production JVM, and have one network thread. Every figure is in throughput.json.\n\n", size, full, warm, paced, rate)
	b.WriteString("A row compares with the geometric mean of upstream's two clusters, the first row these with each other: throughput round by round, p50 and p99 block by block, processor time by the series. A series is one figure, the mean of its rounds or blocks, of rounds without the highest and lowest tenth; a ratio is the geometric mean of the series, with 95 % bounds (Student's). How far upstream's own two are apart is what the method cannot tell.\n\n| | throughput | processor time for a GB | p50 | p99 |\n| --- | --- | --- | --- | --- |\n")
	compare := func(figures, baseline [][]float64) Ratio {
		r, err := Compare(figures, baseline)
		require.NoError(t, err)
		return r
	}
	row := func(name string, list ...Ratio) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, r := range list {
			fmt.Fprintf(&b, " %s |", r)
		}
		b.WriteString("\n")
	}
	one, two := measured[0], measured[2]
	own := []Ratio{compare(one.Speed, two.Speed), compare(one.CPU, two.CPU), compare(one.P50, two.P50), compare(one.P99, two.P99)}
	row("upstream's first to its second", own...)
	for at, figure := range []string{"throughput", "processor time", "p50", "p99"} {
		if !own[at].Tells() {
			fmt.Fprintf(&verdicts, "- %s of upstream's own two clusters differs beyond its bounds: what follows of it shows nothing.\n", figure)
		}
	}
	for _, at := range []int{1, 3} {
		f := measured[at]
		speed, cpu := compare(f.Speed, mean(one.Speed, two.Speed)), compare(f.CPU, mean(one.CPU, two.CPU))
		p50, p99 := compare(f.P50, mean(one.P50, two.P50)), compare(f.P99, mean(one.P99, two.P99))
		row(variants[at].name, speed, cpu, p50, p99)
		fmt.Fprintf(&verdicts, "- %s: throughput is %s of upstream's; processor time is %s, p50 %s, and p99 %s of upstream's.\n", variants[at].name, speed.AtLeast(0.99), cpu.AtMost(1.01), p50.AtMost(1.01), p99.AtMost(1.01))
	}
	fmt.Fprintf(&verdicts, "\n| series | %s | %s | %s | %s |\n|%s\n", variants[0].name, variants[1].name, variants[2].name, variants[3].name, strings.Repeat(" --- |", 1+len(variants)))
	for n := range one.CPU {
		fmt.Fprintf(&verdicts, "| %d |%s\n", n+1, measured.series(n))
	}
	return b.String() + "\n" + verdicts.String()
}

// mean is the geometric one of two figures taken in the same round.
func mean(one, two [][]float64) [][]float64 {
	out := make([][]float64, len(one))
	for n := range one {
		for i := range one[n] {
			out[n] = append(out[n], math.Sqrt(one[n][i]*two[n][i]))
		}
	}
	return out
}

// quantile sorts the times and gives the quantile q, by nearest rank, in ms.
func quantile(took []time.Duration, q float64) float64 {
	slices.Sort(took)
	return float64(took[int(math.Ceil(q*float64(len(took))))-1]) / float64(time.Millisecond)
}

func geometric(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}
