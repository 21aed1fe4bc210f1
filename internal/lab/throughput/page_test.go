//go:build throughput

package throughput

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// table gives the page: the ratios to upstream's two turns in the same round, and every round.
func table(t *testing.T, variants []*variant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What a producer pays\n\nMade by `make throughput` on %s UTC; %s, KRaft; %d series of %d rounds. In each series four clusters of 4 brokers and a controller are started anew and run at the same time on one machine, two of them with upstream's jars. The producer has one processor, all nodes together the others of %d; 'no file' is an empty one that was removed after the start.\n", time.Now().UTC().Format("2006-01-02 15:04"), *version, *series, *rounds, runtime.NumCPU())
	fmt.Fprintf(&b, "acks=all, idempotent, %d bytes a record, batches of %d bytes, three partitions of three replicas, %d records of warm-up. In every round each cluster has its turn, in another order: %d records as fast as they go, then p99 of the acknowledgement of %d at %d a second. Processor time is that of all brokers. The nodes' JVMs compile with C1 only, which does less for a call than a production JVM.\n\n", size, full, warm, fast, paced, rate)
	b.WriteString("Against the geometric mean of upstream's two clusters in the same round: the trimmed geometric mean of the rounds' ratios, and its 95 % bounds, for which series were drawn anew first and then their rounds. How far upstream's own two are apart is what the method cannot tell.\n\n| | throughput | processor time for a GB | p99 | throughput by series |\n| --- | --- | --- | --- | --- |\n")
	compare := func(figures, baseline [][]float64) Ratio {
		r, err := Compare(figures, baseline, seed)
		require.NoError(t, err)
		return r
	}
	up, again := variants[0], variants[1]
	speed, cpu, p99 := mean(up.speed, again.speed), mean(up.cpu, again.cpu), mean(up.p99, again.p99)
	row := func(name string, of *variant, speed, cpu, p99 [][]float64) (s, c Ratio) {
		s, c = compare(of.speed, speed), compare(of.cpu, cpu)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", name, s, c, compare(of.p99, p99))
		for n := range speed {
			fmt.Fprintf(&b, " %.3f", compare(of.speed[n:n+1], speed[n:n+1]).Mean)
		}
		b.WriteString(" |\n")
		return s, c
	}
	s, c := row("upstream's first to its second", up, again.speed, again.cpu, again.p99)
	var verdicts strings.Builder
	if !s.Tells() || !c.Tells() {
		verdicts.WriteString("- Upstream's own two clusters differ beyond their bounds: what follows shows nothing.\n")
	}
	for _, v := range variants[2:] {
		s, c := row(v.name, v, speed, cpu, p99)
		fmt.Fprintf(&verdicts, "- %s: throughput is %s of upstream's; processor time is %s of upstream's.\n", v.name, s.AtLeast(0.99), c.AtMost(1.01))
	}
	b.WriteString("\n" + verdicts.String() + "\n| series.round |")
	for _, v := range variants {
		fmt.Fprintf(&b, " %s: MB/s, s/GB, p99 in ms |", v.name)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(variants)) + "\n")
	for n := range speed {
		for i := range speed[n] {
			fmt.Fprintf(&b, "| %d.%d |", n+1, i+1)
			for _, v := range variants {
				fmt.Fprintf(&b, " %.1f, %.2f, %.1f |", v.speed[n][i], v.cpu[n][i], v.p99[n][i])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// mean is the geometric one of two figures taken in the same round.
func mean(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for n := range a {
		for i := range a[n] {
			out[n] = append(out[n], math.Sqrt(a[n][i]*b[n][i]))
		}
	}
	return out
}
