package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// tool runs the command line with the repository's data and gives its exit code and output.
func tool(t *testing.T, ctx context.Context, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(ctx, &cli.Env{Out: &o, Err: &e, Data: observerpatch.Data(), Version: "test"}, args)
	return code, o.String(), e.String()
}

// works wants exit code 0.
func works(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := tool(t, t.Context(), args...)
	require.Equal(t, exit.Done, code, "%v: %s", args, errs)
	return out
}

// dataWithoutCommits gives a folder with the tool's data in which no commit is locked: a
// repository made from sources jars cannot have upstream's commits.
func dataWithoutCommits(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, observerpatch.Data()))
	lock, err := os.ReadFile(filepath.Join(dir, "versions.lock"))
	require.NoError(t, err)
	commits := regexp.MustCompile(`(?m)^ +commit(-prefix)?: .*\n`)
	require.Regexp(t, commits, string(lock))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "versions.lock"), commits.ReplaceAll(lock, nil), 0o644))
	return dir
}

// repository makes a git repository of a folder, with the tag and another one that must not be cloned.
func repository(t *testing.T, dir, tag string) {
	t.Helper()
	repo, err := git.PlainInit(dir, false)
	require.NoError(t, err)
	tree, err := repo.Worktree()
	require.NoError(t, err)
	who := &object.Signature{Name: "test", Email: "test@invalid", When: time.Unix(1, 0)}
	older, err := tree.Commit("empty", &git.CommitOptions{Author: who, AllowEmptyCommits: true})
	require.NoError(t, err)
	_, err = repo.CreateTag("older", older, nil)
	require.NoError(t, err)
	require.NoError(t, tree.AddGlob("."))
	head, err := tree.Commit("sources", &git.CommitOptions{Author: who})
	require.NoError(t, err)
	_, err = repo.CreateTag(tag, head, &git.CreateTagOptions{Tagger: who, Message: tag})
	require.NoError(t, err)
}

// The sources of these releases come through the tool from the published jars.
func TestAllSourcesGiveTheSameFilesAndTheSameDiff(t *testing.T) {
	for _, version := range []string{"3.7.1", "4.1.0"} {
		t.Run(version, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("OBSERVER_PATCH_CACHE", cache)
			work, data := t.TempDir(), dataWithoutCommits(t)
			in := func(name string) string { return filepath.Join(work, name) }
			full := []string{"--version", version, "--set", "full"}

			works(t, append([]string{"apply", "-o", "json", "--out", in("patched")}, full...)...)
			works(t, append([]string{"apply", "--reverse", "--dir", in("patched/source"), "--out", in("original")}, full...)...)
			upstream := in("original/source")
			repository(t, upstream, version)
			url := "file://" + upstream

			works(t, append([]string{"generate", "--source", "maven", "--out", in("maven")}, full...)...)
			works(t, append([]string{"generate", "--source", "dir", "--dir", upstream, "--out", in("dir")}, full...)...)
			gitArgs := append([]string{"generate", "--source", "git", "--git-url", url, "--out", in("git")}, full...)
			code, _, errs := tool(t, t.Context(), gitArgs...)
			assert.Equal(t, exit.Proof, code, "the commit is not the locked one")
			assert.Contains(t, errs, "expected ")
			works(t, append(gitArgs, "--data", data)...)
			works(t, append(gitArgs, "--data", data, "--offline", "--out", in("git2"))...)

			want := onlyFile(t, in("maven"))
			require.NotEmpty(t, want)
			for _, kind := range []string{"dir", "git", "git2"} {
				require.True(t, bytes.Equal(want, onlyFile(t, in(kind))), "the diff from %s differs", kind)
			}
			assertShallow(t, cache)
			takenByRealPrograms(t, upstream, want)

			works(t, append([]string{"apply", "--source", "git", "--git-url", url, "--data", data, "--out", in("fromgit")}, full...)...)
			assert.Equal(t, files(t, in("patched/source")), files(t, in("fromgit/source")))
		})
	}
}

// takenByRealPrograms wants git and patch to take the diff without a word about offsets or fuzz.
func takenByRealPrograms(t *testing.T, upstream string, diff []byte) {
	t.Helper()
	for _, tool := range [][]string{{"git", "apply", "--check", "--verbose"}, {"patch", "-p1", "--dry-run", "--fuzz=0"}} {
		cmd := exec.CommandContext(t.Context(), tool[0], tool[1:]...)
		cmd.Dir, cmd.Stdin = upstream, bytes.NewReader(diff)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", tool, out)
		assert.NotContains(t, string(out), "offset")
		assert.NotContains(t, string(out), "fuzz")
		assert.Contains(t, string(out), "Partition.scala")
	}
}

// Every release, mode, Scala version and set has every hook exactly once, and a diff.
func TestEveryTargetChecksAndGenerates(t *testing.T) {
	all := []string{"--version", "all", "--mode", "all", "--scala", "all", "--set", "all"}
	out := works(t, append([]string{"check", "-o", "json"}, all...)...)
	var places []struct {
		Target, Hook string
		Count        int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &places))
	targets := map[string]bool{}
	for _, p := range places {
		targets[p.Target] = true
		assert.Equal(t, 1, p.Count, "%s %s", p.Target, p.Hook)
	}
	matrix, err := fs.ReadFile(observerpatch.Data(), "versions.yaml")
	require.NoError(t, err)
	m, err := release.ReadMatrix(matrix, "versions.yaml")
	require.NoError(t, err)
	want, err := m.Targets([]string{"all"}, "all", "all", "all")
	require.NoError(t, err)
	dir := t.TempDir()
	works(t, append([]string{"generate", "--out", dir}, all...)...)
	for _, target := range want {
		assert.Contains(t, targets, target.String())
		text, err := os.ReadFile(filepath.Join(dir, target.String()+".diff"))
		require.NoError(t, err)
		assert.Contains(t, string(text), "\nhook set: "+string(target.Set)+"\n")
		assert.Contains(t, string(text), "\n+++ b/core/src/main/scala/kafka/cluster/Partition.scala\n")
	}
	assert.Len(t, targets, len(want))
}

func onlyFile(t *testing.T, dir string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.diff"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	return text
}

// assertShallow wants the one clone in the cache to have one commit, one tag and no leftovers.
func assertShallow(t *testing.T, cache string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, "git"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	repo, err := git.PlainOpen(filepath.Join(cache, "git", entries[0].Name()))
	require.NoError(t, err)
	_, err = repo.Tag("older")
	assert.ErrorIs(t, err, git.ErrTagNotFound)
	commits, err := repo.CommitObjects()
	require.NoError(t, err)
	n := 0
	require.NoError(t, commits.ForEach(func(*object.Commit) error { n++; return nil }))
	assert.Equal(t, 1, n, "commits in the clone")
}

// files gives the text of every file below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(text)
		return err
	}))
	require.NotEmpty(t, out)
	return out
}
