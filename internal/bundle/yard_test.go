package bundle

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/maven"
	"observer-patch/internal/mounttest"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

// yard builds bundles of a tiny release whose javac is a script, so that a build takes
// moments. The variable names a folder that all processes of a test use.
type yard struct {
	dir string // holds release, JDK and cache
}

// The environment of a child that builds and may be killed on the way.
const (
	childYard  = "BUNDLE_TEST_YARD"
	childOut   = "BUNDLE_TEST_OUT"
	childText  = "BUNDLE_TEST_TEXT"
	childCache = "BUNDLE_TEST_CACHE"
	childAfter = "BUNDLE_TEST_AFTER" // how long after its beginning it is killed; 0s for never
)

func TestMain(m *testing.M) {
	if os.Getenv(childYard) != "" {
		os.Exit(childBuilds())
	}
	os.Exit(mounttest.Main(m))
}

// childBuilds builds as a process of its own and prints how long that took.
func childBuilds() int {
	after, err := time.ParseDuration(os.Getenv(childAfter))
	if err != nil {
		panic(err)
	}
	y := yard{os.Getenv(childYard)}
	s := y.spec(os.Getenv(childText))
	if c := os.Getenv(childCache); c != "" {
		s.CacheDir = c
	}
	began := time.Now()
	if after > 0 {
		time.AfterFunc(after, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	if _, err := Make(context.Background(), s, os.Getenv(childOut)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(time.Since(began))
	return 0
}

// javac gives for each source a 'class' with its text.
const javac = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -d) out=$2; shift;;
    *.java) f=${1##*/src/main/java/}; mkdir -p "$out/${f%/*}"; cp "$1" "$out/${f%.java}.class";;
  esac
  shift
done
`

const electionsPath = "metadata/src/main/java/k/Elections.java"

func newYard(t *testing.T, dir string) yard {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "jdk", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jdk", "bin", "javac"), []byte(javac), 0o755))
	for name, entries := range map[string]map[string]string{
		"kafka-metadata-4.1.0.jar": {"k/Elections.class": "old", "k/Other.class": strings.Repeat("another class ", 20000)},
		"kafka_2.13-4.1.0.jar":     {"NOTICE": "Upstream.\n", "LICENSE": "A licence.\n"},
	} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		z := zip.NewWriter(f)
		for _, entry := range slices.Sorted(maps.Keys(entries)) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: entry, Method: zip.Store})
			require.NoError(t, err)
			_, err = w.Write([]byte(entries[entry]))
			require.NoError(t, err)
		}
		require.NoError(t, errors.Join(z.Close(), f.Close()))
	}
	return yard{dir}
}

// spec is a build whose every file depends on text.
func (y yard) spec(text string) Spec {
	var closure []maven.Artifact
	for _, name := range []string{"kafka-metadata", "kafka_2.13"} {
		path := filepath.Join(y.dir, name+"-4.1.0.jar")
		sum, err := digestFile(path)
		if err != nil {
			panic(err)
		}
		closure = append(closure, maven.Artifact{Path: path, SHA256: sum, Coordinates: maven.Coordinates{Group: "org.apache.kafka", Artifact: name, Version: "4.1.0", Extension: "jar"}})
	}
	tree := patch.Tree{Files: []patch.File{{Path: electionsPath, Before: []byte("old\n"), After: []byte(text + "\nold\n"),
		Edits: []patch.Edit{{Owner: "hook", OldLines: patch.Lines{First: 1}, NewLines: patch.Lines{First: 1, Count: 1}}}}}}
	diff, err := tree.Diff()
	if err != nil {
		panic(err)
	}
	return Spec{
		Target: release.Target{Release: release.Release{Version: semver.MustParse("4.1.0"), ClassRelease: 17, Modes: []release.Mode{release.KRaft}, Scala: []string{"2.13"}}, Mode: release.KRaft, Scala: "2.13", Set: release.Full},
		Tree:   tree, Diff: diff, Inputs: Artifacts{Classpath: closure}, NoProof: true, Tool: text, Getenv: os.Getenv,
		JDK: toolchain.JDK{Home: filepath.Join(y.dir, "jdk"), Version: "17.0.0"}, CacheDir: filepath.Join(y.dir, "cache"),
	}
}

// child is a build in a process of its own.
func (y yard) child(t *testing.T, out, text string, after time.Duration) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childYard+"="+y.dir, childOut+"="+out, childText+"="+text, childAfter+"="+after.String())
	return cmd
}

// contentOf gives every file of a bundle; a bundle that does not read is an error of the test.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	_, err := Read(dir)
	require.NoError(t, err)
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.Base(path)] = string(text)
		return err
	}))
	return files
}

// names lists a folder, hidden entries too.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
