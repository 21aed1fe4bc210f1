package bundle

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
)

func TestABundleIsRefusedWhenALibraryOfTheClosureLacksARM64(t *testing.T) {
	found := maventest.Resolve(t.Context(), t, "4.1.0", "classpath/2.13", func(c maven.Coordinates) bool { return c.Artifact == "lz4-java" })
	require.Len(t, found, 1)
	_, err := nativesOf(found)
	require.NoError(t, err, "as it is published")

	without := found[0]
	without.Path = filepath.Join(t.TempDir(), filepath.Base(without.Path))
	require.Positive(t, leaveOut(t, found[0].Path, without.Path, "linux/aarch64/"))
	_, err = nativesOf([]maven.Artifact{without})
	require.ErrorContains(t, err, without.Coordinates.String())
	require.ErrorContains(t, err, "arm64")
}

// leaveOut copies a jar without the entries whose name has the words, and gives how many those are.
func leaveOut(t *testing.T, from, to, words string) int {
	t.Helper()
	in, err := zip.OpenReader(from)
	require.NoError(t, err)
	defer in.Close() // read only
	f, err := os.Create(to)
	require.NoError(t, err)
	out, n := zip.NewWriter(f), 0
	for _, e := range in.File {
		if strings.HasSuffix(e.Name, "/") {
			continue
		}
		if strings.Contains(e.Name, words) {
			n++
			continue
		}
		require.NoError(t, out.Copy(e))
	}
	require.NoError(t, out.Close())
	require.NoError(t, f.Close())
	return n
}
