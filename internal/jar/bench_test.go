package jar_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
)

// BenchmarkRewriteOfCore writes core's jar of 3.7.1, the largest one, with 250 classes replaced,
// as many as set full replaces and some; the bound is 0.3 s.
func BenchmarkRewriteOfCore(b *testing.B) {
	src := closure(b, "3.7.1")["kafka_2.13-3.7.1.jar"]
	j, err := jar.Open(src)
	require.NoError(b, err)
	put := map[string][]byte{}
	for _, name := range j.Names() {
		if strings.HasSuffix(name, ".class") && len(put) < 250 {
			class, err := j.Read(name)
			require.NoError(b, err)
			put[name] = append(class, "changed"...)
		}
	}
	require.NoError(b, j.Close())
	require.Len(b, put, 250)
	dst := filepath.Join(b.TempDir(), "core.jar")
	for b.Loop() {
		_, err := jar.RewriteFile(dst, src, jar.Changes{Put: put})
		require.NoError(b, err)
	}
}
