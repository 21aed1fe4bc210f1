package build

import (
	"fmt"
	"strings"

	"observer-patch/internal/patch"
)

// News is a diagnostic that the patched compile gives and the unpatched one does not.
type News struct {
	Diagnostic
	// Owner is the hook (or hunk) in whose lines it is; empty outside all of them.
	Owner string
	// BodyLine is the line in the hook's own text, from 1; 0 is the fence above it.
	BodyLine int
	// Hint says where the hook's text is kept, when the caller knows.
	Hint string
}

// String gives the message with the hook that caused it.
func (n News) String() string {
	switch {
	case n.Owner == "":
		return n.Diagnostic.String() + " (outside every hook, but only in the patched file)"
	case n.Hint != "":
		return fmt.Sprintf("%s:%d: hook %s: %s (%s:%d)", n.Hint, n.BodyLine, n.Owner, n.Message, n.Path, n.Line)
	}
	return fmt.Sprintf("hook %s, line %d: %s (%s:%d)", n.Owner, n.BodyLine, n.Message, n.Path, n.Line)
}

// Noisy is the error of a patch that brings new warnings or does not compile. Upstream's
// own build turns warnings into errors, so a hook must be free of them.
type Noisy struct {
	Module string
	News   []News
}

// Error lists the messages.
func (n *Noisy) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the patch brings %d new compiler messages; expected none, as upstream's build fails on warnings:", n.Module, len(n.News))
	for _, m := range n.News {
		fmt.Fprintf(&b, "\n  %s: %s", m.Severity, m)
		if m.Detail != "" {
			b.WriteString("\n    " + strings.ReplaceAll(m.Detail, "\n", "\n    "))
		}
	}
	return b.String()
}

// fresh gives the diagnostics of the patched compile that the unpatched one lacks. One that
// stands in both is recognised by file, text and line, the line mapped through the edits.
// Without an unpatched compile only those in the lines of hooks count.
func fresh(m Module) []News {
	type key struct {
		path, severity, message string
		line                    int
	}
	known := map[key]int{}
	if m.Unpatched != nil {
		for _, d := range m.Unpatched.Diagnostics {
			known[key{d.Path, d.Severity, d.Message, d.Line}]++
		}
	}
	var news []News
	for _, d := range m.Patched.Diagnostics {
		f := fileAt(m.Files, d.Path)
		n := attribute(f, d)
		var olds []int
		if n.Owner == "" {
			if m.Unpatched == nil {
				continue
			}
			olds = []int{oldLine(f, d.Line)}
		} else {
			olds = oldLines(f, d.Line)
		}
		found := false
		for _, line := range olds {
			k := key{d.Path, d.Severity, d.Message, line}
			if !found && known[k] > 0 {
				known[k]--
				found = true
			}
		}
		if !found {
			news = append(news, n)
		}
	}
	return news
}

func fileAt(files []patch.File, path string) patch.File {
	for _, f := range files {
		if f.Path == path {
			return f
		}
	}
	return patch.File{}
}

// attribute says in which hook's lines a diagnostic of the patched file lies.
func attribute(f patch.File, d Diagnostic) News {
	n := News{Diagnostic: d}
	for _, e := range f.Edits {
		if e.NewLines.First <= d.Line && d.Line < e.NewLines.First+e.NewLines.Count {
			n.Owner = e.Owner
			n.BodyLine = d.Line - e.NewLines.First
			if f.Before == nil {
				n.BodyLine++ // a whole file has no fence above it
			}
		}
	}
	return n
}

// oldLine maps a line outside all edits to the unpatched file.
func oldLine(f patch.File, line int) int {
	shift := 0
	for _, e := range f.Edits {
		if e.NewLines.First <= line {
			shift += e.NewLines.Count - e.OldLines.Count
		}
	}
	return line - shift
}

// oldLines gives the unpatched lines that the edit at a line replaced.
func oldLines(f patch.File, line int) []int {
	var out []int
	for _, e := range f.Edits {
		if e.NewLines.First <= line && line < e.NewLines.First+e.NewLines.Count {
			for i := range e.OldLines.Count {
				out = append(out, e.OldLines.First+i)
			}
		}
	}
	return out
}

// explain turns the compile errors of a patched module into the hooks' own.
func (in Inputs) explain(m Module, err error) error {
	f, ok := err.(*Failed)
	if !ok {
		return err
	}
	n := &Noisy{Module: m.Name}
	for _, d := range f.Diagnostics {
		if d.Severity == Error {
			n.News = append(n.News, attribute(fileAt(m.Files, d.Path), d))
		}
	}
	return n
}
