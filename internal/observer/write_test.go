package observer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"observer-patch/internal/observer"
)

func TestARenderedFileIsReadAsItsIDsByANodeInEitherMode(t *testing.T) {
	for _, list := range [][]int32{{}, {4}, {5, 4, 4}, {2147483647, 0}} {
		for _, strict := range []bool{false, true} {
			content := observer.RenderFile(list, strict)
			assert.Equal(t, observer.With(list), append([]int32{}, observer.ParseFile(content).IDs...))
			// A node that had another list before takes it over with the second equal look.
			r := observer.NewReader("f", nil, strict)
			r.Step(observer.Reading{Content: []byte("7\n"), Stamp: "a"}, 0)
			r.Step(observer.Reading{Content: content, Stamp: "b"}, time.Second)
			r.Step(observer.Reading{Content: content, Stamp: "b"}, 2*time.Second)
			assert.Equal(t, observer.With(list), append([]int32{}, r.IDs()...), "%v strict %v", list, strict)
			assert.Equal(t, observer.OK, r.State())
		}
	}
}
