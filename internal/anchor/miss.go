package anchor

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Cause says what happened to a place.
type Cause string

const (
	// NoPlace: no place of the hook is for this release, and it does not say absent.
	NoPlace Cause = "no place"
	// NoFile: upstream's file is not in the tree.
	NoFile Cause = "no file"
	// Patched: the file has fences already.
	Patched Cause = "already patched"
	// Present: the body's lines stand in the file without fences.
	Present Cause = "already upstream"
	// Moved: the lines are in the file, but not in the scope.
	Moved Cause = "moved"
	// Renamed: a similar line stands in the scope.
	Renamed Cause = "renamed"
	// Duplicated: more than one place matches.
	Duplicated Cause = "duplicated"
	// Deleted: nothing like it is left.
	Deleted Cause = "deleted"
)

// Miss is a place that was not found exactly once.
type Miss struct {
	Hook  string `json:"hook"`
	Path  string `json:"path"`
	Cause Cause  `json:"cause"`
	// Wanted is the anchor or header that was not found once.
	Wanted string `json:"wanted,omitempty"`
	// Count is how often it was found in its scope.
	Count int `json:"count"`
	// Lines are where it was found, in the scope or (moved) outside, from 1.
	Lines []int `json:"lines,omitempty"`
	// Candidates are the lines most like it, best first.
	Candidates []Candidate `json:"candidates,omitempty"`
	Pos        string      `json:"pos"`
}

// Candidate is a line that resembles an anchor.
type Candidate struct {
	Line int `json:"line"`
	// Similarity is 1 less the edit distance over the anchor's length, 0 to 1.
	Similarity float64 `json:"similarity"`
	// Excerpt is at most 60 characters of the line.
	Excerpt string `json:"excerpt"`
}

// similar is the likeness from which a line is taken for the renamed anchor.
const similar = 0.6

// candidates is how many are shown.
const candidates = 3

// excerptLength is the longest piece of upstream's text that a message shows.
const excerptLength = 60

// NotThere gives a miss for each hook of a file that the tree does not have.
func NotThere(path string, hooks []Hook) []Miss {
	var out []Miss
	for _, h := range hooks {
		out = append(out, Miss{Hook: h.ID, Path: path, Cause: NoFile, Pos: h.Pos})
	}
	return out
}

// Error gives the miss on one line, then one line for each candidate.
func (m Miss) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hook %s: %s: %s", m.Hook, m.Path, m.Cause)
	if m.Wanted != "" {
		fmt.Fprintf(&b, ": expected once, found %d: %q", m.Count, m.Wanted)
	}
	if len(m.Lines) > 0 {
		fmt.Fprintf(&b, " at line %s", joinInts(m.Lines))
		switch {
		case m.Cause == Moved && len(m.Lines) > 1 && strings.Contains(m.Wanted, lineBreak):
			b.WriteString(", outside its scope or no longer one after the other")
		case m.Cause == Moved:
			b.WriteString(", outside its scope")
		}
	}
	fmt.Fprintf(&b, " (%s)", m.Pos)
	for _, c := range m.Candidates {
		fmt.Fprintf(&b, "\n  %3.0f%%  line %-5d %s", c.Similarity*100, c.Line, c.Excerpt)
	}
	return b.String()
}

func (x text) miss(h Hook, p Place, wanted Lines, at []int, lo, hi int, body string) *Miss {
	m := &Miss{Hook: h.ID, Path: x.path, Wanted: wanted.String(), Count: len(at), Pos: p.Pos}
	if len(at) > 1 {
		m.Cause, m.Lines = Duplicated, numbers(at)
		return m
	}
	if at := x.bodyAt(body); at >= 0 && p.Op != Replace {
		m.Cause, m.Lines = Present, []int{at + 1}
		return m
	}
	if at := x.filledAt(p, body, lo, hi); at >= 0 {
		m.Cause, m.Lines = Present, []int{at + 1}
		return m
	}
	if apart := x.apart(wanted, lo, hi); apart != nil {
		m.Cause, m.Lines = Moved, numbers(apart)
		return m
	}
	if elsewhere := x.matches(wanted, 0, len(x.lines)); len(elsewhere) > 0 {
		m.Cause, m.Lines = Moved, numbers(elsewhere)
		return m
	}
	m.Candidates = x.nearest(wanted, lo, hi)
	m.Cause = Deleted
	if len(m.Candidates) > 0 && m.Candidates[0].Similarity >= similar {
		m.Cause = Renamed
		return m
	}
	// Nothing in the scope: perhaps it went elsewhere under another name.
	if wide := x.nearest(wanted, 0, len(x.lines)); len(wide) > 0 && wide[0].Similarity >= similar {
		m.Candidates = wide
	}
	return m
}

// adopted gives the index at which the hook's own lines stand beside the anchored ones, or in
// them, without fences; -1 when they do not.
func (x text) adopted(p Place, first, last int, body string) int {
	want := meaning(strings.Split(body, "\n"))
	if len(want) == 0 {
		return -1
	}
	var from, to int
	switch p.Op {
	case Before:
		from, to = max(0, first-2*len(want)-2), first
	case After:
		from, to = last+1, min(len(x.lines), last+2*len(want)+3)
	default:
		return x.filledAt(p, body, first, last+1)
	}
	have := meaning(x.trimmed[from:to])
	if len(have) < len(want) {
		return -1
	}
	have, skipped := have[:len(want)], 0
	if p.Op == Before {
		all := meaning(x.trimmed[from:to])
		skipped = len(all) - len(want)
		have = all[skipped:]
	}
	if !slices.Equal(have, want) {
		return -1
	}
	for i := from; i < to; i++ {
		if len(meaning(x.trimmed[i:i+1])) == 0 {
			continue
		}
		if skipped == 0 {
			return i
		}
		skipped--
	}
	return -1
}

// filledAt gives the index of the line in [lo,hi) that reads as a replacement would make it, -1
// when none does. Bodies of several lines are not looked for.
func (x text) filledAt(p Place, body string, lo, hi int) int {
	if p.Op != Replace || body == "" || strings.Contains(body, "\n") {
		return -1
	}
	head, tail := SplitGap(body)
	if strings.TrimSpace(head+tail) == "" {
		return -1
	}
	for i := lo; i < hi; i++ {
		if strings.Contains(x.lines[i], head+p.Fragment+tail) {
			return i
		}
	}
	return -1
}

// meaning gives the trimmed lines that are neither blank nor comments.
func meaning(lines []string) []string {
	var out []string
	for _, l := range lines {
		if s := strings.TrimSpace(l); s != "" && !isComment(s) {
			out = append(out, s)
		}
	}
	return out
}

func isComment(trimmed string) bool {
	return strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "/*") || strings.HasPrefix(trimmed, "*")
}

// gap is how many lines may have come between two anchored ones for them to count as the same.
const gap = 5

// apart gives the indexes at which the lines of an anchor stand in their order within [lo,hi),
// no longer one after the other but near; nil when they do not, or do so at several places.
func (x text) apart(wanted Lines, lo, hi int) []int {
	if len(wanted) < 2 {
		return nil
	}
	var found []int
	for _, end := range x.matches(wanted[len(wanted)-1:], lo, hi) {
		at := make([]int, len(wanted))
		at[len(at)-1] = end
		ok := true
		for i := len(wanted) - 2; ok && i >= 0; i-- {
			before := x.matches(wanted[i:i+1], max(lo, at[i+1]-gap-1), at[i+1])
			if ok = len(before) > 0; ok {
				at[i] = before[len(before)-1]
			}
		}
		if ok && found != nil {
			return nil
		}
		if ok {
			found = at
		}
	}
	return found
}

func (x text) fragmentMiss(h Hook, p Place, where []int, first int) *Miss {
	m := &Miss{Hook: h.ID, Path: x.path, Wanted: p.Fragment, Count: len(where), Cause: Renamed, Pos: p.Pos}
	if len(where) > 1 {
		m.Cause, m.Lines = Duplicated, numbers(where)
		return m
	}
	for i, a := range p.Anchor {
		m.Candidates = append(m.Candidates, Candidate{Line: first + i + 1, Similarity: likeness(a, x.trimmed[first+i]), Excerpt: Excerpt(x.trimmed[first+i])})
	}
	return m
}

// bodyAt gives the index at which the body's lines stand, -1 when they do not.
func (x text) bodyAt(body string) int {
	var want []string
	for _, l := range strings.Split(body, "\n") {
		if s := strings.TrimSpace(l); s != "" {
			want = append(want, s)
		}
	}
	if len(want) == 0 {
		return -1
	}
	for i, s := range x.trimmed {
		if s != want[0] {
			continue
		}
		n := 0
		for j := i; j < len(x.trimmed) && n < len(want); j++ {
			if x.trimmed[j] == "" {
				continue
			}
			if x.trimmed[j] != want[n] {
				break
			}
			n++
		}
		if n == len(want) {
			return i
		}
	}
	return -1
}

func (x text) nearest(wanted Lines, lo, hi int) []Candidate {
	var all []Candidate
	for i := lo; i+len(wanted) <= hi && len(wanted) > 0; i++ {
		sum := 0.0
		for j, w := range wanted {
			if isComment(x.trimmed[i+j]) && !isComment(w) {
				continue
			}
			sum += Likeness(w, x.trimmed[i+j])
		}
		if s := sum / float64(len(wanted)); s >= 0.3 {
			all = append(all, Candidate{Line: i + 1, Similarity: s, Excerpt: Excerpt(x.trimmed[i])})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Similarity > all[j].Similarity })
	return all[:min(len(all), candidates)]
}

var modifiers = regexp.MustCompile(`^(?:(?:public|private|protected|static|final|abstract|override|implicit|lazy|sealed|synchronized)(?:\[\w+\])? )+`)

// bare gives a declaration without its modifiers: those come and go.
func bare(line string) string { return modifiers.ReplaceAllString(line, "") }

// Likeness tells how much the beginning of a trimmed line is like an anchor, 0 to 1: 1 less the
// edit distance over the anchor's length, with or without modifiers, whichever is more.
func Likeness(anchor, line string) float64 {
	plain := likeness(anchor, line)
	if a, l := bare(anchor), bare(line); len(a) < len(anchor) || len(l) < len(line) {
		return max(plain, likeness(a, l))
	}
	return plain
}

// likeness compares an anchor with the beginning of a line.
func likeness(anchor, line string) float64 {
	a, b := []rune(anchor), []rune(line)
	a = a[:min(len(a), 200)]
	b = b[:min(len(b), len(a))]
	if len(a) == 0 || len(b)*3 < len(a) {
		return 0
	}
	if slices.Equal(a, b) {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return 1 - float64(row[len(b)])/float64(max(len(a), len(b)))
}

// Excerpt gives at most 60 characters of a text of upstream, for messages.
func Excerpt(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if utf8.RuneCountInString(s) <= excerptLength {
		return s
	}
	return string([]rune(s)[:excerptLength-1]) + "…"
}

func numbers(at []int) []int {
	out := make([]int, len(at))
	for i, n := range at {
		out[i] = n + 1
	}
	return out
}

func joinInts(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, ", ")
}
