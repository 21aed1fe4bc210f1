//go:build throughput

package throughput

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestEveryClusterHasEveryPlace wants each cluster twice at each place in eight series, and the patched
// ones, 1 and 3, never side by side.
func TestEveryClusterHasEveryPlace(t *testing.T) {
	var times [len(variants)][len(variants)]int
	for n := range 8 {
		cycle := order(n)
		for place, at := range cycle {
			times[at][place]++
			next := cycle[(place+1)%len(cycle)]
			assert.NotEqual(t, at%2, next%2, "series %d: %v", n, cycle)
		}
		assert.ElementsMatch(t, []int{0, 1, 2, 3}, cycle)
	}
	for at := range times {
		assert.Equal(t, [len(variants)]int{2, 2, 2, 2}, times[at], variants[at].name)
	}
}
