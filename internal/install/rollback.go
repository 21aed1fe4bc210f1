package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Rollback puts the release's own jars back, byte for byte, and forgets the installation. A
// home that is not patched is left as it is; one that was patched in another way is refused.
func Rollback(ctx context.Context, o Options) (jars []Jar, err error) {
	r, release, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := r.home.readState()
	if err != nil {
		return nil, err
	}
	if s == nil {
		for _, f := range r.home.Files {
			if f.Patch != nil {
				return nil, refused("%s is patched (%s), but %s keeps no original of it: it was not installed by this tool here; unpack the release's own jar", r.home.jarPath(f.Name), f.Patch, filepath.Join(r.home.Dir, stateDir))
			}
		}
		r.Log.Info("no installation here; nothing to undo", "home", r.home.Dir)
		if r.DryRun {
			return nil, nil
		}
		return nil, r.sweep(nil)
	}
	if s.Phase != installed {
		r.Log.Warn("an interrupted run was found", "phase", s.Phase, "bundle", s.Bundle)
	}
	if err := r.free(s); err != nil {
		return nil, err
	}
	back, err := r.missing(s)
	if err != nil {
		return nil, err
	}
	action := "would be put back"
	if !r.DryRun {
		action = "put back"
		if back, err = r.undo(s); err != nil {
			return nil, err
		}
	}
	return r.report(s, func(j stateJar) Jar {
		row := Jar{Action: "is the original", Was: j.Original, Is: j.Original}
		if slices.ContainsFunc(back, func(b stateJar) bool { return b.Name == j.Name }) {
			row.Action, row.Was = action, j.Changed
		}
		return row
	}, false), nil
}

// missing gives the jars whose originals have to be put back, the last swapped first. A jar
// that is neither is refused: somebody else put it there.
func (r *run) missing(s *state) ([]stateJar, error) {
	var back []stateJar
	for _, j := range slices.Backward(s.Jars) {
		path := r.home.jarPath(j.Name)
		sum, err := digestFile(path)
		if err != nil {
			return nil, err
		}
		switch sum {
		case j.Original:
			continue
		case j.Changed:
		default:
			return nil, refused("%s is neither the installed jar nor the original (SHA-256 %s): somebody else changed it; when that was intended, remove %s and nothing will be undone", path, orMissing(sum), filepath.Join(r.home.Dir, stateDir))
		}
		kept, err := digestFile(r.home.originalPath(j.Name))
		if err != nil {
			return nil, err
		}
		if kept != j.Original {
			return nil, refused("%s is damaged: expected SHA-256 %s, found %s; unpack the release's own jar to that path and try again", r.home.originalPath(j.Name), j.Original, orMissing(kept))
		}
		back = append(back, j)
	}
	return back, nil
}

// undo brings the originals back from any state that a killed run can leave, and gives those
// that had been replaced. It can be killed and run again.
func (r *run) undo(s *state) ([]stateJar, error) {
	h := r.home
	back, err := r.missing(s)
	if err != nil {
		return nil, err
	}
	if len(back) > 0 && s.Phase == installed {
		if err := r.step("open the journal"); err != nil {
			return nil, err
		}
		open := *s
		open.Phase = removing
		if err := h.writeState(&open); err != nil {
			return nil, err
		}
	}
	for _, j := range back {
		if err := r.step("put back " + j.Name); err != nil {
			return nil, err
		}
		if err := h.putBack(j); err != nil {
			return nil, fmt.Errorf("put back %s: %w", j.Name, err)
		}
	}
	return back, r.sweep(s)
}

// putBack renames the kept original into its place, which needs no space on the disk. Where
// libs is on another file system it is copied beside its place first.
func (h *Home) putBack(j stateJar) error {
	err := os.Rename(h.originalPath(j.Name), h.jarPath(j.Name))
	if errors.Is(err, syscall.EXDEV) {
		if err := stage(h.originalPath(j.Name), h.stagedPath(j.Name), j.Original, j); err != nil {
			return err
		}
		err = os.Rename(h.stagedPath(j.Name), h.jarPath(j.Name))
	}
	return errors.Join(err, syncDir(h.Libs))
}

// staged gives the paths of jars that a killed run left beside their places.
func (h *Home) staged() ([]string, error) {
	entries, err := os.ReadDir(h.Libs)
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagedPrefix) && strings.HasSuffix(e.Name(), stagedSuffix) {
			paths = append(paths, h.jarPath(e.Name()))
		}
	}
	return paths, err
}

// sweep removes what install keeps: staged jars, originals, and last the journal.
func (r *run) sweep(s *state) error {
	h := r.home
	paths, err := h.staged()
	if err != nil {
		return err
	}
	if s != nil {
		for _, j := range s.Jars {
			paths = append(paths, h.originalPath(j.Name))
		}
	}
	dir := filepath.Join(h.Dir, stateDir)
	paths = append(paths, filepath.Join(dir, originalsDir), h.statePath()+stagedSuffix, h.statePath(), dir)
	for _, path := range paths {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := r.step("remove " + filepath.Base(path)); err != nil {
			return err
		}
		err := removeIfThere(path)
		if errors.Is(err, syscall.ENOTEMPTY) {
			r.Log.Warn("kept a folder with files that are not ours", "folder", path)
			continue
		}
		if err != nil {
			return err
		}
	}
	return syncDir(h.Dir)
}
