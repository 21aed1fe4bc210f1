package classfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// 3.8.1's ReplicationControlManager: a hook's constants moved those of a method after it past
// index 255, and the method seemed changed.
func TestAMethodIsTheSameWhereItsConstantsMovePastIndex255(t *testing.T) {
	var many strings.Builder
	many.WriteString("static void many(List<String> l) {")
	for i := range 300 {
		fmt.Fprintf(&many, "l.add(%q);", fmt.Sprint("constant ", i))
	}
	many.WriteString("}\n")
	crowded := original()
	crowded.field = many.String() + crowded.field
	classes := compileAll(t, []variant{original(), crowded})
	before, err := Methods(classes[0])
	require.NoError(t, err)
	after, err := Methods(classes[1])
	require.NoError(t, err)
	digests := map[string]string{}
	for _, m := range after.Methods {
		digests[m.Name+m.Descriptor] = m.Digest
	}
	for _, m := range before.Methods {
		assert.Equal(t, m.Digest, digests[m.Name+m.Descriptor], m.Name)
	}
	assert.False(t, bytes.Equal(classes[0], classes[1]))
}
