package cache_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/cache"
)

// TestMain lets a test start this program again as another process with the cache open.
func TestMain(m *testing.M) {
	if root := os.Getenv("CACHE_TEST_HOLD"); root != "" {
		c, err := cache.Open(root)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("open")
		bufio.NewScanner(os.Stdin).Scan()
		if err := c.Close(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) *cache.Cache {
	t.Helper()
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func keyOf(content string) cache.Key {
	sum := sha256.Sum256([]byte(content))
	return cache.Key{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Name: "a.jar"}
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "src")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestGetGivesWhatPutTook(t *testing.T) {
	c := open(t)
	k := keyOf("content")
	_, err := c.Get(k)
	require.ErrorIs(t, err, fs.ErrNotExist)
	put, err := c.Put(k, file(t, "content"))
	require.NoError(t, err)
	got, err := c.Get(k)
	require.NoError(t, err)
	require.Equal(t, put, got)
	require.Equal(t, "a.jar", filepath.Base(got))
	text, err := os.ReadFile(got)
	require.NoError(t, err)
	require.Equal(t, "content", string(text))
	empty(t, filepath.Join(c.Root(), "tmp"))
}

func TestPutRefusesOtherContentAndChangesNothing(t *testing.T) {
	c := open(t)
	k := keyOf("content")
	for _, content := range []string{"Content", "conten", "content and more", ""} {
		_, err := c.Put(k, file(t, content))
		var m *cache.Mismatch
		require.ErrorAs(t, err, &m, content)
		require.Equal(t, k.SHA256, m.Want)
		require.Equal(t, keyOf(content).SHA256, m.Found)
		_, err = c.Get(k)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err := c.Put(k, file(t, "conten"))
	require.ErrorContains(t, err, "is truncated: expected 7 bytes")
	empty(t, filepath.Join(c.Root(), "tmp"))
}

func TestDamageIsSeenAtEachUseAndReplacedByPut(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"flipped bit": func(p string) error { return os.WriteFile(p, []byte("Content"), 0o644) },
		"truncated":   func(p string) error { return os.Truncate(p, 3) },
		"empty":       func(p string) error { return os.Truncate(p, 0) },
		"longer":      func(p string) error { return os.WriteFile(p, []byte("content!"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			k := keyOf("content")
			path, err := c.Put(k, file(t, "content"))
			require.NoError(t, err)
			require.NoError(t, damage(path))
			_, err = c.Get(k)
			var m *cache.Mismatch
			require.ErrorAs(t, err, &m)
			_, err = c.Put(k, file(t, "content"))
			require.NoError(t, err)
			_, err = c.Get(k)
			require.NoError(t, err)
		})
	}
}

func TestKeysThatCouldLeaveTheFolderAreRefused(t *testing.T) {
	c := open(t)
	good := keyOf("content")
	for _, k := range []cache.Key{
		{SHA256: "../" + good.SHA256[3:], Size: 7, Name: "a"},
		{SHA256: good.SHA256, Size: 7, Name: "../a"},
		{SHA256: good.SHA256, Size: 7, Name: ""},
		{SHA256: good.SHA256[1:], Size: 7, Name: "a"},
	} {
		_, err := c.Put(k, file(t, "content"))
		require.ErrorContains(t, err, "expected 64 lower-case")
	}
}

func TestManyPutsOfOneKeyAtOnceLeaveOneWholeFile(t *testing.T) {
	c := open(t)
	k := keyOf("content")
	src := file(t, "content")
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			if _, errs[i] = c.Put(k, src); errs[i] == nil {
				_, errs[i] = c.Get(k)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	empty(t, filepath.Join(c.Root(), "tmp"))
}

func TestStageIsEmptyForEachAndOneAtATime(t *testing.T) {
	root := filepath.Join(t.TempDir(), "cache")
	var inside, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			c, err := cache.Open(root)
			if err != nil {
				errs[i] = err
				return
			}
			errs[i] = c.Stage(context.Background(), func(dir string) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				entries, err := os.ReadDir(dir)
				if err == nil && len(entries) > 0 {
					err = fmt.Errorf("found %v in the staging folder", entries)
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, "x"), nil, 0o644)
				}
				mu.Lock()
				inside--
				mu.Unlock()
				return err
			})
			if err := c.Close(); err != nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, most)
	empty(t, filepath.Join(root, "staging"))
}

func TestStageClearsWhatAKilledProcessLeftAndStopsWaitingWithItsContext(t *testing.T) {
	c := open(t)
	left := filepath.Join(c.Root(), "staging", "work", "files")
	require.NoError(t, os.MkdirAll(left, 0o755))
	failure := fmt.Errorf("failure")
	err := c.Stage(context.Background(), func(dir string) error {
		empty(t, dir)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := c.Stage(ctx, func(string) error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "wait for another observer-patch")
		return failure
	})
	require.ErrorIs(t, err, failure)
	empty(t, filepath.Join(c.Root(), "staging"))
}

func TestPruneRemovesWhatIsNotKeptUnlessAnotherProcessUsesTheCache(t *testing.T) {
	c := open(t)
	keep, drop := keyOf("keep"), keyOf("dropped")
	for content, k := range map[string]cache.Key{"keep": keep, "dropped": drop} {
		_, err := c.Put(k, file(t, content))
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.Root(), "tmp", "left"), []byte("123"), 0o644))
	repository := filepath.Join(c.Root(), "git", "HEAD")
	require.NoError(t, os.MkdirAll(filepath.Dir(repository), 0o755))
	require.NoError(t, os.WriteFile(repository, []byte("another's"), 0o644))
	kept := func(sha string) bool { return sha == keep.SHA256 }

	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "CACHE_TEST_HOLD="+c.Root())
	stdin, err := other.StdinPipe()
	require.NoError(t, err)
	stdout, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	require.True(t, bufio.NewScanner(stdout).Scan())
	_, _, err = c.Prune(kept, false)
	require.ErrorIs(t, err, cache.ErrInUse)
	_, err = c.Get(drop)
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.NoError(t, other.Wait())

	for _, dry := range []bool{true, false} {
		files, bytes, err := c.Prune(kept, dry)
		require.NoError(t, err)
		require.Equal(t, 2, files, "a dry run counts and leaves everything")
		require.EqualValues(t, len("dropped")+3, bytes)
	}
	_, err = c.Get(keep)
	require.NoError(t, err)
	_, err = c.Get(drop)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.FileExists(t, repository)
}

func TestDirFollowsTheVariable(t *testing.T) {
	dir, err := cache.Dir(func(name string) string { return map[string]string{"OBSERVER_PATCH_CACHE": "/x/y"}[name] })
	require.NoError(t, err)
	require.Equal(t, "/x/y", dir)
	t.Setenv("XDG_CACHE_HOME", "/z")
	dir, err = cache.Dir(func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, "observer-patch", filepath.Base(dir))
}
