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
func write(t *testing.T, path string, measured [len(phases)]figures) {
	raw := map[string]figures{}
	for i, name := range phases {
		raw[name] = measured[i]
	}
	text, err := json.Marshal(raw)
	require.NoError(t, err)
	require.NoError(t, renameio.WriteFile(strings.TrimSuffix(path, ".md")+".json", append(text, '\n'), 0o644))
	require.NoError(t, renameio.WriteFile(path, []byte(table(t, measured)), 0o644))
}

// table gives the page: the ratios to upstream's two, the verdicts, and every series.
func table(t *testing.T, measured [len(phases)]figures) string {
	var b, verdicts, each strings.Builder
	fmt.Fprintf(&b, "# What a producer pays\n\nMade by `make throughput` on %s UTC; %s, KRaft; %d series on %d processors. In each series three clusters of 4 brokers and a controller are started anew, two of them with upstream's jars, and run at the same time. They take turns of %d records at full speed, each in every round, the patched cluster between upstream's two; %d rounds of a phase. In the first phase the patched cluster has no file; then one that names broker %d, which holds a replica of another topic.\n", time.Now().UTC().Format("2006-01-02 15:04"), *version, len(measured[0].CPU[0]), runtime.NumCPU(), turn, *rounds, observer)
	fmt.Fprintf(&b, "acks=all, idempotent, %d bytes a record, batches of %d bytes, three partitions of three replicas, %d records of warm-up each. p99 is that of the acknowledgement of %d records at %d a second, sent to all clusters at the same time. Processor time is that of the brokers. Nodes compile with C1 only, which does less for a call than a production JVM. Every turn is in throughput.json.\n\n", size, full, warm, paced, rate)
	b.WriteString("Figures are ratios to the geometric mean of upstream's two clusters in the same round: the trimmed geometric mean, and its 95 % bounds, for which series were drawn anew first and then their rounds. How far upstream's own two are apart is what the method cannot tell.\n\n| | throughput | processor time for a GB | p99 |\n| --- | --- | --- | --- |\n")
	compare := func(figures, baseline [][]float64) Ratio {
		r, err := Compare(figures, baseline, seed)
		require.NoError(t, err)
		return r
	}
	row := func(name string, speed, cpu, p99 Ratio) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, speed, cpu, p99)
	}
	own := func(pick func(figures) [3][][]float64) Ratio {
		var both [2][][]float64 // upstream's, of both phases
		for at := range both {
			for n := range measured[0].CPU[at] {
				both[at] = append(both[at], slices.Concat(pick(measured[0])[at][n], pick(measured[1])[at][n]))
			}
		}
		return compare(both[0], both[1])
	}
	speed := own(func(f figures) [3][][]float64 { return f.Speed })
	cpu := own(func(f figures) [3][][]float64 { return f.CPU })
	row("upstream's first to its second", speed, cpu, own(func(f figures) [3][][]float64 { return f.P99 }))
	if !speed.Tells() || !cpu.Tells() {
		verdicts.WriteString("- Upstream's own two clusters differ beyond their bounds: what follows shows nothing.\n")
	}
	for i, name := range phases {
		f := measured[i]
		speed, cpu, p99 := compare(f.Speed[2], mean(f.Speed)), compare(f.CPU[2], mean(f.CPU)), compare(f.P99[2], mean(f.P99))
		row(name, speed, cpu, p99)
		fmt.Fprintf(&verdicts, "- %s: throughput is %s of upstream's; processor time is %s of upstream's; p99 is %s of upstream's.\n", name, speed.AtLeast(0.99), cpu.AtMost(1.01), p99.AtMost(1.01))
		fmt.Fprintf(&each, "\n| %s | upstream's first | upstream's second | patched | ratio of throughput |\n| --- | --- | --- | --- | --- |\n", name)
		for n := range f.CPU[0] {
			fmt.Fprintf(&each, "| %d |%s %.3f |\n", n+1, f.series(n), compare(f.Speed[2][n:n+1], mean(f.Speed)[n:n+1]).Mean)
		}
	}
	return b.String() + "\n" + verdicts.String() + each.String()
}

// mean is the geometric one of upstream's two figures taken in the same round.
func mean(of [3][][]float64) [][]float64 {
	out := make([][]float64, len(of[0]))
	for n := range of[0] {
		for i := range of[0][n] {
			out[n] = append(out[n], math.Sqrt(of[0][n][i]*of[1][n][i]))
		}
	}
	return out
}

func geometric(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}
