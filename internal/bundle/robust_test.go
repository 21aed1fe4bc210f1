package bundle

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/mounttest"
)

// Killed by the clock at 60 random moments, builds of two different bundles in one folder
// leave the one or the other, whole, and the next build clears away what they left.
func TestABuildKilledAtAnyMomentLeavesTheOldOrTheNew(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	y := newYard(t, t.TempDir())
	texts := []string{"one", "two"}
	want := map[string]map[string]string{}
	for _, text := range texts {
		clean := filepath.Join(t.TempDir(), "x")
		_, err := Make(t.Context(), y.spec(text), clean)
		require.NoError(t, err)
		want[text] = contentOf(t, clean)
	}
	for _, name := range []string{"kafka-metadata-4.1.0.jar", DiffFile, ProvenanceFile, SBOMFile, SumsFile} {
		require.NotEqual(t, want["one"][name], want["two"][name], "%s tells the builds apart", name)
	}
	parent := t.TempDir()
	out := filepath.Join(parent, "x")
	takes, err := time.ParseDuration(output(t, y.child(t, out, "one", 0)))
	require.NoError(t, err)
	now, kills, inside, replaced := "one", 0, 0, 0
	for try := 0; kills < 60; try++ {
		require.Less(t, try, 600, "seed %d: the kills come too late, a build takes %v", seed, takes)
		next := texts[(try+1)%2]
		text, err := y.child(t, out, next, 1+time.Duration(random.Int64N(int64(takes)))).Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) && failed.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			kills++
			if len(names(t, parent)) > 1 {
				inside++
			}
		} else {
			require.NoError(t, err, "seed %d", seed)
			takes, err = time.ParseDuration(string(text))
			require.NoError(t, err)
			now = next
		}
		switch found := contentOf(t, out); {
		case assert.ObjectsAreEqual(want[now], found):
		case assert.ObjectsAreEqual(want[next], found):
			now, replaced = next, replaced+1
		default:
			t.Fatalf("seed %d, kill %d: neither the old bundle nor the new: %v", seed, kills, names(t, out))
		}
	}
	t.Logf("a build takes %v; %d kills, %d of them at work in the temporary folder, %d after the exchange", takes, kills, inside, replaced)
	assert.Positive(t, inside, "seed %d: kills that hit the work itself", seed)
	output(t, y.child(t, out, "one", 0))
	assert.Equal(t, want["one"], contentOf(t, out))
	assert.Equal(t, []string{"x"}, names(t, parent), "what killed builds left is gone")
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	require.NoError(t, err)
	return string(text)
}

// However little space is left, a build works or leaves the bundle that was there, and nothing else.
func TestABuildOnAFullDisk(t *testing.T) {
	dir := mounttest.Tmpfs(t, "4m")
	y := newYard(t, t.TempDir())
	parent := filepath.Join(dir, "dist")
	out, filler := filepath.Join(parent, "x"), filepath.Join(dir, "filler")
	_, err := Make(t.Context(), y.spec("one"), out)
	require.NoError(t, err)
	before := contentOf(t, out)
	full := 0
	for left := int64(0); ; left += 24 << 10 {
		mounttest.Fill(t, dir, filler, left)
		_, err := Make(t.Context(), y.spec("two"), out)
		assert.Equal(t, []string{"x"}, names(t, parent))
		if err == nil {
			break
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Equal(t, before, contentOf(t, out), "%d bytes left", left)
		full++
	}
	assert.Greater(t, full, 5, "steps at which the disk was full")
	assert.NotEqual(t, before, contentOf(t, out))
}

func TestABuildIntoAReadOnlyFolder(t *testing.T) {
	dir := mounttest.Tmpfs(t, "4m")
	y := newYard(t, t.TempDir())
	out := filepath.Join(dir, "x")
	_, err := Make(t.Context(), y.spec("one"), out)
	require.NoError(t, err)
	before := contentOf(t, out)
	mounttest.Writable(t, dir, false)
	_, err = Make(t.Context(), y.spec("two"), out)
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorContains(t, err, "output "+out)
	assert.Equal(t, before, contentOf(t, out))
	mounttest.Writable(t, dir, true)
	assert.Equal(t, []string{"x"}, names(t, dir))
}

// otherUser is a user without rights (Debian: nobody).
const otherUser = 65534

func TestABuildWithoutPermission(t *testing.T) {
	dir := mounttest.Tmpfs(t, "96m") // whose root everybody can reach
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	y := newYard(t, filepath.Join(dir, "yard"))
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, text, 0o755))
	cache := filepath.Join(dir, "cache")
	require.NoError(t, os.Mkdir(cache, 0o755))
	require.NoError(t, os.Chown(cache, otherUser, otherUser))
	parent := filepath.Join(dir, "dist")
	out := filepath.Join(parent, "x")
	_, err = Make(t.Context(), y.spec("one"), out)
	require.NoError(t, err)
	before := contentOf(t, out)

	as := func(cmd *exec.Cmd) (string, error) {
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	build := func() (string, error) {
		cmd := y.child(t, out, "two", 0)
		cmd.Path = program
		cmd.Env = append(cmd.Env, childCache+"="+cache, "TMPDIR="+cache)
		return as(cmd)
	}
	// The user really cannot write there.
	said, err := as(exec.CommandContext(t.Context(), "touch", filepath.Join(parent, "probe")))
	require.Error(t, err)
	require.Contains(t, said, "Permission denied")
	said, err = build()
	require.Error(t, err)
	assert.Contains(t, said, "permission denied")
	assert.Contains(t, said, "output "+out)
	assert.Equal(t, before, contentOf(t, out))
	assert.Equal(t, []string{"x"}, names(t, parent))

	// With the permission the same build works.
	require.NoError(t, os.Chown(parent, otherUser, otherUser))
	require.NoError(t, os.Chown(out, otherUser, otherUser))
	said, err = build()
	require.NoError(t, err, said)
	assert.NotEqual(t, before, contentOf(t, out))
}

// Four processes, by twos with one cache: those wait for each other, the others do not take
// each other's temporary folders away. In the end there is one bundle, whole.
func TestSeveralProcessesBuildOneFolder(t *testing.T) {
	y := newYard(t, t.TempDir())
	parent := t.TempDir()
	out := filepath.Join(parent, "x")
	want := map[string]map[string]string{}
	for _, text := range []string{"one", "two"} {
		clean := filepath.Join(t.TempDir(), "x")
		_, err := Make(t.Context(), y.spec(text), clean)
		require.NoError(t, err)
		want[text] = contentOf(t, clean)
	}
	caches := []string{t.TempDir(), t.TempDir()}
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		cmd := y.child(t, out, []string{"one", "two"}[i/2%2], 0)
		cmd.Env = append(cmd.Env, childCache+"="+caches[i%2])
		group.Go(func() { _, errs[i] = cmd.Output() })
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	assert.Contains(t, []map[string]string{want["one"], want["two"]}, contentOf(t, out))
	assert.Equal(t, []string{"x"}, names(t, parent))
}

func TestWaitingForAnotherBuildIsSaidAndCanBeEnded(t *testing.T) {
	y := newYard(t, t.TempDir())
	out := filepath.Join(t.TempDir(), "x")
	_, err := Make(t.Context(), y.spec("one"), out)
	require.NoError(t, err)
	locks, err := filepath.Glob(filepath.Join(y.dir, "cache", "lock", "out-*"))
	require.NoError(t, err)
	require.Len(t, locks, 1)
	other := flock.New(locks[0])
	require.NoError(t, other.Lock())
	s := y.spec("two")
	ctx, cancel := context.WithCancel(t.Context())
	s.Waiting = func(dir string) { assert.Equal(t, out, dir); cancel() }
	_, err = Make(ctx, s, out)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "wait for another build of "+out)
	require.NoError(t, other.Unlock())
	_, err = Make(t.Context(), s, out)
	require.NoError(t, err)
}
