package throughput

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noisy gives pairs whose true ratio is known, on a machine whose speed wanders by a third. Spread is
// the noise of a figure, start how far the clusters of two series differ.
func noisy(random *rand.Rand, series, rounds int, ratio, spread, start float64) (figures, baseline [][]float64) {
	about := func(spread float64) float64 { return 1 + spread*(random.Float64()-0.5) }
	for range series {
		var f, b []float64
		one, other := about(start), about(start)
		for range rounds {
			speed := 40 + 20*random.Float64()
			b = append(b, speed*one*about(spread))
			f = append(f, speed*other*ratio*about(spread))
		}
		figures, baseline = append(figures, f), append(baseline, b)
	}
	return figures, baseline
}

// random is the same in each test.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestARatioIsFoundThoughTheMachineWanders(t *testing.T) {
	for _, c := range []struct {
		name                 string
		series, rounds       int
		ratio, spread, start float64
		least, most          string
	}{
		{"the same", 5, 8, 1, 0.02, 0, "at least 0.99", "at most 1.01"},
		{"five of a hundred less", 5, 8, 0.95, 0.02, 0, "UNDER 0.99", "at most 1.01"},
		{"five of a hundred more", 5, 8, 1.05, 0.02, 0, "at least 0.99", "OVER 1.01"},
		{"too noisy", 2, 3, 1, 0.5, 0, "neither shown to be at least 0.99 nor under it", "neither shown to be at most 1.01 nor over it"},
		{"many rounds of clusters that differ", 3, 200, 1, 0.02, 0.1, "neither shown to be at least 0.99 nor under it", "neither shown to be at most 1.01 nor over it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			figures, baseline := noisy(random(), c.series, c.rounds, c.ratio, c.spread, c.start)
			r, err := Compare(figures, baseline)
			require.NoError(t, err)
			assert.Equal(t, c.least, r.AtLeast(0.99), r)
			assert.Equal(t, c.most, r.AtMost(1.01), r)
			assert.LessOrEqual(t, r.Low, r.Mean)
			assert.LessOrEqual(t, r.Mean, r.High)
			assert.Equal(t, c.ratio == 1, r.Tells())
		})
	}
}

// The mean of ratios of equal figures is above 1 where they are noisy; that of their logarithms is not.
func TestNoiseIsNoGain(t *testing.T) {
	figures, baseline := noisy(random(), 2, 1_000, 1, 0.8, 0)
	r, err := Compare(figures, baseline)
	require.NoError(t, err)
	turned, err := Compare(baseline, figures)
	require.NoError(t, err)
	require.InDelta(t, 1, r.Mean*turned.Mean, 1e-9)
	require.InDelta(t, 1, r.Mean, 0.02)
}

// TestTheBoundsHoldAsOftenAsTheySay wants them wide enough and no wider, where the clusters of a series
// differ more than its figures, and where they do not differ.
func TestTheBoundsHoldAsOftenAsTheySay(t *testing.T) {
	for _, start := range []float64{0, 0.1} {
		random, held := random(), 0
		const times = 2_000
		for range times {
			figures, baseline := noisy(random, 8, 10, 1, 0.1, start)
			r, err := Compare(figures, baseline)
			require.NoError(t, err)
			if r.Tells() {
				held++
			}
		}
		assert.InDelta(t, 0.95, float64(held)/times, 0.015, "clusters differ by %v", start)
	}
}

// TestStudentsBounds compares with a table of Student's t: 2.776 for 5 series.
func TestStudentsBounds(t *testing.T) {
	var figures, baseline [][]float64
	for _, log := range []float64{-2, -1, 0, 1, 2} { // deviation 1.5811, of the mean 0.7071
		figures, baseline = append(figures, []float64{math.Exp(log)}), append(baseline, []float64{1})
	}
	r, err := Compare(figures, baseline)
	require.NoError(t, err)
	assert.InDelta(t, 1, r.Mean, 1e-9)
	assert.InDelta(t, 2.776*0.7071, math.Log(r.High), 1e-3)
	assert.InDelta(t, -2.776*0.7071, math.Log(r.Low), 1e-3)
}

func TestPairsThatDoNotMatchAreRefused(t *testing.T) {
	for name, c := range map[string][2][][]float64{
		"none":                 {nil, nil},
		"one":                  {{{1}}, {{1}}},
		"an empty series":      {{{1}, {}}, {{1}, {}}},
		"one series is out":    {{{1}, {2}}, {{1}}},
		"one is out":           {{{1, 2}, {1}}, {{1}, {1}}},
		"nothing":              {{{1}, {1}}, {{0}, {1}}},
		"negative":             {{{1}, {1}}, {{-1}, {1}}},
		"nothing, the figures": {{{0}, {1}}, {{1}, {1}}},
	} {
		_, err := Compare(c[0], c[1])
		assert.Error(t, err, name)
	}
}
