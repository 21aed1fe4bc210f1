package classfile

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
)

// releasePairs gives the classes of all jars of upstream's own that release 4.1.0 runs with, each
// with a copy that has one more constant, so that the two have to be read.
func releasePairs(b *testing.B) []Pair {
	b.Helper()
	var pairs []Pair
	for _, a := range maventest.Resolve(b.Context(), b, "4.1.0", "classpath/2.13", func(c maven.Coordinates) bool { return c.Group == "org.apache.kafka" }) {
		j, err := jar.Open(a.Path)
		require.NoError(b, err)
		for _, name := range j.Names() {
			if strings.HasSuffix(name, ".class") {
				class, err := j.Read(name)
				require.NoError(b, err)
				pairs = append(pairs, Pair{name, class, withConstant(b, class)})
			}
		}
		require.NoError(b, j.Close())
	}
	return pairs
}

// withConstant adds a constant that nothing refers to at the end of the pool.
func withConstant(b *testing.B, class []byte) []byte {
	b.Helper()
	r := &reader{b: class, at: 8}
	p := readPool(r)
	require.NoError(b, r.err)
	out := slices.Insert(slices.Clone(class), r.at, tagUtf8, 0, 1, 'x')
	binary.BigEndian.PutUint16(out[8:], uint16(len(p.constants)+1))
	return out
}

// BenchmarkCompareAllClassesOfARelease compares every class of 4.1.0 with its own copy,
// instruction by instruction; the bound is 2 s.
func BenchmarkCompareAllClassesOfARelease(b *testing.B) {
	pairs := releasePairs(b)
	for b.Loop() {
		results, err := CompareAll(pairs)
		require.NoError(b, err)
		for i, r := range results {
			if r.Level != Equivalent {
				b.Fatalf("%s: %s, %v", pairs[i].Name, r.Level, r.Diff)
			}
		}
	}
	b.ReportMetric(float64(len(pairs)), "classes")
}
