package throughput

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noisy gives pairs whose true ratio is known, on a machine whose speed wanders by a third.
func noisy(pairs int, ratio, spread float64) (figures, baseline []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range pairs {
		speed := 40 + 20*random.Float64()
		baseline = append(baseline, speed*(1+spread*(random.Float64()-0.5)))
		figures = append(figures, speed*ratio*(1+spread*(random.Float64()-0.5)))
	}
	return figures, baseline
}

func TestARatioIsFoundThoughTheMachineWanders(t *testing.T) {
	for _, c := range []struct {
		name          string
		pairs         int
		ratio, spread float64
		least, most   string
	}{
		{"the same", 40, 1, 0.02, "at least 0.99", "at most 1.01"},
		{"five of a hundred less", 40, 0.95, 0.02, "UNDER 0.99", "at most 1.01"},
		{"five of a hundred more", 40, 1.05, 0.02, "at least 0.99", "OVER 1.01"},
		{"too noisy", 6, 1, 0.5, "neither shown to be at least 0.99 nor under it", "neither shown to be at most 1.01 nor over it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			figures, baseline := noisy(c.pairs, c.ratio, c.spread)
			r, err := Compare(figures, baseline, 7)
			require.NoError(t, err)
			assert.Equal(t, c.least, r.AtLeast(0.99), r)
			assert.Equal(t, c.most, r.AtMost(1.01), r)
			assert.LessOrEqual(t, r.Low, r.Mean)
			assert.LessOrEqual(t, r.Mean, r.High)
			assert.Equal(t, c.pairs, r.Pairs)
			again, err := Compare(figures, baseline, 7)
			require.NoError(t, err)
			assert.Equal(t, r, again)
		})
	}
}

func TestOnePairHasNoSpread(t *testing.T) {
	r, err := Compare([]float64{3}, []float64{2}, 1)
	require.NoError(t, err)
	assert.Equal(t, Ratio{Mean: 1.5, Low: 1.5, High: 1.5, Pairs: 1}, r)
	assert.Equal(t, "1.500 (1.500 to 1.500)", r.String())
}

func TestPairsThatDoNotMatchAreRefused(t *testing.T) {
	for name, c := range map[string][2][]float64{
		"none":       {nil, nil},
		"one is out": {{1, 2}, {1}},
		"nothing":    {{1}, {0}},
		"negative":   {{1}, {-1}},
	} {
		_, err := Compare(c[0], c[1], 1)
		assert.Error(t, err, name)
	}
}
