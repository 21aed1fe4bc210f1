package patch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Plan is a target's patch before anything is written: what was found, what it changes,
// and what was not found.
type Plan struct {
	Target  release.Target
	Located []anchor.Located
	Misses  []anchor.Miss
	// Tree has the files whose hooks were all found.
	Tree Tree
}

// Make locates the hooks of a target in upstream's files and makes the patched texts. A
// hook that is not found is no error here: see Plan.Err.
func Make(fsys fs.FS, c *anchor.Catalog, t release.Target) (*Plan, error) {
	p := &Plan{Target: t}
	for _, f := range c.For(t) {
		src, err := fs.ReadFile(fsys, f.Path)
		missing := errors.Is(err, fs.ErrNotExist)
		switch {
		case err != nil && !missing:
			return nil, err
		case f.New != nil && missing:
			p.Tree.Files = append(p.Tree.Files, added(f.Path, f.New))
			continue
		case f.New != nil:
			p.Misses = append(p.Misses, anchor.Miss{Hook: f.New.ID, Path: f.Path, Cause: anchor.Patched, Pos: f.New.Pos})
			continue
		case missing:
			p.Misses = append(p.Misses, anchor.NotThere(f.Path, f.Hooks)...)
			continue
		}
		located, misses := anchor.Locate(f.Path, src, f.Hooks, t)
		p.Located = append(p.Located, located...)
		p.Misses = append(p.Misses, misses...)
		if len(misses) > 0 {
			continue
		}
		after, edits, err := Apply(src, located)
		if err != nil {
			return nil, err
		}
		p.Tree.Files = append(p.Tree.Files, File{Path: f.Path, Before: src, After: after, Edits: edits})
	}
	return p, nil
}

// added gives the file that a hook adds.
func added(path string, n *anchor.NewFile) File {
	count := len(anchor.SplitLines(n.Text))
	return File{Path: path, After: n.Text, Edits: []Edit{{Owner: n.ID, OldLines: Lines{First: 1}, NewLines: Lines{First: 1, Count: count}}}}
}

// Err gives nil when every hook was found. An already patched tree is refused (exit code
// 5), any other miss is drift (exit code 3); the text has every miss.
func (p *Plan) Err() error {
	if len(p.Misses) == 0 {
		return nil
	}
	patched := 0
	var b strings.Builder
	for _, m := range p.Misses {
		if m.Cause == anchor.Patched {
			patched++
		}
		b.WriteString("\n" + m.Error())
	}
	if patched > 0 {
		return exit.With(exit.Refused, fmt.Errorf("%s: the tree is already patched; --reverse takes the hooks out%s", p.Target, b.String()))
	}
	return exit.With(exit.Drift, fmt.Errorf("%s: %d of %d hook places were not found exactly once%s", p.Target, len(p.Misses), len(p.Misses)+len(p.Located), b.String()))
}

// SourceDigest gives the SHA-256 of upstream's files that the patch changes, in lower-case
// hexadecimal: over path, length and bytes of each, in the order of paths. It does not
// depend on where the tree came from.
func (t Tree) SourceDigest() string {
	h := sha256.New()
	for _, f := range t.Files {
		if f.Before != nil {
			fmt.Fprintf(h, "%s\x00%d\x00", f.Path, len(f.Before))
			h.Write(f.Before)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Hooks gives the ids of the hooks in the tree, each once, in the order in which they come.
func (t Tree) Hooks() []string {
	var ids []string
	seen := map[string]bool{}
	for _, f := range t.Files {
		for _, e := range f.Edits {
			if !seen[e.Owner] {
				seen[e.Owner] = true
				ids = append(ids, e.Owner)
			}
		}
	}
	return ids
}
