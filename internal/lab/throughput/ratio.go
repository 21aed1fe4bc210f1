// Package throughput measures what the patch costs a producer: upstream's jars, twice, the patched
// jars without a file, and the patched jars with an observer that holds another topic, side by side.
package throughput

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Ratio is how a variant's figures stand to those of the baseline taken beside them.
type Ratio struct {
	// Mean is the trimmed geometric mean of the pairs' ratios; Low and High bound it, 95 of 100 times.
	Mean, Low, High float64
	// Pairs is how many pairs there were.
	Pairs int
}

// resamples is how often the pairs are drawn anew for the bounds.
const resamples = 10_000

// Compare gives the ratio of figures to the baseline's, pair by pair and series by series: what was
// taken at the same place was taken side by side, so that whatever else the machine did fell on both.
// It is the mean of logarithms: a ratio and its inverse weigh the same then. The bounds are the
// percentile bootstrap (Efron 1979) in two stages, series first and then pairs in them, since the
// clusters of one series stay as they happened to start; seed makes them the same each time. It fails
// when the pairs do not match, are none, or a figure is not above 0.
func Compare(figures, baseline [][]float64, seed uint64) (Ratio, error) {
	if len(figures) != len(baseline) || len(figures) == 0 {
		return Ratio{}, fmt.Errorf("%d series and %d of the baseline: expected as many, and at least one", len(figures), len(baseline))
	}
	logs := make([][]float64, len(figures))
	var all []float64
	for n := range figures {
		if len(figures[n]) != len(baseline[n]) || len(figures[n]) == 0 {
			return Ratio{}, fmt.Errorf("series %d has %d figures and %d of the baseline: expected as many, and at least one", n, len(figures[n]), len(baseline[n]))
		}
		for i, f := range figures[n] {
			if f <= 0 || baseline[n][i] <= 0 {
				return Ratio{}, fmt.Errorf("series %d, figure %d: %v against %v, expected above 0", n, i, f, baseline[n][i])
			}
			logs[n] = append(logs[n], math.Log(f/baseline[n][i]))
		}
		all = append(all, logs[n]...)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	drawn := make([]float64, 0, len(all))
	for i := range means {
		drawn = drawn[:0]
		for range logs {
			from := logs[random.IntN(len(logs))]
			for range from {
				drawn = append(drawn, from[random.IntN(len(from))])
			}
		}
		means[i] = trimmed(drawn)
	}
	slices.Sort(means)
	return Ratio{Mean: math.Exp(trimmed(all)), Low: math.Exp(means[resamples*25/1000]), High: math.Exp(means[resamples*975/1000]), Pairs: len(all)}, nil
}

// trimmed sorts the list and gives the mean without its lowest and highest tenth: a turn in which the
// machine did something else counts little.
func trimmed(list []float64) float64 {
	slices.Sort(list)
	off := len(list) / 10
	sum := 0.0
	for _, x := range list[off : len(list)-off] {
		sum += x
	}
	return sum / float64(len(list)-2*off)
}

// Tells says whether the bounds have 1 between them, as those of two clusters of the same jars should.
func (r Ratio) Tells() bool { return r.Low <= 1 && 1 <= r.High }

// AtLeast says whether the pairs show that the ratio is not under the bound, that it is under it, or
// neither.
func (r Ratio) AtLeast(bound float64) string {
	switch {
	case r.Low >= bound:
		return fmt.Sprintf("at least %v", bound)
	case r.High < bound:
		return fmt.Sprintf("UNDER %v", bound)
	default:
		return fmt.Sprintf("neither shown to be at least %v nor under it", bound)
	}
}

// AtMost is AtLeast of a cost.
func (r Ratio) AtMost(bound float64) string {
	switch {
	case r.High <= bound:
		return fmt.Sprintf("at most %v", bound)
	case r.Low > bound:
		return fmt.Sprintf("OVER %v", bound)
	default:
		return fmt.Sprintf("neither shown to be at most %v nor over it", bound)
	}
}

// String gives the mean with its bounds.
func (r Ratio) String() string { return fmt.Sprintf("%.3f (%.3f to %.3f)", r.Mean, r.Low, r.High) }
