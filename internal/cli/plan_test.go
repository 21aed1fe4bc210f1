package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

func TestAssignmentsThatWouldNotComeToAnEnd(t *testing.T) {
	p := proposal{ids: []int32{4, 5}}
	v := observer.View{Live: []int32{1, 2, 4}}
	for _, c := range []struct {
		from, to []int32
		want     string
	}{
		{[]int32{1, 2, 4}, []int32{2, 1, 4}, ""},
		{[]int32{1, 3}, []int32{3, 2}, ""}, // 3 is dead and has its copy already
		{[]int32{1, 2}, []int32{1, 3}, "broker 3 of the assignment [1 3] is not alive"},
		{[]int32{1, 3, 4}, []int32{3, 4}, "nobody who may lead, [3], is alive"},
		{[]int32{1, 4}, []int32{4}, ""}, // marked only: no observers, as upstream
		{[]int32{1, 5}, []int32{5}, "nobody who may lead, [5], is alive"},
	} {
		got := p.impossible(v, placement.Partition{Replicas: c.from}.To(c.to, p.isObserver))
		if c.want == "" {
			assert.Empty(t, got, c.to)
		} else {
			assert.Contains(t, got, c.want)
		}
	}
}
