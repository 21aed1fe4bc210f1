package proof

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
)

var update = flag.Bool("update", false, "write testdata/page.golden instead of comparing it")

// madeUp has one of everything that a page can show.
func madeUp() *Verdict {
	return &Verdict{
		Level:     classfile.Idioms,
		Toolchain: []build.Toolchain{{Javac: "javac 17.0.1"}, {Javac: "javac 17.0.1", Scalac: "2.13.1"}},
		Modules: []Module{
			{
				Module: "metadata", Jar: "made-up-metadata-1.0.jar",
				Unpatched: []Class{
					{Entry: "a/A$In.class", Level: classfile.Equivalent, Debug: true},
					{Entry: "a/A.class", Level: classfile.Idioms, Idioms: map[string]int{"null-check": 2, "ldc-form": 11}},
					{Entry: "a/B.class", Level: classfile.Identical},
				},
				Entries: Entries{
					Identical: 12, Digest: "0123abcd",
					Replaced: []Change{{Entry: "a/A.class", Owners: []string{"first-hook", "second-hook"}}, {Entry: "a/B.class"}},
					Added:    []Change{{Entry: "META-INF/made-up.properties"}, {Entry: "a/New.class", Owners: []string{"new-file"}}},
					Removed:  []Change{{Entry: "a/A$1.class", Owners: []string{"first-hook"}}},
				},
				Methods: []Method{
					{Entry: "a/A.class", Name: "first", Desc: "(I)V", Change: "changed", Owners: []string{"first-hook", "second-hook"}},
					{Entry: "a/A.class", Name: "lambda$first$0", Desc: "()Z", Change: "added", Owners: []string{"first-hook"}},
				},
			},
			{
				Module: "core", Jar: "made-up-core-1.0.jar",
				Unpatched: []Class{{Entry: "k/P.class", Level: classfile.Identical}},
				Entries:   Entries{Identical: 3, Digest: "4567ef", Replaced: []Change{{Entry: "k/P.class"}}},
			},
		},
	}
}

func TestThePageShowsAllOfTheVerdict(t *testing.T) {
	const golden = "testdata/page.golden"
	page, err := madeUp().Page("1.0-made-up")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(golden, page, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(page), "go test ./internal/proof -run Page -update writes it anew; read it before you commit it")
}
