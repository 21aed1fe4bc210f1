package patch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sourcegraph/go-diff/diff"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

// contextLines is the number of unchanged lines around a change.
const contextLines = 3

// devNull stands for the missing side of a file that is added.
const devNull = "/dev/null"

// Header gives the lines above a diff: what it is, for which target, from which bytes.
// patch and git apply skip them.
func (t Tree) Header(target release.Target, tool string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "observer-patch for upstream Kafka %s, mode %s\n", target.Release, target.Mode)
	fmt.Fprintf(&b, "generation: %d\n", release.Generation)
	fmt.Fprintf(&b, "hook set: %s\n", target.Set)
	fmt.Fprintf(&b, "hooks: %s\n", strings.Join(t.Hooks(), ", "))
	fmt.Fprintf(&b, "tool: observer-patch %s\n", tool)
	fmt.Fprintf(&b, "source sha256: %s\n\n", t.SourceDigest())
	return b.String()
}

// Diff gives the unified diff of the tree without a header, in the form that git writes:
// paths begin with a/ and b/, patch -p1 and git apply take it. It depends on the tree only.
func (t Tree) Diff() ([]byte, error) {
	var out bytes.Buffer
	for _, f := range t.Files {
		d := &diff.FileDiff{OrigName: "a/" + f.Path, NewName: "b/" + f.Path,
			Extended: []string{"diff --git a/" + f.Path + " b/" + f.Path}}
		if f.Before == nil {
			d.OrigName = devNull
			d.Extended = append(d.Extended, "new file mode 100644")
		}
		d.Hunks = hunks(anchor.SplitLines(f.Before), anchor.SplitLines(f.After), f.Edits)
		text, err := diff.PrintFileDiff(d)
		if err != nil {
			return nil, fmt.Errorf("diff of %s: %w", f.Path, err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// start gives the index (from 0) of the first line of a run, or of the gap that it is.
func (l Lines) start() int { return l.First - 1 }

// end gives the index after the last line of a run.
func (l Lines) end() int { return l.First - 1 + l.Count }

// hunks makes the hunks of a file from its edits; changes that are near share one.
func hunks(before, after []string, edits []Edit) []*diff.Hunk {
	var out []*diff.Hunk
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].OldLines.start()-edits[n-1].OldLines.end() <= 2*contextLines {
			n++
		}
		out = append(out, hunk(before, after, edits[:n]))
		edits = edits[n:]
	}
	return out
}

func hunk(before, after []string, edits []Edit) *diff.Hunk {
	from := max(0, edits[0].OldLines.start()-contextLines)
	last := edits[len(edits)-1]
	to := min(len(before), last.OldLines.end()+contextLines)
	h := &diff.Hunk{OrigStartLine: int32(from + 1), NewStartLine: int32(from + 1 + edits[0].NewLines.start() - edits[0].OldLines.start())}
	b := body{hunk: h}
	at := from
	for _, e := range edits {
		b.add(' ', before[at:e.OldLines.start()])
		b.add('-', before[e.OldLines.start():e.OldLines.end()])
		b.add('+', after[e.NewLines.start():e.NewLines.end()])
		at = e.OldLines.end()
	}
	b.add(' ', before[at:to])
	// A side without lines is the gap after the line that is named.
	if h.OrigLines == 0 {
		h.OrigStartLine--
	}
	if h.NewLines == 0 {
		h.NewStartLine--
	}
	return h
}

// body writes the lines of a hunk.
type body struct{ hunk *diff.Hunk }

func (b body) add(sign byte, lines []string) {
	h := b.hunk
	for _, l := range lines {
		h.Body = append(append(h.Body, sign), l...)
		if sign != '+' {
			h.OrigLines++
		}
		if sign != '-' {
			h.NewLines++
		}
		if sign == '-' && !strings.HasSuffix(l, "\n") {
			h.Body = append(h.Body, '\n')
			h.OrigNoNewlineAt = int32(len(h.Body))
		}
	}
}

// Summary counts what a tree changes.
type Summary struct {
	Files    int `json:"files"`
	Added    int `json:"addedFiles"`
	Hunks    int `json:"hunks"`
	Inserted int `json:"insertedLines"`
	Deleted  int `json:"deletedLines"`
}

// Summary counts files, hunks of the diff, and inserted and deleted lines.
func (t Tree) Summary() Summary {
	s := Summary{Files: len(t.Files)}
	for _, f := range t.Files {
		if f.Before == nil {
			s.Added++
		}
		s.Hunks += len(hunks(anchor.SplitLines(f.Before), anchor.SplitLines(f.After), f.Edits))
		for _, e := range f.Edits {
			s.Inserted += e.NewLines.Count
			s.Deleted += e.OldLines.Count
		}
	}
	return s
}
