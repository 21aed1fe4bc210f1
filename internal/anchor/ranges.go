package anchor

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Range is a set of releases in semver's notation, e.g. ">=3.7 <4". The zero Range is all.
type Range struct {
	text        string
	constraints *semver.Constraints
}

// ParseRange reads a range; the empty text is all releases.
func ParseRange(text string) (Range, error) {
	if text == "" {
		return Range{}, nil
	}
	c, err := semver.NewConstraint(text)
	if err != nil {
		return Range{}, fmt.Errorf("range %q: %w; write for example \">=3.7 <4\"", text, err)
	}
	return Range{text: text, constraints: c}, nil
}

// Matches tells whether the range has the release. A pre-release (4.4.0-rc1) counts as the
// release that it becomes: its files are those of the release.
func (r Range) Matches(v *semver.Version) bool {
	if r.constraints == nil {
		return true
	}
	return r.constraints.Check(semver.New(v.Major(), v.Minor(), v.Patch(), "", ""))
}

// String gives the range as it was written, "all" for the zero Range.
func (r Range) String() string {
	if r.text == "" {
		return "all"
	}
	return r.text
}
