// Package cache keeps files by their SHA-256, checks them at each use, and lets several
// processes work in one folder.
//
// A file comes in by a rename and is never removed while somebody may read it: a damaged one
// is replaced by another rename, and only Prune, which waits for nobody and refuses when
// another process has the cache open, takes files away. So readers need no lock.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// Variable is the environment variable that names the cache folder.
const Variable = "OBSERVER_PATCH_CACHE"

// Key is what a file is recognised by.
type Key struct {
	// SHA256 is 64 lower-case hexadecimal digits.
	SHA256 string
	// Size is in bytes; a file of another size is not hashed at all.
	Size int64
	// Name is the file's name in the cache, for people and for programs that go by it (.jar).
	Name string
}

// Mismatch says that content is not what its key promises.
type Mismatch struct {
	Path, Want, Found   string
	WantSize, FoundSize int64
}

// Error names the file, both digests and both sizes.
func (m *Mismatch) Error() string {
	if m.FoundSize < m.WantSize {
		return fmt.Sprintf("%s is truncated: expected %d bytes (SHA-256 %s), found %d", m.Path, m.WantSize, m.Want, m.FoundSize)
	}
	return fmt.Sprintf("%s: expected SHA-256 %s (%d bytes), found %s (%d bytes)", m.Path, m.Want, m.WantSize, m.Found, m.FoundSize)
}

// Cache is an open cache folder; see Open.
type Cache struct {
	root string
	use  *flock.Flock
}

// Dir gives the cache folder of the user: $OBSERVER_PATCH_CACHE, or else observer-patch in
// the system's folder for caches. getenv is os.Getenv.
func Dir(getenv func(string) string) (string, error) {
	if dir := getenv(Variable); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set %s", err, Variable)
	}
	return filepath.Join(base, "observer-patch"), nil
}

// Open makes the folder if need be and marks it as in use until Close.
func Open(root string) (*Cache, error) {
	for _, d := range []string{"sha256", "tmp", "staging", "lock"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return nil, fmt.Errorf("cache folder: %w; set %s to a folder that can be written", err, Variable)
		}
	}
	c := &Cache{root: root, use: flock.New(filepath.Join(root, "lock", "use"))}
	if err := c.use.RLock(); err != nil {
		return nil, fmt.Errorf("cache %s: lock: %w", root, err)
	}
	return c, nil
}

// Close ends the use of the cache.
func (c *Cache) Close() error { return c.use.Unlock() }

// Root gives the folder.
func (c *Cache) Root() string { return c.root }

var keyForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (c *Cache) path(k Key) (string, error) {
	if !keyForm.MatchString(k.SHA256) || k.Name == "" || k.Name != filepath.Base(k.Name) {
		return "", fmt.Errorf("cache key %q, name %q: expected 64 lower-case hexadecimal digits and a plain file name", k.SHA256, k.Name)
	}
	return filepath.Join(c.root, "sha256", k.SHA256[:2], k.SHA256, k.Name), nil
}

// Get gives the path of the file after hashing it. A file that is not there gives an error
// that is fs.ErrNotExist, a damaged one a *Mismatch; Put replaces either.
func (c *Cache) Get(k Key) (string, error) {
	path, err := c.path(k)
	if err != nil {
		return "", err
	}
	return path, Verify(path, k)
}

// Verify hashes the file at path and gives a *Mismatch when it is not the key's.
func Verify(path string, k Key) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: expected a regular file, found %s", path, info.Mode().Type())
	}
	m := &Mismatch{Path: path, Want: k.SHA256, WantSize: k.Size, FoundSize: info.Size(), Found: "another (not computed)"}
	if info.Size() != k.Size {
		return m
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if m.Found = hex.EncodeToString(h.Sum(nil)); m.Found != k.SHA256 {
		return m
	}
	return nil
}

// Put copies the file at src in, provided that it is the key's, and gives its path in the
// cache. Else it gives a *Mismatch and changes nothing.
func (c *Cache) Put(k Key, src string) (string, error) {
	path, err := c.path(k)
	if err != nil {
		return "", err
	}
	in, err := os.Open(src)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	out, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Join(c.root, "tmp")), renameio.WithStaticPermissions(0o644))
	if err != nil {
		return "", err
	}
	// After the rename this does nothing.
	defer func() { err = errors.Join(err, out.Cleanup()) }()
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, h), in)
	if err != nil {
		return "", fmt.Errorf("copy %s into the cache: %w", src, err)
	}
	if found := hex.EncodeToString(h.Sum(nil)); found != k.SHA256 || size != k.Size {
		return "", &Mismatch{Path: src, Want: k.SHA256, WantSize: k.Size, Found: found, FoundSize: size}
	}
	return path, out.CloseAtomicallyReplace()
}

// Stage runs f with an empty folder that no other process uses, one at a time in the whole
// cache, and removes the folder afterwards. What a killed process left there is removed too.
func (c *Cache) Stage(ctx context.Context, f func(dir string) error) (err error) {
	lock := flock.New(filepath.Join(c.root, "lock", "staging"))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another observer-patch that is fetching into %s: %w", c.root, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	dir := filepath.Join(c.root, "staging", "work")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return f(dir)
}

// ErrInUse is given by Prune while another process has the cache open.
var ErrInUse = errors.New("the cache is in use by another process")

// Prune removes every file whose SHA-256 keep refuses, and what killed processes left. It
// gives the number of files and bytes removed; with dry those that would be.
func (c *Cache) Prune(keep func(sha256 string) bool, dry bool) (files int, bytes int64, err error) {
	if err := c.use.Unlock(); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.use.Unlock(), c.use.RLock()) }()
	alone, err := c.use.TryLock()
	if err != nil {
		return 0, 0, err
	}
	if !alone {
		return 0, 0, fmt.Errorf("prune %s: %w", c.root, ErrInUse)
	}
	// Other folders (compiled, git) belong to whoever makes them.
	for _, part := range []string{"sha256", "tmp", "staging"} {
		n, size, perr := pruneIn(filepath.Join(c.root, part), keep, dry)
		files, bytes, err = files+n, bytes+size, errors.Join(err, perr)
	}
	return files, bytes, err
}

func pruneIn(root string, keep func(sha256 string) bool, dry bool) (files int, bytes int64, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || keep(filepath.Base(filepath.Dir(path))) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files, bytes = files+1, bytes+info.Size()
		if dry {
			return nil
		}
		return os.Remove(path)
	})
	return files, bytes, err
}
