package jar_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
	"observer-patch/internal/maven/maventest"
)

// closure gives the paths of a release's class path by file name.
func closure(t testing.TB, version string) map[string]string {
	t.Helper()
	paths := make(map[string]string)
	for _, a := range maventest.Resolve(t.Context(), t, version, "classpath/2.13", nil) {
		paths[a.Coordinates.File()] = a.Path
	}
	return paths
}

func TestNativesOfReleasesRunOnARM64(t *testing.T) {
	for version, libraries := range map[string]map[string]string{
		"3.7.1": {"zstd-jni-": "linux/aarch64/", "snappy-java-": "org/xerial/snappy/native/Linux/aarch64/", "lz4-java-": "net/jpountz/util/linux/aarch64/"},
		"4.1.0": {"zstd-jni-": "linux/aarch64/", "snappy-java-": "org/xerial/snappy/native/Linux/aarch64/", "lz4-java-": "net/jpountz/util/linux/aarch64/"},
	} {
		seen := 0
		for file, path := range closure(t, version) {
			natives, err := jar.Natives(path)
			require.NoError(t, err, file)
			assert.NoError(t, jar.CheckARM64(natives, "2.26"), file)
			for prefix, folder := range libraries {
				if !strings.HasPrefix(file, prefix) {
					continue
				}
				seen++
				var arm []jar.Native
				var others []jar.Native
				for _, n := range natives {
					if n.ARM64() {
						arm = append(arm, n)
					} else {
						others = append(others, n)
					}
				}
				require.Len(t, arm, 1, file)
				assert.True(t, strings.HasPrefix(arm[0].Path, folder), arm[0].Path)
				assert.Equal(t, "2.17", arm[0].Glibc, file)
				assert.Equal(t, "glibc", arm[0].Libc, file)
				assert.Equal(t, uint64(jar.PageSize64K), arm[0].Align, file)
				assert.Error(t, jar.CheckARM64(others, "2.26"), "%s without its aarch64 library", file)
			}
		}
		assert.Equal(t, len(libraries), seen, version)
	}
}

func TestEveryJarOfAReleaseIsCopiedByteForByte(t *testing.T) {
	var core time.Duration
	for file, path := range closure(t, "3.7.1") {
		var out bytes.Buffer
		start := time.Now()
		_, err := jar.Rewrite(&out, path, jar.Changes{})
		require.NoError(t, err, file)
		if strings.HasPrefix(file, "kafka_2.13-3.7.1.jar") {
			core = time.Since(start)
		}
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(before, out.Bytes()), file)
	}
	t.Logf("core jar rewritten in %s", core)
}
