package proof

import (
	"fmt"
	"strings"

	"observer-patch/internal/patch"
)

// strayLines finds lines that differ between the two texts outside every edit.
func strayLines(f patch.File) []string {
	if f.Before == nil {
		return nil
	}
	before, after := strings.SplitAfter(string(f.Before), "\n"), strings.SplitAfter(string(f.After), "\n")
	at := [2]int{1, 1}
	same := func(upTo int) []string {
		for ; at[0] < upTo; at[0], at[1] = at[0]+1, at[1]+1 {
			if at[0] > len(before) || at[1] > len(after) || before[at[0]-1] != after[at[1]-1] {
				return []string{fmt.Sprintf("%s:%d: the text differs from upstream's line %d outside every hook", f.Path, at[1], at[0])}
			}
		}
		return nil
	}
	for _, e := range f.Edits {
		if bad := same(e.OldLines.First); bad != nil {
			return bad
		}
		if at[1] != e.NewLines.First {
			return []string{fmt.Sprintf("%s: hook %s is said to be at line %d, expected line %d", f.Path, e.Owner, e.NewLines.First, at[1])}
		}
		at = [2]int{at[0] + e.OldLines.Count, at[1] + e.NewLines.Count}
	}
	if bad := same(len(before) + 1); bad != nil {
		return bad
	}
	if at[1] != len(after)+1 {
		return []string{fmt.Sprintf("%s:%d: lines after the end of upstream's text that no hook has", f.Path, at[1])}
	}
	return nil
}
