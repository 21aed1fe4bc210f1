package bundle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
)

func write(text string) func(string) error {
	return func(tmp string) error {
		return errors.Join(os.WriteFile(filepath.Join(tmp, ProvenanceFile), []byte(text), 0o600), os.WriteFile(filepath.Join(tmp, "a.jar"), []byte(text), 0o600))
	}
}

// nobody waits, or nobody is told.
func nobody() {}

func TestReplacingLeavesTheOldOrTheNewWhole(t *testing.T) {
	ctx, base := context.Background(), t.TempDir()
	dir, locks := filepath.Join(base, "dist", "x"), filepath.Join(base, "lock")
	require.NoError(t, replaceDir(ctx, dir, locks, nobody, write("one")))
	require.NoError(t, replaceDir(ctx, dir, locks, nobody, write("two")))
	failure := errors.New("disk full")
	err := replaceDir(ctx, dir, locks, nobody, func(tmp string) error { return errors.Join(write("three")(tmp), failure) })
	assert.ErrorIs(t, err, failure)
	cancelled, cancel := context.WithCancel(ctx)
	err = replaceDir(cancelled, dir, locks, nobody, func(tmp string) error { cancel(); return write("four")(tmp) })
	assert.ErrorIs(t, err, context.Canceled)
	for _, name := range []string{ProvenanceFile, "a.jar"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, "two", string(text))
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "whatever the umask")
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing is left beside it")
}

func TestWhatAKilledBuildLeftIsRemoved(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "dist", "x")
	left := filepath.Join(base, "dist", ".observer-patch-x~123")
	require.NoError(t, os.MkdirAll(left, 0o755))
	require.NoError(t, replaceDir(context.Background(), dir, filepath.Join(base, "lock"), nobody, write("one")))
	assert.NoDirExists(t, left)
}

// Builders with other caches look for what killed builds left while one makes its folder.
func TestAFolderJustMadeIsNotTakenForOneThatWasLeft(t *testing.T) {
	parent := t.TempDir()
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					assert.NoError(t, removeLeft(parent, ".x~"))
				}
			}
		})
	}
	for range 300 {
		tmp, alive, err := claimNew(parent, ".x~")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(tmp, "a.jar"), nil, 0o644))
		require.NoError(t, errors.Join(os.RemoveAll(tmp), alive.Unlock()))
	}
	close(stop)
	group.Wait()
}

func TestAFolderThatIsNoBundleIsNotReplaced(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "x")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "work.txt"), []byte("mine"), 0o644))
	err := replaceDir(context.Background(), dir, filepath.Join(base, "lock"), nobody, write("one"))
	assert.Equal(t, exit.Refused, exit.Code(err))
	assert.FileExists(t, filepath.Join(dir, "work.txt"))
}

func TestTwoBuildsOfOneFolderWaitForEachOther(t *testing.T) {
	base := t.TempDir()
	dir, locks := filepath.Join(base, "x"), filepath.Join(base, "lock")
	var inside, most int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			assert.NoError(t, replaceDir(context.Background(), dir, locks, nobody, func(tmp string) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				err := write("x")(tmp)
				mu.Lock()
				inside--
				mu.Unlock()
				return err
			}))
		})
	}
	group.Wait()
	assert.Equal(t, 1, most)
}

func TestSumsFindWhatWasChangedAddedOrLost(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	put("a", "1")
	put("b", "2")
	sums, err := sumUp(dir)
	require.NoError(t, err)
	put(SumsFile, string(formatSums(sums)))
	_, err = CheckSums(dir)
	require.NoError(t, err)
	for want, change := range map[string]func(){
		"a: expected SHA-256": func() { put("a", "x") },
		"a is missing":        func() { require.NoError(t, os.Remove(filepath.Join(dir, "a"))) },
		"c is not expected":   func() { put("a", "1"); put("c", "3") },
	} {
		change()
		_, err := CheckSums(dir)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, exit.Proof, exit.Code(err))
		put("a", "1")
		_ = os.Remove(filepath.Join(dir, "c"))
	}
}
