package jar

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// content is one entry of a jar made for a test.
type content struct{ name, text string }

// makeJar writes a jar as archive/zip does it (data descriptors) or, with raw, as Gradle does
// (sizes in the local header).
func makeJar(t testing.TB, raw bool, entries ...content) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Date(2024, 5, 6, 7, 8, 10, 0, time.UTC)}
		if raw {
			header.Method = zip.Store
			header.CompressedSize64, header.UncompressedSize64 = uint64(len(e.text)), uint64(len(e.text))
			header.CRC32 = crc(e.text)
			f, err := w.CreateRaw(header)
			require.NoError(t, err)
			_, err = f.Write([]byte(e.text))
			require.NoError(t, err)
			continue
		}
		f, err := w.CreateHeader(header)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.SetComment("made for a test"))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "test.jar")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

func TestRewriteWithoutChangesGivesTheSameBytes(t *testing.T) {
	for _, raw := range []bool{false, true} {
		src := makeJar(t, raw, content{"META-INF/", ""}, content{"META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n"}, content{"a/B.class", "abcabcabc"})
		var out bytes.Buffer
		report, err := Rewrite(&out, src, Changes{})
		require.NoError(t, err)
		before, err := os.ReadFile(src)
		require.NoError(t, err)
		assert.Equal(t, before, out.Bytes(), "raw %v", raw)
		assert.Equal(t, Report{Copied: 3}, report)
	}
}

func TestRewriteReplacesInPlaceAddsAtTheEndAndRemoves(t *testing.T) {
	for _, raw := range []bool{false, true} {
		src := makeJar(t, raw, content{"META-INF/", ""}, content{"a/", ""}, content{"a/One.class", "one"},
			content{"a/Two.class", "two"}, content{"a/Three.class", "three"}, content{"a/Four.class", "four"})
		changes := Changes{
			Put:    map[string][]byte{"a/Two.class": []byte("zwei"), "b/c/New.class": []byte("new"), "META-INF/x.properties": {}},
			Remove: []string{"a/Three.class"},
		}
		dst := filepath.Join(t.TempDir(), "out.jar")
		report, err := RewriteFile(dst, src, changes)
		require.NoError(t, err)
		assert.Equal(t, Report{
			Copied:   4,
			Replaced: []string{"a/Two.class"},
			Added:    []string{"META-INF/x.properties", "b/", "b/c/", "b/c/New.class"},
			Removed:  []string{"a/Three.class"},
		}, report)

		old, err := zip.OpenReader(src)
		require.NoError(t, err)
		defer old.Close()
		got, err := zip.OpenReader(dst)
		require.NoError(t, err)
		defer got.Close()
		var names []string
		for _, f := range got.File {
			names = append(names, f.Name)
		}
		assert.Equal(t, []string{"META-INF/", "a/", "a/One.class", "a/Two.class", "a/Four.class",
			"META-INF/x.properties", "b/", "b/c/", "b/c/New.class"}, names)
		assert.Equal(t, "made for a test", got.Comment)
		assert.True(t, old.File[3].Modified.Equal(got.File[3].Modified), "a replaced entry keeps its time")
		assert.True(t, time.Date(1980, 2, 1, 0, 0, 0, 0, time.UTC).Equal(got.File[8].Modified))

		again := filepath.Join(t.TempDir(), "again.jar")
		_, err = RewriteFile(again, src, changes)
		require.NoError(t, err)
		assert.Equal(t, read(t, dst), read(t, again))

		compared, err := Compare(src, dst)
		require.NoError(t, err)
		assert.Equal(t, Comparison{
			Identical: []string{"META-INF/", "a/", "a/Four.class", "a/One.class"},
			Replaced:  []string{"a/Two.class"},
			Added:     []string{"META-INF/x.properties", "b/", "b/c/", "b/c/New.class"},
			Removed:   []string{"a/Three.class"},
		}, compared)

		j, err := Open(dst)
		require.NoError(t, err)
		defer j.Close()
		text, err := j.Read("a/Two.class")
		require.NoError(t, err)
		assert.Equal(t, "zwei", string(text))
	}
}

func TestRewrittenJarIsReadByTheJDK(t *testing.T) {
	src := makeJar(t, false, content{"a/One.txt", "one"}, content{"a/Two.txt", "two"})
	dst := filepath.Join(t.TempDir(), "out.jar")
	_, err := RewriteFile(dst, src, Changes{Put: map[string][]byte{"a/Two.txt": []byte("zwei zwei zwei"), "b.txt": []byte("drei")}})
	require.NoError(t, err)
	folder := t.TempDir()
	extract := exec.Command("jar", "xf", dst)
	extract.Dir = folder
	out, err := extract.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "one", string(read(t, filepath.Join(folder, "a", "One.txt"))))
	assert.Equal(t, "zwei zwei zwei", string(read(t, filepath.Join(folder, "a", "Two.txt"))))
	assert.Equal(t, "drei", string(read(t, filepath.Join(folder, "b.txt"))))
}

func TestRewriteLeavesTheOldFileWhenItFails(t *testing.T) {
	src := makeJar(t, false, content{"a", "one"})
	before := read(t, src)
	_, err := RewriteFile(src, src, Changes{Remove: []string{"b"}})
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, before, read(t, src))
	_, err = RewriteFile(src, src, Changes{Remove: []string{"a"}})
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Dir(src))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file is left")
}

func TestRewriteRefusesChangesThatDoNotFit(t *testing.T) {
	plain := makeJar(t, false, content{"a", "one"})
	signed := makeJar(t, false, content{"META-INF/KEY.SF", "x"}, content{"a", "one"})
	for _, c := range []struct {
		why, src, want string
		changes        Changes
	}{
		{"put and removed", plain, "both put and removed", Changes{Put: map[string][]byte{"a": nil}, Remove: []string{"a"}}},
		{"parent", plain, "'..' part", Changes{Put: map[string][]byte{"../a": nil}}},
		{"absolute", plain, "absolute", Changes{Put: map[string][]byte{"/a": nil}}},
		{"folder", plain, "is a folder", Changes{Put: map[string][]byte{"b/": nil}}},
		{"signed", signed, "is signed (META-INF/KEY.SF)", Changes{Put: map[string][]byte{"a": nil}}},
	} {
		_, err := Rewrite(&bytes.Buffer{}, c.src, c.changes)
		assert.ErrorContains(t, err, c.want, c.why)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
