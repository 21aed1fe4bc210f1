package install

import (
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/proof"
)

// manifestEntry names the build in a jar; an archive's may differ from the published one's.
const manifestEntry = "META-INF/MANIFEST.MF"

// unlike holds the entries of a jar against those of the changed jar: what the patch left
// must be the same, what it replaced or removed must be the release's own by its recorded
// digest, what it added must not be there. Order, times and packing do not count. Notes are
// differences that may be, problems those that may not, sorted.
func unlike(present, changed map[string]string, e *proof.Entries) (notes, problems []string) {
	own := map[string]string{}
	for _, c := range slices.Concat(e.Replaced, e.Removed) {
		own[c.Entry] = c.ReleaseSHA256
	}
	added := map[string]bool{}
	for _, c := range e.Added {
		added[c.Entry] = true
	}
	for name, sum := range changed {
		have, there := present[name]
		if want, ok := own[name]; ok {
			sum = want
		}
		switch {
		case added[name]:
			if there {
				problems = append(problems, name+" is there, which the release lacks")
			}
		case there && have == sum:
		case name == manifestEntry:
			notes = append(notes, name+" differs from the published jar's")
		case !there:
			problems = append(problems, name+" is missing")
		default:
			problems = append(problems, name+" has other content than the release's")
		}
	}
	for name, have := range present {
		if _, ok := changed[name]; ok {
			continue
		}
		want, ok := own[name]
		switch {
		case !ok:
			problems = append(problems, name+" is there, which the release lacks")
		case have != want:
			problems = append(problems, name+" has other content than the release's")
		}
	}
	slices.Sort(problems)
	return notes, problems
}

// some shortens a list for an error message.
func some(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:most], "; "), len(list)-most)
}
