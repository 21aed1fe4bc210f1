// Package throughput measures what the patch costs a producer: upstream's jars, twice, the patched
// jars without a file, and the patched jars with an observer that holds another topic, side by side.
package throughput

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio is how a variant's figures stand to those of the baseline taken beside them.
type Ratio struct {
	// Mean is the geometric mean of the series' ratios; Low and High bound it, 95 of 100 times.
	Mean, Low, High float64
}

// Compare gives the ratio of figures to the baseline's, pair by pair and series by series: what was
// taken at the same place was taken side by side, so that whatever else the machine did fell on both.
// It is the mean of logarithms: a ratio and its inverse weigh the same then. A series counts as one
// figure, the trimmed mean of its pairs: the clusters of a series stay as they happened to start, and
// more pairs of them say nothing of how others would have. The bounds are Student's (1908) of the
// series. It fails when there are fewer than two series, the pairs do not match, or a figure is not
// above 0.
func Compare(figures, baseline [][]float64) (Ratio, error) {
	if len(figures) != len(baseline) || len(figures) < 2 {
		return Ratio{}, fmt.Errorf("%d series and %d of the baseline: expected as many, and at least two", len(figures), len(baseline))
	}
	series := make([]float64, len(figures))
	for n := range figures {
		if len(figures[n]) != len(baseline[n]) || len(figures[n]) == 0 {
			return Ratio{}, fmt.Errorf("series %d has %d figures and %d of the baseline: expected as many, and at least one", n, len(figures[n]), len(baseline[n]))
		}
		var logs []float64
		for i, f := range figures[n] {
			if f <= 0 || baseline[n][i] <= 0 {
				return Ratio{}, fmt.Errorf("series %d, figure %d: %v against %v, expected above 0", n, i, f, baseline[n][i])
			}
			logs = append(logs, math.Log(f/baseline[n][i]))
		}
		series[n] = trimmed(logs)
	}
	mean, deviation := stat.MeanStdDev(series, nil)
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(series) - 1)}
	off := student.Quantile(0.975) * stat.StdErr(deviation, float64(len(series)))
	return Ratio{Mean: math.Exp(mean), Low: math.Exp(mean - off), High: math.Exp(mean + off)}, nil
}

// trimmed sorts the list and gives the mean without its lowest and highest tenth: a turn in which the
// machine did something else counts little.
func trimmed(list []float64) float64 {
	slices.Sort(list)
	off := len(list) / 10
	return stat.Mean(list[off:len(list)-off], nil)
}

// Tells says whether the bounds have 1 between them, as those of two clusters of the same jars should.
func (r Ratio) Tells() bool { return r.Low <= 1 && 1 <= r.High }

// AtLeast says whether the series show that the ratio is not under the bound, that it is under it, or
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
