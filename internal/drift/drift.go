// Package drift tells what upstream did to a hook's place, by holding the last source in which
// the place was found against the new one, and looks for anchors that would find it again.
// Upstream's text is read where it lies and never stored.
package drift

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"observer-patch/internal/anchor"
	"observer-patch/internal/proof"
	"observer-patch/internal/release"
)

// Source is an upstream file of one target.
type Source struct {
	Target release.Target
	Text   []byte
}

// Change is what became of a place between two sources.
type Change struct {
	// Miss has the cause as both sources show it together.
	Miss anchor.Miss
	// Member is the first line of the method (or field) around the place in the old source,
	// trimmed; empty when the old source does not have the place either.
	Member string
	// Diff is the unified diff of that member, empty when nothing in it changed. It is
	// upstream's text: for the eyes, not for files.
	Diff []byte

	old, new []string
	// place is the one that was not found in the new source.
	place anchor.Place
	// was is the anchored line in old, oldSpan and newSpan the member's lines; from 1, last included.
	was              int
	op               anchor.Op
	oldSpan, newSpan span
}

type span struct{ first, last int }

func (s span) of(lines []string) []string {
	if s.first < 1 {
		return nil
	}
	out := lines[s.first-1 : min(s.last, len(lines))]
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	return out
}

// Explain holds a miss in the new source against the old one, in which the hook was found. A
// miss that the old source has as well comes back as it is, without a member.
func Explain(m anchor.Miss, h anchor.Hook, old, now Source) Change {
	c := Change{Miss: m, old: trimEnds(old.Text), new: trimEnds(now.Text)}
	place, ok := h.Place(now.Target)
	found, misses := anchor.Locate(m.Path, old.Text, []anchor.Hook{h}, old.Target)
	if !ok || len(misses) > 0 || len(found) == 0 {
		return c
	}
	c.place, c.was, c.op = place, found[0].Start, found[0].Op
	if c.op == anchor.After {
		c.was = found[0].End
	}
	c.oldSpan.first, c.oldSpan.last = proof.Member(c.old, c.was)
	c.Member = strings.TrimSpace(c.old[c.oldSpan.first-1])
	renamed := c.findMember()
	c.Miss = c.judge(renamed)
	c.Diff = diff.Diff(old.Target.Release.String(), joined(c.oldSpan.of(c.old)), now.Target.Release.String(), joined(c.newSpan.of(c.new)))
	return c
}

func trimEnds(text []byte) []string {
	lines := anchor.SplitLines(text)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, "\r\n")
	}
	return lines
}

func joined(lines []string) []byte {
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// judge corrects the cause: what stood in the old source as well is neither the moved line nor
// the renamed one.
func (c *Change) judge(renamed bool) anchor.Miss {
	m := c.Miss
	wanted, header := c.wanted()
	if wanted == nil {
		return m // a fragment: the line itself was found
	}
	switch m.Cause {
	case anchor.Moved:
		now := matches(c.new, wanted)
		if now == 0 || now >= matches(c.old, wanted) {
			return m // 0: the lines are there, but no longer one after the other
		}
		m.Lines = nil
	case anchor.Renamed, anchor.Deleted:
	default:
		return m
	}
	if header && renamed {
		line := strings.TrimSpace(c.new[c.newSpan.first-1])
		m.Cause, m.Candidates = anchor.Renamed, []anchor.Candidate{{Line: c.newSpan.first, Similarity: alike(c.oldSpan.of(c.old), c.newSpan.of(c.new)), Excerpt: anchor.Excerpt(line)}}
		return m
	}
	m.Cause, m.Candidates = anchor.Deleted, c.fresh(wanted, header)
	if len(m.Candidates) > 0 && m.Candidates[0].Similarity >= similar {
		m.Cause = anchor.Renamed
	}
	return m
}

// fresh gives the lines like the wanted that the old source did not have, best first: in the
// member that the place was in, or, for a header, anywhere.
func (c *Change) fresh(wanted anchor.Lines, header bool) []anchor.Candidate {
	where := c.newSpan
	if header || where.first < 1 || c.oldSpan.first == c.was {
		where = span{1, len(c.new)}
	}
	had, has := counts(c.old), counts(c.new)
	var out []anchor.Candidate
	for i := where.first; i+len(wanted)-1 <= min(where.last, len(c.new)); i++ {
		sum, isNew := 0.0, false
		for j, w := range wanted {
			line := strings.TrimSpace(c.new[i+j-1])
			isNew = isNew || has[line] > had[line]
			if isNew || j > 0 {
				sum += anchor.Likeness(w, line)
			} else if strings.HasPrefix(line, w) {
				sum++
			}
		}
		line := strings.TrimSpace(c.new[i-1])
		if s := sum / float64(len(wanted)); s >= 0.3 && isNew && strings.HasPrefix(line, "//") == strings.HasPrefix(wanted[0], "//") {
			out = append(out, anchor.Candidate{Line: i, Similarity: s, Excerpt: anchor.Excerpt(line)})
		}
	}
	slices.SortStableFunc(out, func(a, b anchor.Candidate) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return out[:min(len(out), 3)]
}

// similar is the likeness from which a line that upstream added is taken for the old one's
// successor. The new file alone asks for more (package anchor), since most lines are old.
const similar = 0.5

// wanted gives the anchor or header that was not found, and whether it is a header; nil for a
// replacement's fragment.
func (c *Change) wanted() (lines anchor.Lines, header bool) {
	for _, in := range c.place.In {
		if in.String() == c.Miss.Wanted {
			return in, true
		}
	}
	if c.place.Anchor.String() == c.Miss.Wanted {
		return c.place.Anchor, false
	}
	return nil, false
}

// counts tells how often each trimmed line stands in a text.
func counts(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		out[strings.TrimSpace(l)]++
	}
	return out
}

// matches counts where lines begin as the anchor's do.
func matches(lines []string, a anchor.Lines) int {
	n := 0
	for i := 0; i+len(a) <= len(lines); i++ {
		ok := true
		for j := 0; ok && j < len(a); j++ {
			ok = strings.HasPrefix(strings.TrimSpace(lines[i+j]), a[j])
		}
		if ok {
			n++
		}
	}
	return n
}
