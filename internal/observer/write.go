package observer

import (
	"fmt"
	"slices"
	"strings"
)

// RenderFile gives the content of an identity file that says the ids: the same bytes on every
// node. In strict mode (KAFKA_OBSERVER_STRICT) an empty list is the word none; elsewhere that word
// is no id like any other and would freeze the old list, so there an empty list is a comment only.
func RenderFile(ids []int32, strict bool) []byte {
	var b strings.Builder
	b.WriteString("# Observers of this cluster, the same list on every broker and controller.\n")
	list := slices.Clone(ids)
	slices.Sort(list)
	for _, id := range slices.Compact(list) {
		fmt.Fprintln(&b, id)
	}
	if len(list) == 0 && strict {
		b.WriteString("none\n")
	}
	return []byte(b.String())
}
