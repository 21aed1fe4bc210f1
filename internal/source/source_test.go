package source_test

import (
	"archive/zip"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/source"
)

// jar writes a sources jar of our own making.
func jar(t *testing.T, artifact string, entries ...string) maven.Artifact {
	t.Helper()
	path := filepath.Join(t.TempDir(), artifact+".jar")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for _, name := range entries {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte("// " + name + "\n"))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return maven.Artifact{Coordinates: maven.Coordinates{Group: "g", Artifact: artifact, Version: "1", Classifier: "sources"}, Path: path}
}

func paths(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	var out []string
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	}))
	return out
}

func TestSourcesJarsShowUpstreamsPaths(t *testing.T) {
	tree, err := source.Maven([]maven.Artifact{
		jar(t, "kafka_2.13", "kafka/a/B.scala", "kafka/a/C.java", "kafka/a/package.html", "META-INF/MANIFEST.MF", "../../evil.java"),
		jar(t, "kafka-metadata", "org/x/D.java", "org/apache/kafka/common/metadata/Generated.java"),
		jar(t, "kafka-server-common", "org/x/E.java"),
	})
	require.NoError(t, err)
	assert.Equal(t, []string{
		"core/src/main/java/kafka/a/C.java",
		"core/src/main/scala/kafka/a/B.scala",
		"metadata/src/main/java/org/x/D.java",
		"server-common/src/main/java/org/x/E.java",
	}, paths(t, tree.FS))
	assert.False(t, tree.Whole, "sources jars are a partial tree")
	text, err := fs.ReadFile(tree.FS, "core/src/main/scala/kafka/a/B.scala")
	require.NoError(t, err)
	assert.Equal(t, "// kafka/a/B.scala\n", string(text))
	require.NoError(t, fstest.TestFS(tree.FS, "server-common/src/main/java/org/x/E.java"))
	require.NoError(t, tree.Close())
}

func TestADamagedSourcesJarIsSaidPlainly(t *testing.T) {
	j := jar(t, "kafka_2.13", "A.java")
	require.NoError(t, os.Truncate(j.Path, 40))
	_, err := source.Maven([]maven.Artifact{j})
	assert.ErrorContains(t, err, j.Path)
	_, err = source.Maven([]maven.Artifact{jar(t, "zookeeper", "A.java")})
	assert.ErrorContains(t, err, "expected kafka_<scala> or kafka-<module>")
}

func TestAFolderIsWholeWhenGradleCanStartInIt(t *testing.T) {
	dir := t.TempDir()
	tree, err := source.Dir(dir)
	require.NoError(t, err)
	assert.False(t, tree.Whole)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.gradle"), nil, 0o644))
	tree, err = source.Dir(dir)
	require.NoError(t, err)
	assert.True(t, tree.Whole)
	require.NoError(t, os.Symlink("/etc/hosts", filepath.Join(dir, "link.java")))
	_, err = fs.ReadFile(tree.FS, "link.java")
	assert.Error(t, err, "a link out of the folder is not followed")
	_, err = source.Dir(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "expected upstream's source tree")
}

// repository makes a git repository with one tagged commit and gives the commit.
func repository(t *testing.T, tag string) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	repo, err := git.PlainInit(dir, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.gradle"), []byte("x\n"), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "core", "src"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "core", "src", "A.java"), []byte("a\r\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gradlew"), []byte("#!\n"), 0o755))
	require.NoError(t, os.Symlink("gradlew", filepath.Join(dir, "link")))
	tree, err := repo.Worktree()
	require.NoError(t, err)
	require.NoError(t, tree.AddGlob("."))
	hash, err := tree.Commit("c", &git.CommitOptions{Author: &object.Signature{Name: "t", Email: "t@invalid", When: time.Unix(1, 0)}})
	require.NoError(t, err)
	_, err = repo.CreateTag(tag, hash, nil)
	require.NoError(t, err)
	return dir, hash.String()
}

func TestATagIsReadWithoutACheckout(t *testing.T) {
	url, commit := repository(t, "9.9.9")
	spec := source.GitSpec{URL: url, Tag: "9.9.9", Cache: t.TempDir(), Commit: commit[:16]}
	tree, err := source.Git(t.Context(), spec)
	require.NoError(t, err)
	assert.Equal(t, commit, tree.Commit)
	assert.True(t, tree.Whole)
	assert.Equal(t, []string{"link"}, tree.LeftOut, "what is not shown is named")
	assert.Equal(t, []string{"core/src/A.java", "gradlew", "settings.gradle"}, paths(t, tree.FS))
	text, err := fs.ReadFile(tree.FS, "core/src/A.java")
	require.NoError(t, err)
	assert.Equal(t, "a\r\n", string(text), "line ends are upstream's")
	i, err := fs.Stat(tree.FS, "gradlew")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o755), i.Mode())
	require.NoError(t, fstest.TestFS(tree.FS, "gradlew"))

	// The clone is used again: the repository may be gone.
	require.NoError(t, os.RemoveAll(url))
	_, err = source.Git(t.Context(), spec)
	assert.NoError(t, err)
	spec.Commit = "0123456789abcdef"
	_, err = source.Git(t.Context(), spec)
	assert.Equal(t, exit.Proof, exit.Code(err), "the lock is asked at each use")
}

// clonesIn gives what is below the cache's folder for clones.
func clonesIn(t *testing.T, cache string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(cache, "git", "*"))
	require.NoError(t, err)
	hidden, err := filepath.Glob(filepath.Join(cache, "git", ".*"))
	require.NoError(t, err)
	return append(names, hidden...)
}

func TestAMissingTagOrRepositoryLeavesNothingInTheCache(t *testing.T) {
	url, _ := repository(t, "9.9.9")
	cache := t.TempDir()
	_, err := source.Git(t.Context(), source.GitSpec{URL: url, Tag: "9.9.8", Cache: cache})
	assert.ErrorContains(t, err, "clone tag 9.9.8 of "+url)
	_, err = source.Git(t.Context(), source.GitSpec{URL: filepath.Join(url, "none"), Tag: "9.9.9", Cache: cache})
	assert.ErrorContains(t, err, "clone tag 9.9.9")
	_, err = source.Git(t.Context(), source.GitSpec{URL: url, Tag: "9.9.9", Cache: cache, Offline: true})
	assert.ErrorContains(t, err, "--offline forbids")
	assert.Empty(t, clonesIn(t, cache))
}

// cancelling is a progress writer that cancels at the first word of the server.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) { c.cancel(); return len(p), nil }

func TestACloneThatIsCancelledHalfwayLeavesNothing(t *testing.T) {
	url, _ := repository(t, "9.9.9")
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := source.Git(ctx, source.GitSpec{URL: url, Tag: "9.9.9", Cache: cache, Progress: cancelling{cancel}})
	require.ErrorIs(t, ctx.Err(), context.Canceled, "the clone had begun")
	require.Error(t, err)
	assert.Empty(t, clonesIn(t, cache))
}

func TestAPasswordInAUrlIsNotShown(t *testing.T) {
	_, err := source.Git(t.Context(), source.GitSpec{URL: "https://me:secret@host.invalid/x.git", Tag: "1", Cache: t.TempDir(), Offline: true})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	assert.Contains(t, err.Error(), "host.invalid")
}
