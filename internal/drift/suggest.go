package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/anchor"
)

// Suggestion is a place that the new source has exactly once.
type Suggestion struct {
	Place anchor.Place
	// Line is where it is in the new source, from 1; Off how many lines from where the old
	// anchor would stand now.
	Line, Off int
	// All tells that every release that used the old place has this one exactly once too, so
	// that it can take its place. Otherwise it is one for the new release on.
	All bool
	// Lacking are the releases that do not have it exactly once.
	Lacking []string
}

// suggestions is how many are given.
const suggestions = 3

// near is how far from the old place a line may be.
const near = 12

// Suggest looks for places near the old one that are there exactly once in the new source:
// first those that every other release has exactly once as well. others are the sources of
// those releases, whose targets must find the hook at the place that broke.
func (c *Change) Suggest(h anchor.Hook, now Source, others []Source) []Suggestion {
	if c.newSpan.first < 1 {
		return nil
	}
	expected := c.expected()
	var out []Suggestion
	for i := max(c.newSpan.first+1, expected-near); i <= min(c.newSpan.last, expected+near); i++ {
		text := strings.TrimSpace(c.new[i-1])
		if len(nameOnly(text)) < 4 || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "*") {
			continue
		}
		s, ok := c.suggestion(i, expected, text, h, now, others)
		if ok {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Suggestion) int {
		if a.All != b.All {
			if a.All {
				return -1
			}
			return 1
		}
		return cmp.Compare(max(a.Off, -a.Off), max(b.Off, -b.Off))
	})
	return out[:min(len(out), suggestions)]
}

// nameOnly leaves the letters of a line.
func nameOnly(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
}

// expected is the line of the new source at which the old anchor would stand: as far from the
// nearest line that both members have once as it was in the old source.
func (c *Change) expected() int {
	oldCount, newCount := counts(c.oldSpan.of(c.old)), counts(c.newSpan.of(c.new))
	for d := 0; d <= c.oldSpan.last-c.oldSpan.first; d++ {
		for _, at := range []int{c.was + d, c.was - d} {
			if at < c.oldSpan.first || at > c.oldSpan.last {
				continue
			}
			text := strings.TrimSpace(c.old[at-1])
			if text == "" || oldCount[text] != 1 || newCount[text] != 1 {
				continue
			}
			for i := c.newSpan.first; i <= c.newSpan.last; i++ {
				if strings.TrimSpace(c.new[i-1]) == text {
					return i + c.was - at
				}
			}
		}
	}
	return min(c.newSpan.last, c.newSpan.first+c.was-c.oldSpan.first)
}

// suggestion makes the shortest place for a line of the new source that is unambiguous.
func (c *Change) suggestion(line, expected int, text string, h anchor.Hook, now Source, others []Source) (Suggestion, bool) {
	p := anchor.Place{Op: anchor.Before, Fragment: c.place.Fragment, Bodies: c.place.Bodies}
	switch {
	case c.op == anchor.Replace:
		p.Op = anchor.Replace
		if strings.Count(c.new[line-1], p.Fragment) != 1 {
			return Suggestion{}, false
		}
	case line < expected, line == expected && c.op == anchor.After:
		p.Op = anchor.After
	}
	best, ok := Suggestion{}, false
	for _, in := range c.headers() {
		p.In = in
		for _, prefix := range prefixes(text) {
			p.Anchor = anchor.Lines{prefix}
			if at, once := locate(h, p, now); !once || at != line {
				continue
			}
			s := Suggestion{Place: p, Line: line, Off: line - expected, All: true}
			for _, o := range others {
				if _, once := locate(h, p, o); !once {
					s.All, s.Lacking = false, append(s.Lacking, o.Target.Release.String())
				}
			}
			if !ok || len(s.Lacking) < len(best.Lacking) {
				best, ok = s, true
			}
			if s.All {
				return best, true
			}
		}
	}
	return best, ok
}

// headers are the scopes to try: the broken place's own, then the member's header.
func (c *Change) headers() [][]anchor.Lines {
	header := strings.TrimSpace(c.new[c.newSpan.first-1])
	if at := strings.Index(header, "("); at > 0 {
		header = header[:at+1]
	}
	return [][]anchor.Lines{c.place.In, {anchor.Lines{header}}}
}

// prefixes are the beginnings of a line that end after a word or bracket, the shortest that
// says something first.
func prefixes(text string) []string {
	var out []string
	for i := 1; i < min(len(text), longest); i++ {
		if i >= 8 && strings.ContainsRune(" (.,=", rune(text[i])) {
			end := i
			if text[i] == '(' {
				end++
			}
			out = append(out, strings.TrimRight(text[:end], " "))
		}
	}
	if len(text) <= longest {
		out = append(out, text)
	}
	return out
}

// longest is the most that is taken of a line: an anchor identifies a place, and is no copy of it.
const longest = 60

// locate finds a place in a source, as the hook's only one.
func locate(h anchor.Hook, p anchor.Place, s Source) (line int, once bool) {
	h.Places = []anchor.Place{p}
	found, misses := anchor.Locate("", s.Text, []anchor.Hook{h}, s.Target)
	if len(misses) > 0 || len(found) != 1 {
		return 0, false
	}
	return found[0].Start, true
}

// YAML gives the suggestion as an entry of places: for the hook's catalog file.
func (s Suggestion) YAML(release string) string {
	var b strings.Builder
	lead := "  - "
	if !s.All {
		fmt.Fprintf(&b, "  - releases: \">=%s\"\n", release)
		lead = "    "
	}
	if len(s.Place.In) > 0 {
		headers := make([]string, len(s.Place.In))
		for i, in := range s.Place.In {
			headers[i] = quoted(in)
		}
		fmt.Fprintf(&b, "%sin: [%s]\n", lead, strings.Join(headers, ", "))
		lead = "    "
	}
	if s.Place.Op == anchor.Replace {
		fmt.Fprintf(&b, "%sreplace:\n      line: %s\n      text: %q\n", lead, quoted(s.Place.Anchor), s.Place.Fragment)
		return b.String()
	}
	fmt.Fprintf(&b, "%s%s: %s\n", lead, s.Place.Op, quoted(s.Place.Anchor))
	return b.String()
}

func quoted(l anchor.Lines) string {
	if len(l) == 1 {
		return fmt.Sprintf("%q", l[0])
	}
	parts := make([]string, len(l))
	for i, s := range l {
		parts[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
