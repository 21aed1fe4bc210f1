package patch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"observer-patch/internal/exit"
)

// ErrOccupied says that an output folder has something in it.
var ErrOccupied = errors.New("the folder is not empty")

// InNewDir runs fill with an empty folder beside dir and then renames it to dir. When fill
// fails or ctx ends, nothing is left. A dir that has something in it is refused (exit code
// 5) before fill runs, for it may hold somebody's work; an empty one is taken.
func InNewDir(ctx context.Context, dir string, fill func(tmp string) error) (err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return exit.With(exit.Refused, fmt.Errorf("output %s: %w; remove it or choose another with --out", dir, ErrOccupied))
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".observer-patch-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := fill(tmp); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = os.Rename(tmp, dir)
	if errors.Is(err, fs.ErrExist) {
		// Another run filled it meanwhile.
		return exit.With(exit.Refused, fmt.Errorf("output %s: %w; remove it or choose another with --out", dir, ErrOccupied))
	}
	return err
}

// Write copies a tree into dir, which is empty, with the files of t in place of their
// originals. t.Files whose After is nil are left out. Folders .git are not copied. Links are kept when they
// lead to somewhere in the tree, and refused (exit code 5) when they lead out.
func (t Tree) Write(ctx context.Context, fsys fs.FS, dir string) error {
	changed := map[string][]byte{}
	for _, f := range t.Files {
		changed[f.Path] = f.After
	}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		_, ours := changed[name]
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil // made with its first file: a folder that a hook alone had goes with it
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(fsys, name, to)
		case !d.Type().IsRegular():
			return exit.With(exit.Refused, fmt.Errorf("refused: %s is a %s; expected files, folders and links", name, d.Type()))
		case ours:
			return nil
		}
		return copyFile(fsys, name, to)
	})
	if err != nil {
		return err
	}
	for _, f := range t.Files {
		if f.After == nil {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if i, err := fs.Stat(fsys, f.Path); err == nil {
			mode = i.Mode().Perm()
		}
		if err := os.WriteFile(to, f.After, mode); err != nil {
			return err
		}
	}
	return nil
}

func copyLink(fsys fs.FS, name, to string) error {
	target, err := fs.ReadLink(fsys, name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || !fs.ValidPath(path.Join(path.Dir(name), target)) {
		return exit.With(exit.Refused, fmt.Errorf("refused: the link %s leads out of the tree, to %s", name, target))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, to)
}

func copyFile(fsys fs.FS, name, to string) (err error) {
	in, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	i, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, i.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
