package patch

import (
	"fmt"
	"sort"
	"strings"

	"github.com/sourcegraph/go-diff/diff"

	"observer-patch/internal/anchor"
)

// line is one line of a hunk: its sign and its text with the line end.
type line struct {
	sign byte
	text string
}

// parts gives the lines of a hunk's body.
func parts(h *diff.Hunk) []line {
	var out []line
	at := 0
	for _, l := range strings.SplitAfter(string(h.Body), "\n") {
		if l == "" {
			continue
		}
		at += len(l)
		p := line{sign: l[0], text: l[1:]}
		switch {
		case l == "\n" || l == "\r\n": // some mailers drop the blank of an empty context line
			p = line{sign: ' ', text: l}
		case p.sign == '-' && at == int(h.OrigNoNewlineAt):
			p.text = strings.TrimSuffix(p.text, "\n")
		}
		out = append(out, p)
	}
	return out
}

// sides gives the lines of a hunk before and after.
func sides(h *diff.Hunk) (before, after []string) {
	for _, p := range parts(h) {
		if p.sign != '+' {
			before = append(before, p.text)
		}
		if p.sign != '-' {
			after = append(after, p.text)
		}
	}
	return before, after
}

// fit applies the hunks of one file, or says of each that does not fit where it would.
func fit(name string, src []byte, hs []*diff.Hunk) (File, []error) {
	f := File{Path: name, Before: src}
	lines := anchor.SplitLines(src)
	var out []string
	var bad []error
	next := 0
	for i, h := range hs {
		before, after := sides(h)
		at := int(h.OrigStartLine) - 1
		if h.OrigLines == 0 {
			at++
		}
		if at < next || !standsAt(lines, before, at) || !endsRight(lines, h, at) {
			bad = append(bad, misfit(name, i+1, h, lines, before, after))
			continue
		}
		out = append(out, lines[next:at]...)
		next = at
		owner := fmt.Sprintf("%s#%d", name, i+1)
		for _, p := range parts(h) {
			switch p.sign {
			case ' ':
				out = append(out, p.text)
				next++
				continue
			case '-':
				f.grow(owner, next, len(out)).OldLines.Count++
				next++
			case '+':
				f.grow(owner, next, len(out)).NewLines.Count++
				out = append(out, p.text)
			}
		}
	}
	out = append(out, lines[next:]...)
	f.After = []byte(strings.Join(out, ""))
	return f, bad
}

// grow gives the edit that ends at these lines, a new one when there is none.
func (f *File) grow(owner string, old, now int) *Edit {
	if n := len(f.Edits); n > 0 {
		if e := &f.Edits[n-1]; e.Owner == owner && e.OldLines.end() == old && e.NewLines.end() == now {
			return e
		}
	}
	f.Edits = append(f.Edits, Edit{Owner: owner, OldLines: Lines{First: old + 1}, NewLines: Lines{First: now + 1}})
	return &f.Edits[len(f.Edits)-1]
}

func standsAt(lines, want []string, at int) bool {
	if at < 0 || at+len(want) > len(lines) {
		return false
	}
	for i, w := range want {
		if lines[at+i] != w {
			return false
		}
	}
	return true
}

// endsRight refuses a text without a line end anywhere but at the end of the file.
func endsRight(lines []string, h *diff.Hunk, at int) bool {
	_, after := sides(h)
	for i, l := range after {
		if !strings.HasSuffix(l, "\n") && (i < len(after)-1 || at+int(h.OrigLines) < len(lines)) {
			return false
		}
	}
	return true
}

func misfit(name string, n int, h *diff.Hunk, lines, before, after []string) error {
	say := func(format string, args ...any) error {
		return fmt.Errorf("  %s: hunk %d %s: %s", name, n, hunkHeader(h), fmt.Sprintf(format, args...))
	}
	if len(before) == 0 {
		return say("expected a gap at line %d, the file has %d lines", h.OrigStartLine, len(lines))
	}
	var fits, applied []string
	best, score := 0, 0
	for at := 0; at < len(lines); at++ {
		if standsAt(lines, before, at) {
			fits = append(fits, fmt.Sprint(at+1))
		}
		if len(after) > 0 && standsAt(lines, after, at) {
			applied = append(applied, fmt.Sprint(at+1))
		}
		s := 0
		for i, w := range before {
			if at+i < len(lines) && lines[at+i] == w && strings.TrimSpace(w) != "" {
				s++
			}
		}
		if s > score {
			best, score = at, s
		}
	}
	switch {
	case len(applied) > 0:
		return say("is already applied at line %s", strings.Join(applied, ", "))
	case len(fits) > 0:
		return say("would fit at line %s", strings.Join(fits, ", "))
	case score == 0:
		return say("fits nowhere; none of its %d lines is in the file", len(before))
	}
	for i, w := range before {
		if best+i >= len(lines) || lines[best+i] != w {
			return say("fits nowhere; %d of its %d lines stand from line %d on, the first that differs is line %d: expected %q",
				score, len(before), best+1, best+i+1, anchor.Excerpt(strings.TrimSpace(w)))
		}
	}
	return say("overlaps the hunk before it")
}

func sortFiles(files []File) {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
}
