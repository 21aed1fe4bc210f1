package build

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
)

func TestBesideAreTheModulesOtherJavaSources(t *testing.T) {
	tree := fstest.MapFS{}
	for _, path := range []string{
		"core/src/main/java/kafka/A.java", "core/src/main/java/kafka/in/B.java", "core/src/main/java/kafka/Compiled.java",
		"core/src/main/java/kafka/package.html", "core/src/main/scala/kafka/S.scala", "core/src/main/scala/kafka/Odd.java",
		"core/src/test/java/kafka/ATest.java", "server/src/main/java/kafka/Other.java",
	} {
		tree[path] = &fstest.MapFile{Data: []byte("text of " + path)}
	}
	compiled := []Source{{Path: "core/src/main/scala/kafka/S.scala"}, {Path: "core/src/main/java/kafka/Compiled.java", Text: []byte("with hooks")}}
	got, err := beside(tree, "core", compiled)
	require.NoError(t, err)
	assert.Equal(t, []Source{
		{Path: "core/src/main/java/kafka/A.java", Text: []byte("text of core/src/main/java/kafka/A.java")},
		{Path: "core/src/main/java/kafka/in/B.java", Text: []byte("text of core/src/main/java/kafka/in/B.java")},
	}, got)

	got, err = beside(tree, "metadata", nil)
	require.NoError(t, err)
	assert.Empty(t, got, "a module without Java sources")
	got, err = beside(nil, "core", nil)
	require.NoError(t, err)
	assert.Empty(t, got, "no tree")
	_, err = beside(unreadable{tree}, "core", nil)
	assert.ErrorIs(t, err, errUnreadable, "a source that cannot be read is not left out in silence")
}

var errUnreadable = errors.New("unreadable")

// unreadable lists its files but gives none of them.
type unreadable struct{ fstest.MapFS }

func (unreadable) ReadFile(string) ([]byte, error) { return nil, errUnreadable }

func TestClassesOfJavaSourcesAreHiddenInACopyOfTheJar(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.jar")
	f, err := os.Create(own)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for _, name := range []string{"kafka/A.class", "kafka/A$In.class", "kafka/A$1.class", "kafka/AB.class", "kafka/in/A.class", "kafka/A.properties", "kafka/C.class", "kafka/S.class"} {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(name))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(z.Close(), f.Close()))
	before, err := os.ReadFile(own)
	require.NoError(t, err)

	unit := func() Unit {
		return Unit{Module: "core", Own: Library{Path: own}, Classpath: []Library{{Path: "first.jar"}, {Path: own}, {Path: "last.jar"}},
			Files:  []Source{{Path: "core/src/main/scala/kafka/S.scala"}, {Path: "core/src/main/java/kafka/C.java"}},
			Beside: []Source{{Path: "core/src/main/java/kafka/A.java"}}}
	}
	c := compilation{unit: unit(), dir: t.TempDir()}
	paths, err := c.hide()
	require.NoError(t, err)
	copied := filepath.Join(c.dir, "own.jar")
	assert.Equal(t, []string{"first.jar", copied, "last.jar"}, paths, "the copy stands where the jar stood")
	j, err := jar.Open(copied)
	require.NoError(t, err)
	defer j.Close()
	assert.ElementsMatch(t, []string{"kafka/AB.class", "kafka/in/A.class", "kafka/A.properties", "kafka/S.class"}, j.Names())
	after, err := os.ReadFile(own)
	require.NoError(t, err)
	assert.Equal(t, before, after, "the release's jar stays as it is")

	for name, change := range map[string]func(*Unit){
		"no Java sources":                  func(u *Unit) { u.Files, u.Beside = u.Files[:1], nil },
		"the jar is not on the class path": func(u *Unit) { u.Own.Path = "elsewhere.jar" },
	} {
		c := compilation{unit: unit(), dir: t.TempDir()}
		change(&c.unit)
		paths, err := c.hide()
		require.NoError(t, err, name)
		assert.Equal(t, []string{"first.jar", own, "last.jar"}, paths, name)
	}
	c = compilation{unit: unit(), dir: t.TempDir()}
	require.NoError(t, os.Remove(own))
	_, err = c.hide()
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
