// Package throughput measures what the patch costs a producer: upstream's jars, the patched jars
// without a file, and the patched jars with an observer that holds another topic, side by side.
package throughput

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Ratio is how a variant's figures stand to those of the baseline taken beside them.
type Ratio struct {
	// Mean is the trimmed mean of the pairs' ratios; Low and High bound it, 95 of 100 times.
	Mean, Low, High float64
	// Pairs is how many pairs there were.
	Pairs int
}

// resamples is how often the pairs are drawn anew for the bounds.
const resamples = 10_000

// Compare gives the ratio of figures to the baseline's, pair by pair: what was taken at the same
// index was taken side by side, so that whatever else the machine did fell on both. The bounds are
// the percentile bootstrap of the trimmed mean (Efron 1979); seed makes them the same each time. It
// fails when the pairs do not match, are none, or a baseline is not above 0.
func Compare(figures, baseline []float64, seed uint64) (Ratio, error) {
	if len(figures) != len(baseline) || len(figures) == 0 {
		return Ratio{}, fmt.Errorf("%d figures and %d of the baseline: expected as many, and at least one", len(figures), len(baseline))
	}
	ratios := make([]float64, len(figures))
	for i := range figures {
		if baseline[i] <= 0 {
			return Ratio{}, fmt.Errorf("figure %d of the baseline is %v, expected above 0", i, baseline[i])
		}
		ratios[i] = figures[i] / baseline[i]
	}
	random := rand.New(rand.NewPCG(seed, 0))
	means, drawn := make([]float64, resamples), make([]float64, len(ratios))
	for i := range means {
		for j := range drawn {
			drawn[j] = ratios[random.IntN(len(ratios))]
		}
		means[i] = trimmed(drawn)
	}
	slices.Sort(means)
	return Ratio{Mean: trimmed(ratios), Low: means[resamples*25/1000], High: means[resamples*975/1000], Pairs: len(ratios)}, nil
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
