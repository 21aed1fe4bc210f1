package patch

import (
	"bytes"
	"fmt"
	"io/fs"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Unmake reverses a target's patch in a patched tree: Before is what the tree has, After
// upstream's own bytes, nil for a file that the patch added. Files that are not exactly
// what this tool writes for the target are refused (exit code 5).
func Unmake(fsys fs.FS, c *anchor.Catalog, t release.Target) (Tree, error) {
	var tree Tree
	for _, f := range c.For(t) {
		src, err := fs.ReadFile(fsys, f.Path)
		if err != nil {
			return Tree{}, fmt.Errorf("%s: not a tree that was patched for this target: %w", t, err)
		}
		out := File{Path: f.Path, Before: src}
		if f.New != nil {
			if !bytes.Equal(src, f.New.Text) {
				return Tree{}, exit.With(exit.Refused, fmt.Errorf("refused: %s is not the file that hook %s adds; it was edited, or another generation added it", f.Path, f.New.ID))
			}
			out.Edits = []Edit{{Owner: f.New.ID, OldLines: Lines{1, len(anchor.SplitLines(src))}, NewLines: Lines{First: 1}}}
		} else {
			if out.After, err = Reverse(f.Path, src, f.Hooks, t); err != nil {
				return Tree{}, exit.With(exit.Refused, fmt.Errorf("refused: %w", err))
			}
			located, _ := anchor.Locate(f.Path, out.After, f.Hooks, t)
			_, edits, err := Apply(out.After, located)
			if err != nil {
				return Tree{}, err
			}
			for _, e := range edits {
				out.Edits = append(out.Edits, Edit{Owner: e.Owner, OldLines: e.NewLines, NewLines: e.OldLines})
			}
		}
		tree.Files = append(tree.Files, out)
	}
	return tree, nil
}
