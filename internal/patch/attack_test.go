package patch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/patch"
)

const change = "@@ -1,1 +1,1 @@\n-g\n+h\n"

// refused wants a diff to be refused by the safety rules before anything is made of it.
func refused(t *testing.T, text, want string) {
	t.Helper()
	tree, err := patch.ApplyDiff(fileSystem([]byte("f\n")), []byte(text))
	require.Error(t, err)
	assert.Equal(t, exit.Refused, exit.Code(err), err)
	assert.Contains(t, err.Error(), want)
	assert.Empty(t, tree.Files)
}

func TestAPathThatClimbsOutOfTheTreeIsRefused(t *testing.T) {
	refused(t, "--- a/../../etc/passwd\n+++ b/../../etc/passwd\n"+change, "leaves the tree")
	refused(t, "--- a/b/../../../x\n+++ b/b/../../../x\n"+change, "leaves the tree")
	refused(t, "--- /dev/null\n+++ b/../x\n@@ -0,0 +1,1 @@\n+h\n", "leaves the tree")
	refused(t, "--- a/b/G.scala\n+++ ../b/G.scala\n"+change, "leaves the tree")
}

func TestAnAbsolutePathIsRefused(t *testing.T) {
	refused(t, "--- /etc/passwd\n+++ /etc/passwd\n"+change, "absolute path")
	refused(t, "--- a//etc/passwd\n+++ b//etc/passwd\n"+change, "leaves the tree")
	refused(t, "--- a/C:\\x\n+++ b/C:\\x\n"+change, "absolute path")
}

func TestAPatchIntoGitsOwnFolderIsRefused(t *testing.T) {
	refused(t, "--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1,1 @@\n+h\n", "git's own")
	refused(t, "--- /dev/null\n+++ b/x/.GIT/config\n@@ -0,0 +1,1 @@\n+h\n", "git's own")
}

func TestANewLinkIsRefused(t *testing.T) {
	refused(t, "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,1 @@\n+/etc\n", "mode 120000")
	refused(t, "diff --git a/l b/l\nnew file mode 160000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,1 @@\n+Subproject commit 1\n", "mode 160000")
}

func TestABinaryHunkIsRefused(t *testing.T) {
	refused(t, "diff --git a/x.jar b/x.jar\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKc$\n", "binary hunk")
	refused(t, "diff --git a/x.jar b/x.jar\nBinary files a/x.jar and b/x.jar differ\n", "binary hunk")
	refused(t, "--- a/b/G.scala\n+++ b/b/G.scala\n@@ -1,1 +1,1 @@\n-g\n+\x00\n", "NUL byte")
}

func TestRenamesDeletionsModesAndDoublesAreRefused(t *testing.T) {
	refused(t, "diff --git a/b/G.scala b/c\nsimilarity index 100%\nrename from b/G.scala\nrename to c\n", "not supported")
	refused(t, "diff --git a/b/G.scala b/b/G.scala\nold mode 100644\nnew mode 100755\n", "not supported")
	refused(t, "--- a/b/G.scala\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n", "is deleted")
	refused(t, "--- a/b/G.scala\n+++ b/c\n"+change, "is renamed")
	refused(t, "--- a/b/G.scala\n+++ b/b/G.scala\n"+change+"--- a/b/G.scala\n+++ b/b/G.scala\n"+change, "stands twice")
}

func TestALinkThatLeadsOutOfTheTreeIsNotFollowed(t *testing.T) {
	outside, tree := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "G.scala"), []byte("g\n"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(tree, "b")))
	_, err := patch.ApplyDiff(os.DirFS(tree), []byte("--- a/b/G.scala\n+++ b/b/G.scala\n"+change))
	require.Error(t, err)
	assert.Equal(t, exit.Refused, exit.Code(err))
	assert.Contains(t, err.Error(), "leads through the link b")

	err = patch.Tree{}.Write(t.Context(), os.DirFS(tree), t.TempDir())
	assert.Equal(t, exit.Refused, exit.Code(err), "an absolute link is not copied")
	require.NoError(t, os.Remove(filepath.Join(tree, "b")))
	require.NoError(t, os.Symlink("../elsewhere", filepath.Join(tree, "b")))
	err = patch.Tree{}.Write(t.Context(), os.DirFS(tree), t.TempDir())
	assert.Equal(t, exit.Refused, exit.Code(err), "a climbing link is not copied")
	require.NoError(t, os.Remove(filepath.Join(tree, "b")))
	require.NoError(t, os.Symlink("c", filepath.Join(tree, "b")))
	out := t.TempDir()
	require.NoError(t, patch.Tree{}.Write(t.Context(), os.DirFS(tree), out), "a link inside is kept")
	to, err := os.Readlink(filepath.Join(out, "b"))
	require.NoError(t, err)
	assert.Equal(t, "c", to)
}

func TestAHunkThatDoesNotFitSaysWhereItWould(t *testing.T) {
	src := "one\ntwo\nthree\nfour\nfive\n"
	cases := map[string]struct{ hunk, want string }{
		"elsewhere":     {"@@ -3,2 +3,3 @@\n one\n+new\n two\n", "hunk 1 @@ -3,2 +3,3 @@: would fit at line 1"},
		"counts differ": {"@@ -2,1 +2,2 @@\n zero\n-zero\n+one\n+two\n", "damaged"},
		"applied":       {"@@ -1,1 +1,2 @@\n-zero\n+one\n+two\n", "is already applied at line 1"},
		"nearly":        {"@@ -2,3 +2,2 @@\n two\n-drei\n four\n", "2 of its 3 lines stand from line 2 on, the first that differs is line 3: expected \"drei\""},
		"nowhere":       {"@@ -2,1 +2,1 @@\n-zwei\n+zwo\n", "fits nowhere"},
		"past the end":  {"@@ -9,0 +10,1 @@\n+six\n", "expected a gap at line 9, the file has 5 lines"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := patch.ApplyDiff(fileSystem([]byte(src)), []byte("--- a/a/F.scala\n+++ b/a/F.scala\n"+c.hunk))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
	_, err := patch.ApplyDiff(fileSystem([]byte(src)), []byte("--- a/a/F.scala\n+++ b/a/F.scala\n@@ -1,1 +1,1 @@\n-x\n+y\n@@ -5,1 +5,1 @@\n-five\n+5\n"))
	assert.Equal(t, exit.Drift, exit.Code(err), "one bad hunk fails the whole patch")
	_, err = patch.ApplyDiff(fileSystem([]byte(src)), []byte("--- a/a/Gone.scala\n+++ b/a/Gone.scala\n"+change))
	assert.ErrorContains(t, err, "a/Gone.scala")
	_, err = patch.ApplyDiff(fileSystem([]byte(src)), []byte("--- /dev/null\n+++ b/a/F.scala\n@@ -0,0 +1,1 @@\n+h\n"))
	assert.ErrorContains(t, err, "which the tree already has")
	_, err = patch.ApplyDiff(fileSystem([]byte(src)), []byte("hello\n"))
	assert.Error(t, err)
}

func TestAnOutputFolderWithSomethingInItIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	require.NoError(t, os.WriteFile(mine, []byte("x"), 0o644))
	err := patch.InNewDir(t.Context(), dir, func(string) error { t.Error("filled"); return nil })
	assert.Equal(t, exit.Refused, exit.Code(err))
	assert.FileExists(t, mine)
}

func TestOfTwoRunsIntoOneFolderTheSecondIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	write := func(tmp string) error { return os.WriteFile(filepath.Join(tmp, "f"), []byte("x"), 0o644) }
	err := patch.InNewDir(t.Context(), dir, func(tmp string) error {
		require.NoError(t, patch.InNewDir(t.Context(), dir, write), "the first is done while the second writes")
		return write(tmp)
	})
	assert.Equal(t, exit.Refused, exit.Code(err))
	assert.ErrorIs(t, err, patch.ErrOccupied)
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing but the output is left")
}

func TestACancelledWriteLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := patch.InNewDir(ctx, filepath.Join(parent, "out"), func(tmp string) error {
		cancel()
		return patch.Tree{}.Write(ctx, fstest.MapFS{"f": {Data: []byte("f")}}, tmp)
	})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func FuzzStrictApplyNeverPanicsAndStaysInTheTree(f *testing.F) {
	f.Add("--- a/b/G.scala\n+++ b/b/G.scala\n"+change, "f\n")
	f.Add("diff --git a/a/F.scala b/a/F.scala\n--- a/a/F.scala\n+++ b/a/F.scala\n@@ -1,1 +1,2 @@\n f\n+g\n\\ No newline at end of file\n", "f\n")
	f.Add("--- /dev/null\n+++ b/../x\n@@ -0,0 +1,1 @@\n+h\n", "")
	f.Fuzz(func(t *testing.T, text, src string) {
		tree, err := patch.ApplyDiff(fileSystem([]byte(src)), []byte(text))
		if err != nil {
			return
		}
		for _, file := range tree.Files {
			if strings.HasPrefix(file.Path, "/") || strings.Contains("/"+file.Path+"/", "/../") {
				t.Fatalf("path %q", file.Path)
			}
		}
		tree.Summary()
	})
}

func TestAFileWithoutHunksIsADamagedPatch(t *testing.T) {
	_, err := patch.ApplyDiff(fileSystem([]byte("f\n")), []byte("--- a/b/G.scala\n+++ b/b/G.scala\n"))
	assert.ErrorContains(t, err, "it names b/G.scala and has no hunk for it")
	tree, err := patch.ApplyDiff(fileSystem([]byte("f\n")), []byte("diff --git a/b/E b/b/E\nnew file mode 100644\nindex 0..1\n"))
	require.NoError(t, err, "a new empty file has none")
	assert.Len(t, tree.Files, 1)
}
