package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"observer-patch/internal/exit"
)

// replaceDir runs fill on an empty folder beside dir and puts that folder in dir's place in
// one step. A dir that has something in it is replaced only when it is a bundle. Builders of
// the same dir wait for each other by a lock file in lockDir, and wait is called before that.
// When fill fails, the process is killed or the disk is full, dir is what it was.
func replaceDir(ctx context.Context, dir, lockDir string, wait func(), fill func(tmp string) error) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := errors.Join(os.MkdirAll(parent, 0o755), os.MkdirAll(lockDir, 0o755)); err != nil {
		return fmt.Errorf("output %s: %w", dir, err)
	}
	sum := sha256.Sum256([]byte(dir))
	lock := flock.New(filepath.Join(lockDir, "out-"+hex.EncodeToString(sum[:8])))
	free, err := lock.TryLock()
	if err == nil && !free {
		wait()
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("wait for another build of %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := mayReplace(dir); err != nil {
		return err
	}
	// No name of a target has a tilde: one is not taken for the beginning of another.
	prefix := ".observer-patch-" + filepath.Base(dir) + "~"
	if err := removeLeft(parent, prefix); err != nil {
		return err
	}
	tmp, alive, err := claimNew(parent, prefix)
	if err != nil {
		return fmt.Errorf("output %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp), alive.Unlock()) }()
	if err := fill(tmp); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := settle(tmp); err != nil {
		return fmt.Errorf("output %s: %w", dir, err)
	}
	if err := exchange(tmp, dir); err != nil {
		return fmt.Errorf("output %s: %w", dir, err)
	}
	return syncDir(parent)
}

// mayReplace refuses a folder that holds something else than a bundle.
func mayReplace(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ProvenanceFile)); err != nil {
		return exit.With(exit.Refused, fmt.Errorf("output %s has something in it that is no bundle (no %s); remove it or choose another with --out", dir, ProvenanceFile))
	}
	return nil
}

// claim is the lock by which a temporary folder is known to be in use. Builders with other
// caches, so with other lock folders, may work beside this one.
func claim(tmp string) *flock.Flock { return flock.New(tmp, flock.SetFlag(os.O_RDONLY)) }

// claimNew makes a temporary folder and holds its lock. A builder with another cache may take a folder for one
// that was left, between its making and its lock: then there is another try.
func claimNew(parent, prefix string) (string, *flock.Flock, error) {
	for {
		tmp, err := os.MkdirTemp(parent, prefix+"*")
		if err != nil {
			return "", nil, err
		}
		alive := claim(tmp)
		held, err := alive.TryLock()
		if held {
			// The other one may have been through with it before the lock came.
			if _, err = os.Stat(tmp); err == nil {
				return tmp, alive, nil
			}
		}
		err = errors.Join(err, alive.Unlock())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, os.RemoveAll(tmp))
		}
	}
}

// removeLeft removes the temporary folders of killed builds: those that nobody holds.
func removeLeft(parent, prefix string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock := claim(path)
		free, err := lock.TryLock()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !free {
			continue
		}
		if err := errors.Join(err, os.RemoveAll(path), lock.Unlock()); err != nil {
			return err
		}
	}
	return nil
}

// settle fixes modes, whatever the umask, and brings everything to the disk.
func settle(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if err := os.Chmod(path, 0o755); err != nil {
				return err
			}
			return syncDir(path)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
		return syncDir(path)
	})
}

// syncDir brings a folder, or a file, to the disk.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// renameAside is for systems that cannot exchange two names: dir goes to a second name
// beside tmp for the moment between two renames, and comes back when the second fails.
func renameAside(tmp, dir string) error {
	old := tmp + ".old"
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return os.Rename(old, tmp)
}
