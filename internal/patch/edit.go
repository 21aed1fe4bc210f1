package patch

import (
	"fmt"
	"sort"
	"strings"

	"observer-patch/internal/anchor"
)

// section is what one hook writes, and before which line (from 0).
type section struct {
	gap   int
	after bool // belongs to the line above the gap
	loc   anchor.Located
}

// Apply writes the sections of located places into a file and gives the new text with its
// edits, in the order of lines. Sections at one gap keep the order of located, those after
// the line above before those of the line below. Line ends are those of the anchored line.
func Apply(src []byte, located []anchor.Located) ([]byte, []Edit, error) {
	lines := anchor.SplitLines(src)
	var inserts []section
	replaces := map[int]anchor.Located{}
	for _, l := range located {
		if l.Start < 1 || l.End > len(lines) || l.Start > l.End {
			return nil, nil, fmt.Errorf("hook %s: %s has %d lines, the place is lines %d to %d; locate it in this very file", l.Hook, l.Path, len(lines), l.Start, l.End)
		}
		switch l.Op {
		case anchor.Before:
			inserts = append(inserts, section{gap: l.Start - 1, loc: l})
		case anchor.After:
			inserts = append(inserts, section{gap: l.End, after: true, loc: l})
		case anchor.Replace:
			if other, taken := replaces[l.Start-1]; taken {
				return nil, nil, fmt.Errorf("%s: hooks %s and %s replace in the same line %d; make them one entry", l.Path, other.Hook, l.Hook, l.Start)
			}
			replaces[l.Start-1] = l
		default:
			return nil, nil, fmt.Errorf("hook %s: unknown op %q", l.Hook, l.Op)
		}
	}
	sort.SliceStable(inserts, func(i, j int) bool {
		a, b := inserts[i], inserts[j]
		if a.gap != b.gap {
			return a.gap < b.gap
		}
		return a.after && !b.after
	})
	w := &writer{eol: lineEnd(lines)}
	w.bare = len(lines) > 0 && !strings.HasSuffix(lines[len(lines)-1], "\n")
	for i := 0; i <= len(lines); i++ {
		for len(inserts) > 0 && inserts[0].gap == i {
			w.insert(i, inserts[0].loc, i == len(lines))
			inserts = inserts[1:]
		}
		if i == len(lines) {
			break
		}
		if l, ok := replaces[i]; ok {
			w.replace(i, lines[i], l)
		} else {
			w.out = append(w.out, lines[i])
		}
	}
	return []byte(strings.Join(w.out, "")), w.edits, nil
}

// lineEnd gives the line end of a file: that of its first line, "\n" when it has none.
func lineEnd(lines []string) string {
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

type writer struct {
	out   []string
	edits []Edit
	eol   string
	// bare says that the file's last line has no line end. Whatever is written after it gives
	// it one and has none itself, so that a reversal knows.
	bare bool
}

func (w *writer) insert(gap int, l anchor.Located, atEnd bool) {
	e := Edit{Owner: l.Hook, OldLines: Lines{gap + 1, 0}, NewLines: Lines{First: len(w.out) + 1}}
	if atEnd && w.bare {
		last := len(w.out) - 1
		if len(w.edits) == 0 || w.edits[len(w.edits)-1].OldLines.First+w.edits[len(w.edits)-1].OldLines.Count <= gap {
			e.OldLines, e.NewLines.First = Lines{gap, 1}, last+1
		}
		w.out[last] += w.eol
	}
	w.fenced(l, strings.Split(indented(l.Body, l.Indent), "\n"))
	if atEnd && w.bare {
		w.out[len(w.out)-1] = strings.TrimSuffix(w.out[len(w.out)-1], w.eol)
	}
	e.NewLines.Count = len(w.out) + 1 - e.NewLines.First
	w.edits = append(w.edits, e)
}

func (w *writer) replace(i int, line string, l anchor.Located) {
	e := Edit{Owner: l.Hook, OldLines: Lines{i + 1, 1}, NewLines: Lines{First: len(w.out) + 1}}
	text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	head, tail := gapParts(l.Body, l.Indent)
	text = text[:l.Column] + head + l.Fragment + tail + text[l.Column+len(l.Fragment):]
	w.fenced(l, strings.Split(text, "\n"))
	if !strings.HasSuffix(line, "\n") {
		w.out[len(w.out)-1] = strings.TrimSuffix(w.out[len(w.out)-1], w.eol)
	}
	e.NewLines.Count = len(w.out) + 1 - e.NewLines.First
	w.edits = append(w.edits, e)
}

func (w *writer) fenced(l anchor.Located, body []string) {
	w.out = append(w.out, l.Indent+anchor.OpenFence(l.Hook)+w.eol)
	for _, b := range body {
		w.out = append(w.out, b+w.eol)
	}
	w.out = append(w.out, l.Indent+anchor.CloseFence()+w.eol)
}

// indented puts indent before each non-blank line.
func indented(body, indent string) string {
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = indent + l
		}
	}
	return strings.Join(lines, "\n")
}

// gapParts gives what a replacement writes before and after the wrapped text: the first
// line goes on within upstream's line, the others are indented.
func gapParts(body, indent string) (head, tail string) {
	head, tail = anchor.SplitGap(body)
	const mark = "x" // a line that has it is not blank, and so is indented
	head = strings.TrimSuffix(strings.TrimPrefix(indented(mark+head+mark, indent), indent+mark), mark)
	tail = strings.TrimPrefix(indented(mark+tail, indent), indent+mark)
	return head, tail
}
