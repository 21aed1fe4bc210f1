package anchor

import (
	"strings"

	"observer-patch/internal/release"
)

// Located is a place that was found.
type Located struct {
	Hook string
	// Path is upstream's path.
	Path string
	Op   Op
	// Start and End are the first and last anchored line, from 1. For a replacement both are
	// the line that has the fragment.
	Start, End int
	// Indent is the white space that goes before the fences and the body's lines.
	Indent string
	Body   string
	// Column is the offset in bytes of Fragment in line Start; replacements only.
	Column   int
	Fragment string
	// Place is the place for people, Pos where the catalog has it.
	Place, Pos string
}

// Locate finds the places of hooks in a file, in the order of hooks. Every hook gives either
// one Located or one Miss. It never fails on odd input: what cannot be found is a miss.
func Locate(path string, src []byte, hooks []Hook, t release.Target) ([]Located, []Miss) {
	lines := SplitLines(src)
	x := text{path: path, lines: lines, trimmed: make([]string, len(lines))}
	for i, l := range lines {
		x.trimmed[i] = strings.TrimSpace(l)
	}
	fence := FirstFence(src)
	var found []Located
	var misses []Miss
	for _, h := range hooks {
		miss := Miss{Hook: h.ID, Path: path, Pos: h.Pos}
		p, ok := h.Place(t)
		switch {
		case !ok:
			miss.Cause = NoPlace
			misses = append(misses, miss)
			continue
		case fence > 0:
			miss.Cause, miss.Lines = Patched, []int{fence}
			misses = append(misses, miss)
			continue
		}
		if l, m := x.locate(h, p, p.Bodies[t.Set]); m != nil {
			misses = append(misses, *m)
		} else {
			found = append(found, l)
		}
	}
	return found, misses
}

// text is a file as the search sees it. Line indexes count from 0 here.
type text struct {
	path    string
	lines   []string
	trimmed []string
}

func (x text) locate(h Hook, p Place, body string) (Located, *Miss) {
	lo, hi := 0, len(x.lines)
	for _, header := range p.In {
		at := x.matches(header, lo, hi)
		if len(at) != 1 {
			return Located{}, x.miss(h, p, header, at, lo, hi, "")
		}
		last := at[0] + len(header) - 1
		lo, hi = last+1, x.scopeEnd(at[0], last+1, hi)
	}
	at := x.matches(p.Anchor, lo, hi)
	if len(at) != 1 {
		return Located{}, x.miss(h, p, p.Anchor, at, lo, hi, body)
	}
	first, last := at[0], at[0]+len(p.Anchor)-1
	if there := x.adopted(p, first, last, body); there >= 0 {
		return Located{}, &Miss{Hook: h.ID, Path: x.path, Cause: Present, Wanted: p.Anchor.String(), Count: 1, Lines: []int{there + 1}, Pos: p.Pos}
	}
	out := Located{Hook: h.ID, Path: x.path, Op: p.Op, Start: first + 1, End: last + 1, Body: body,
		Fragment: p.Fragment, Place: p.String(), Pos: p.Pos}
	switch p.Op {
	case After:
		out.Indent = x.indent(last)
		for i := last + 1; i < len(x.lines); i++ {
			if x.trimmed[i] != "" {
				if in := x.indent(i); len(in) > len(out.Indent) {
					out.Indent = in
				}
				break
			}
		}
	case Replace:
		var where []int
		for i := first; i <= last; i++ {
			for range strings.Count(x.lines[i], p.Fragment) {
				where = append(where, i)
			}
		}
		if len(where) != 1 {
			return Located{}, x.fragmentMiss(h, p, where, first)
		}
		n := where[0]
		out.Start, out.End, out.Indent = n+1, n+1, x.indent(n)
		out.Column = strings.Index(x.lines[n], p.Fragment)
	default:
		out.Indent = x.indent(first)
	}
	return out, nil
}

// matches gives the indexes in [lo,hi) at which the anchor's lines stand.
func (x text) matches(a Lines, lo, hi int) []int {
	var at []int
	for i := lo; i+len(a) <= hi; i++ {
		ok := len(a) > 0
		for j := 0; ok && j < len(a); j++ {
			ok = strings.HasPrefix(x.trimmed[i+j], a[j])
		}
		if ok {
			at = append(at, i)
		}
	}
	return at
}

// scopeEnd gives the end of the scope of a header: the first line from next on that is
// indented no deeper. Lines that close or open a bracket belong to a header of several lines.
func (x text) scopeEnd(header, next, hi int) int {
	depth := len(x.indent(header))
	for i := next; i < hi; i++ {
		if s := x.trimmed[i]; s != "" && len(x.indent(i)) <= depth && !strings.ContainsAny(s[:1], ")]{") {
			return i
		}
	}
	return hi
}

func (x text) indent(i int) string {
	l := x.lines[i]
	return l[:len(l)-len(strings.TrimLeft(l, " \t"))]
}
