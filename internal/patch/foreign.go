package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sourcegraph/go-diff/diff"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
)

// ApplyDiff applies somebody's unified diff (paths with one leading folder, as git writes
// them) to a tree. It is strict: every hunk fits exactly where it says, or nothing is
// given back. The owner of an edit is its hunk, "<path>#<number>". Names that leave the
// tree, links, binary hunks, renames, deletions and changes of mode are refused (exit code 5); hunks
// that do not fit are exit code 3 and an error that lists where each would fit.
func ApplyDiff(fsys fs.FS, text []byte) (Tree, error) {
	files, err := parseDiff(text)
	if err != nil {
		return Tree{}, err
	}
	var t Tree
	var misfits []error
	seen := map[string]bool{}
	for _, d := range files {
		name, isNew, err := vet(fsys, d)
		if err == nil && seen[name] {
			err = fmt.Errorf("%s stands twice in the patch", name)
		}
		if err != nil {
			return Tree{}, exit.With(exit.Refused, fmt.Errorf("refused: %w", err))
		}
		seen[name] = true
		var before []byte
		if !isNew {
			if len(d.Hunks) == 0 {
				return Tree{}, fmt.Errorf("the patch is damaged: it names %s and has no hunk for it", name)
			}
			if before, err = fs.ReadFile(fsys, name); err != nil {
				return Tree{}, fmt.Errorf("the patch changes a file that the tree does not have: %w", err)
			}
			if before == nil {
				before = []byte{}
			}
		} else if _, err := fs.Stat(fsys, name); !errors.Is(err, fs.ErrNotExist) {
			return Tree{}, exit.With(exit.Drift, fmt.Errorf("the patch adds %s, which the tree already has", name))
		}
		f, bad := fit(name, before, d.Hunks)
		misfits = append(misfits, bad...)
		t.Files = append(t.Files, f)
	}
	if len(misfits) > 0 {
		return Tree{}, exit.With(exit.Drift, fmt.Errorf("%d hunks do not fit where they say:\n%w", len(misfits), errors.Join(misfits...)))
	}
	sortFiles(t.Files)
	return t, nil
}

func parseDiff(text []byte) (files []*diff.FileDiff, err error) {
	// Binary content never reaches the parser, which would pass over it.
	for _, l := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(l, "GIT binary patch") || strings.HasPrefix(l, "Binary files ") {
			return nil, exit.With(exit.Refused, fmt.Errorf("refused: the patch has a binary hunk (%q)", anchor.Excerpt(l)))
		}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, exit.With(exit.Refused, errors.New("refused: the patch has a NUL byte; expected text"))
	}
	files, err = diff.ParseMultiFileDiffOptions(text, diff.ParseOptions{KeepCR: true})
	if err != nil {
		return nil, fmt.Errorf("the patch is no unified diff: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("the patch is empty; expected a unified diff")
	}
	for _, f := range files {
		for _, h := range f.Hunks {
			if err := countLines(h); err != nil {
				return nil, fmt.Errorf("the patch is damaged: %s: %w", f.NewName, err)
			}
		}
	}
	return files, nil
}

// countLines compares a hunk's lines with its header.
func countLines(h *diff.Hunk) error {
	o, n := sides(h)
	if len(o) != int(h.OrigLines) || len(n) != int(h.NewLines) {
		return fmt.Errorf("hunk %s has %d old and %d new lines", hunkHeader(h), len(o), len(n))
	}
	if h.OrigStartLine < 0 || h.NewStartLine < 0 {
		return fmt.Errorf("hunk %s: negative line", hunkHeader(h))
	}
	return nil
}

func hunkHeader(h *diff.Hunk) string {
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OrigStartLine, h.OrigLines, h.NewStartLine, h.NewLines)
}

// vet gives the file that a part of a diff is about, and whether it adds it.
func vet(fsys fs.FS, d *diff.FileDiff) (name string, isNew bool, err error) {
	for _, x := range d.Extended {
		for _, word := range []string{"rename ", "copy ", "old mode ", "new mode ", "deleted file mode ", "similarity index ", "dissimilarity index "} {
			if strings.HasPrefix(x, word) {
				return "", false, fmt.Errorf("%s: %q is not supported; expected changes of text and new files", d.NewName, x)
			}
		}
		if mode, ok := strings.CutPrefix(x, "new file mode "); ok && mode != "100644" {
			return "", false, fmt.Errorf("%s: a new file of mode %s; expected 100644, a regular file", d.NewName, mode)
		}
	}
	if d.NewName == devNull || d.NewName == "" {
		return "", false, fmt.Errorf("%s is deleted; expected changes of text and new files", d.OrigName)
	}
	if name, err = inTree(d.NewName); err != nil {
		return "", false, err
	}
	if isNew = d.OrigName == devNull; !isNew {
		old, err := inTree(d.OrigName)
		if err != nil {
			return "", false, err
		}
		if old != name {
			return "", false, fmt.Errorf("%s is renamed to %s; expected changes of text and new files", old, name)
		}
	}
	for p := name; p != "."; p = path.Dir(p) {
		if i, err := fs.Lstat(fsys, p); err == nil && i.Mode()&fs.ModeSymlink != 0 {
			return "", false, fmt.Errorf("%s leads through the link %s; expected plain files and folders", name, p)
		}
	}
	return name, isNew, nil
}

// inTree strips the first folder of a name in a diff, as patch -p1 does.
func inTree(name string) (string, error) {
	first, rest, ok := strings.Cut(name, "/")
	switch {
	case path.IsAbs(name) || strings.ContainsAny(name, "\\:"):
		return "", fmt.Errorf("%q is an absolute path; expected a/<path below the tree>", name)
	case !ok || first == ".." || !fs.ValidPath(rest) || rest == ".":
		return "", fmt.Errorf("%q leaves the tree; expected a/<path below the tree>", name)
	}
	for _, part := range strings.Split(rest, "/") {
		if strings.EqualFold(part, ".git") {
			return "", fmt.Errorf("%q is git's own; expected a source file", name)
		}
	}
	return rest, nil
}
