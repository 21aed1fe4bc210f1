package patch_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
)

var zk = release.Target{Release: release.Release{Version: semver.MustParse("3.7.1"), Scala: []string{"2.13"}}, Mode: release.ZK, Scala: "2.13", Set: release.Base}

// randomCase makes a file and hooks whose anchors are lines that stand in it once.
func randomCase(r *rand.Rand) (src []byte, hooks []anchor.Hook) {
	eol := "\n"
	if r.IntN(4) == 0 {
		eol = "\r\n"
	}
	n := 1 + r.IntN(40)
	lines := make([]string, n)
	for i := range lines {
		switch r.IntN(6) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] = strings.Repeat(" ", r.IntN(8)) + "}"
		default:
			lines[i] = strings.Repeat(" ", r.IntN(8)) + fmt.Sprintf("line%d_ = f(é%d) + mid%d_ {", i, i, i)
		}
	}
	text := strings.Join(lines, eol)
	if r.IntN(3) > 0 {
		text += eol
	}
	replaced := map[int]bool{}
	for h := range 1 + r.IntN(8) {
		i := r.IntN(n)
		if !strings.Contains(lines[i], "line") {
			continue
		}
		p := anchor.Place{Anchor: anchor.Lines{fmt.Sprintf("line%d_ ", i)}}
		body := []string{"one()", "one()\n  two(\"UP STREAM\")\n\nthree()", "x"}[r.IntN(3)]
		switch r.IntN(3) {
		case 0:
			p.Op = anchor.Before
		case 1:
			p.Op = anchor.After
		default:
			if replaced[i] {
				continue
			}
			replaced[i] = true
			p.Op, p.Fragment = anchor.Replace, fmt.Sprintf("mid%d_", i)
			body = []string{"(UPSTREAM || two)", "UPSTREAM", "f(\n  UPSTREAM,\n\n  g\n)", "a\nUPSTREAM\nb"}[r.IntN(4)]
		}
		p.Bodies = map[release.Set]string{release.Base: body}
		hooks = append(hooks, anchor.Hook{ID: fmt.Sprintf("h%d", h%3), Places: []anchor.Place{p}})
	}
	return []byte(text), hooks
}

func apply(t *testing.T, src []byte, hooks []anchor.Hook) patch.File {
	t.Helper()
	located, misses := anchor.Locate("a/F.scala", src, hooks, zk)
	require.Empty(t, misses)
	after, edits, err := patch.Apply(src, located)
	require.NoError(t, err)
	return patch.File{Path: "a/F.scala", Before: src, After: after, Edits: edits}
}

// fileSystem has the one file of the random cases, and one that nothing touches.
func fileSystem(src []byte) fstest.MapFS {
	return fstest.MapFS{"a/F.scala": &fstest.MapFile{Data: src}, "b/G.scala": &fstest.MapFile{Data: []byte("g\n")}}
}

func TestApplyThenReverseGivesTheOriginalBytes(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		src, hooks := randomCase(r)
		f := apply(t, src, hooks)
		if len(hooks) > 0 {
			require.NotEqual(t, string(src), string(f.After))
		}
		back, err := patch.Reverse(f.Path, f.After, hooks, zk)
		require.NoError(t, err, "seed %d:\n%s", seed, f.After)
		require.Equal(t, string(src), string(back), "seed %d", seed)
	}
}

func TestTheDiffAppliedStrictlyGivesThePatchedBytes(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		src, hooks := randomCase(r)
		if len(hooks) == 0 {
			continue
		}
		tree := patch.Tree{Files: []patch.File{apply(t, src, hooks)}}
		text, err := tree.Diff()
		require.NoError(t, err)
		again, err := patch.ApplyDiff(fileSystem(src), append([]byte(tree.Header(zk, "test")), text...))
		require.NoError(t, err, "seed %d:\n%s", seed, text)
		require.Equal(t, string(tree.Files[0].After), string(again.Files[0].After), "seed %d", seed)
		require.Equal(t, tree.Summary(), again.Summary(), "seed %d", seed)
	}
}

// run runs a real program in dir and wants it to succeed without a word of complaint.
func run(t *testing.T, dir, stdin string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	// git must not find a repository above.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func TestPatchAndGitTakeTheDiffCleanly(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		src, hooks := randomCase(r)
		if len(hooks) == 0 {
			continue
		}
		tree := patch.Tree{Files: []patch.File{apply(t, src, hooks), {Path: "n/New.java", After: []byte("class New {}\n"),
			Edits: []patch.Edit{{Owner: "new", OldLines: patch.Lines{First: 1}, NewLines: patch.Lines{First: 1, Count: 1}}}}}}
		text, err := tree.Diff()
		require.NoError(t, err)
		whole := tree.Header(zk, "test") + string(text)
		for _, tool := range [][]string{{"patch", "-p1", "--binary", "--fuzz=0"}, {"git", "apply", "--whitespace=nowarn"}} {
			dir := t.TempDir()
			require.NoError(t, patch.Tree{}.Write(t.Context(), fileSystem(src), dir))
			if tool[0] == "git" {
				assert.Empty(t, run(t, dir, whole, "git", "apply", "--check", "--whitespace=nowarn"))
			}
			out := run(t, dir, whole, tool[0], tool[1:]...)
			assert.NotContains(t, out, "offset")
			assert.NotContains(t, out, "fuzz")
			got, err := os.ReadFile(filepath.Join(dir, "a/F.scala"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(tree.Files[0].After, got), "seed %d, %s", seed, tool[0])
			got, err = os.ReadFile(filepath.Join(dir, "n/New.java"))
			require.NoError(t, err)
			require.Equal(t, "class New {}\n", string(got))
		}
	}
}
