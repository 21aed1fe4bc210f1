package maven

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/cache"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// fakeMvn stands in for the client: it answers dependency:copy from the folder $REMOTE, in
// the way that $MODE says, and writes its arguments to $REMOTE/log.
const fakeMvn = `#!/bin/sh
echo "$@" >> "$REMOTE/log"
while [ "$1" != -f ]; do shift; done
pom=$2; fresh=; case "$*" in *-Dmaven.repo.local=*) fresh=yes;; esac
out=$(sed -n 's,.*<outputDirectory>\(.*\)</outputDirectory>.*,\1,p' "$pom" | head -n 1)
case $MODE in
refused) printf '[INFO] Scanning\n\033[1;31m[ERROR]\033[m Failed to execute goal: Could not find artifact g:a:jar:1 in mirror -> [Help 1]\n[ERROR] more\n'; exit 1;;
silent) exit 3;;
forgetful) exit 0;;
hang) echo $$ > "$REMOTE/pid.new"; mv "$REMOTE/pid.new" "$REMOTE/pid"; while :; do sleep 1; done;;
esac
for name in $(sed -n 's,.*<destFileName>\(.*\)</destFileName>.*,\1,p' "$pom"); do
  src=$REMOTE/${name#*-}
  if [ "$MODE" = truncated ] || { [ "$MODE" = once ] && [ -z "$fresh" ]; }; then head -c 3 "$src" > "$out/$name"; else cp "$src" "$out/$name"; fi
  echo "[INFO] Copying ${name#*-} to $out/$name"
done
`

type bench struct {
	t        *testing.T
	resolver *Resolver
	remote   string
	local    string
	progress *bytes.Buffer
	log      *bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root := t.TempDir()
	b := &bench{t: t, remote: filepath.Join(root, "remote"), local: filepath.Join(root, "local"), progress: &bytes.Buffer{}, log: &bytes.Buffer{}}
	bin := filepath.Join(root, "bin")
	for _, d := range []string{b.remote, b.local, bin} {
		require.NoError(t, os.Mkdir(d, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte(fakeMvn), 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("REMOTE", b.remote)
	t.Setenv("MODE", "")
	c, err := cache.Open(filepath.Join(root, "cache"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	b.resolver = &Resolver{Cache: c, Repositories: []string{b.local}, Progress: b.progress, Log: slog.New(slog.NewTextHandler(b.log, nil))}
	return b
}

// publish puts a file where the fake client finds it and gives its entry in the lock.
func (b *bench) publish(artifact, content string) release.LockedArtifact {
	b.t.Helper()
	c := Coordinates{Group: "g", Artifact: artifact, Version: "1", Extension: "jar"}
	require.NoError(b.t, os.WriteFile(filepath.Join(b.remote, c.File()), []byte(content), 0o644))
	sum := sha256.Sum256([]byte(content))
	return release.LockedArtifact{Coordinates: c, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func (b *bench) install(l release.LockedArtifact, content string) {
	b.t.Helper()
	path := filepath.Join(b.local, l.Coordinates.Path())
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, []byte(content), 0o644))
}

func (b *bench) runs() []string {
	text, err := os.ReadFile(filepath.Join(b.remote, "log"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(b.t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (b *bench) requireContent(got []Artifact, contents ...string) {
	b.t.Helper()
	require.Len(b.t, got, len(contents))
	for i, want := range contents {
		text, err := os.ReadFile(got[i].Path)
		require.NoError(b.t, err)
		require.Equal(b.t, want, string(text))
	}
}

func (b *bench) requireNothingLeft() {
	b.t.Helper()
	for _, d := range []string{"staging", "tmp"} {
		entries, err := os.ReadDir(filepath.Join(b.resolver.Cache.Root(), d))
		require.NoError(b.t, err)
		require.Empty(b.t, entries)
	}
}

func TestResolveAsksMvnOnceAndThenTheCache(t *testing.T) {
	b := newBench(t)
	locked := []release.LockedArtifact{b.publish("one", "first"), b.publish("two", "second")}
	got, err := b.resolver.Resolve(context.Background(), locked)
	require.NoError(t, err)
	b.requireContent(got, "first", "second")
	require.Equal(t, locked[1].SHA256, got[1].SHA256)
	require.Equal(t, locked[1].Coordinates, got[1].Coordinates)
	require.Equal(t, "fetching 2 files (0.0 MB) with mvn\nfetched 2 files\n", b.progress.String())
	again, err := b.resolver.Resolve(context.Background(), locked)
	require.NoError(t, err)
	require.Equal(t, got, again)
	require.Len(t, b.runs(), 1)
	b.requireNothingLeft()
}

func TestResolveTakesFromTheLocalRepositoryWithoutMvn(t *testing.T) {
	b := newBench(t)
	l := b.publish("one", "first")
	b.install(l, "first")
	b.resolver.Offline = true
	t.Setenv("PATH", "")
	got, err := b.resolver.Resolve(context.Background(), []release.LockedArtifact{l})
	require.NoError(t, err)
	b.requireContent(got, "first")
	require.True(t, strings.HasPrefix(got[0].Path, b.resolver.Cache.Root()))
}

func TestCachedDamageIsFetchedOnceMoreAndNeverUsed(t *testing.T) {
	b := newBench(t)
	l := []release.LockedArtifact{b.publish("one", "first")}
	got, err := b.resolver.Resolve(context.Background(), l)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(got[0].Path, []byte("worst"), 0o644))

	b.resolver.Offline = true
	_, err = b.resolver.Resolve(context.Background(), l)
	require.ErrorContains(t, err, "--offline: 1 files are neither in the cache")
	b.resolver.Offline = false

	got, err = b.resolver.Resolve(context.Background(), l)
	require.NoError(t, err)
	b.requireContent(got, "first")
	require.Len(t, b.runs(), 2)
	require.Contains(t, b.log.String(), "the cached copy is damaged")
}

func TestDamageInTheLocalRepositoryIsFetchedPastIt(t *testing.T) {
	b := newBench(t)
	l := []release.LockedArtifact{b.publish("one", "first")}
	b.install(l[0], "fir")
	got, err := b.resolver.Resolve(context.Background(), l)
	require.NoError(t, err)
	b.requireContent(got, "first")
	require.Len(t, b.runs(), 1)
	require.Contains(t, b.runs()[0], "-Dmaven.repo.local=")
	require.Contains(t, b.log.String(), "is truncated: expected 5 bytes")
}

func TestATruncatedDownloadIsFetchedOnceMore(t *testing.T) {
	b := newBench(t)
	l := []release.LockedArtifact{b.publish("one", "first")}
	t.Setenv("MODE", "once")
	got, err := b.resolver.Resolve(context.Background(), l)
	require.NoError(t, err)
	b.requireContent(got, "first")
	require.Len(t, b.runs(), 2)
}

func TestADownloadThatStaysWrongIsAProofError(t *testing.T) {
	for mode, want := range map[string]string{"truncated": "is truncated: expected 5 bytes", "": "expected SHA-256"} {
		t.Run("mode "+mode, func(t *testing.T) {
			b := newBench(t)
			l := b.publish("one", "first")
			b.publish("one", "fIrst")
			t.Setenv("MODE", mode)
			_, err := b.resolver.Resolve(context.Background(), []release.LockedArtifact{l})
			require.ErrorContains(t, err, "g:one:1 differs from versions.lock, also after a fresh download")
			require.ErrorContains(t, err, want)
			require.Equal(t, exit.Proof, exit.Code(err))
			require.Len(t, b.runs(), 2)
			b.requireNothingLeft()
		})
	}
}

func TestWhatMvnRefusesIsSaidWithItsOwnReason(t *testing.T) {
	for mode, want := range map[string]string{
		"refused":   "fetch 1 files, beginning with g:one:1: mvn: Failed to execute goal: Could not find artifact g:a:jar:1 in mirror",
		"silent":    "mvn ended with code 3",
		"forgetful": "mvn ended well, but its file is not there",
	} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t)
			l := b.publish("one", "first")
			t.Setenv("MODE", mode)
			_, err := b.resolver.Resolve(context.Background(), []release.LockedArtifact{l})
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "Help 1")
			require.Equal(t, exit.Failed, exit.Code(err))
			b.requireNothingLeft()
		})
	}
}

func TestAMissingMvnIsSaidWithHowToGetIt(t *testing.T) {
	b := newBench(t)
	l := b.publish("one", "first")
	t.Setenv("PATH", t.TempDir())
	_, err := b.resolver.Resolve(context.Background(), []release.LockedArtifact{l})
	require.ErrorContains(t, err, "mvn is not on PATH")
	require.ErrorContains(t, err, "apt-get install maven")
}

func TestCancelAndTimeLimitEndMvnAndLeaveNothing(t *testing.T) {
	for _, limit := range []bool{false, true} {
		b := newBench(t)
		l := b.publish("one", "first")
		t.Setenv("MODE", "hang")
		ctx, cancel := context.WithCancel(context.Background())
		if limit {
			b.resolver.Client.Timeout = 500 * time.Millisecond
		}
		ended := make(chan error, 1)
		go func() { _, err := b.resolver.Resolve(ctx, []release.LockedArtifact{l}); ended <- err }()
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(b.remote, "pid")); return err == nil }, 10*time.Second, 5*time.Millisecond)
		if !limit {
			cancel()
		}
		err := <-ended
		if limit {
			require.ErrorContains(t, err, "after its time limit of 500ms")
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		pid, err := os.ReadFile(filepath.Join(b.remote, "pid"))
		require.NoError(t, err)
		require.NoDirExists(t, "/proc/"+strings.TrimSpace(string(pid)))
		b.requireNothingLeft()
		cancel()
	}
}

func TestTwoRunsAtOnceFetchOnce(t *testing.T) {
	b := newBench(t)
	l := []release.LockedArtifact{b.publish("one", "first"), b.publish("two", "second")}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			c, err := cache.Open(b.resolver.Cache.Root())
			if err != nil {
				errs[i] = err
				return
			}
			r := &Resolver{Cache: c, Repositories: []string{b.local}}
			if _, errs[i] = r.Resolve(context.Background(), l); errs[i] == nil {
				errs[i] = c.Close()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, b.runs(), 1)
}
