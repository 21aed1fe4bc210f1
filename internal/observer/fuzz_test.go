package observer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// FuzzParseFile holds what is true of every file, whatever its bytes.
func FuzzParseFile(f *testing.F) {
	for _, seed := range append(slices.Clone(pieces), "3,4 # x\r\n5", "none", "\xEF\xBB\xBF7") {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got := observer.ParseFile(content)
		require.True(t, slices.IsSorted(got.IDs))
		require.Equal(t, len(got.IDs), len(slices.Compact(slices.Clone(got.IDs))))
		require.Equal(t, got.Blank, len(got.IDs) == 0 && len(got.Unknown) == 0)
		require.False(t, got.None && (len(got.IDs) > 0 || len(got.Unknown) != 1))
		for _, id := range got.IDs {
			require.GreaterOrEqual(t, id, int32(0))
		}
		for _, token := range got.Unknown {
			require.False(t, strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7F }), "%q", token)
		}
		// Comments, order, repetition and spelling of separators change nothing.
		again := observer.ParseFile(slices.Concat(content, []byte("\n# 1 2 3\n,\t\r\n"), content))
		if !strings.HasPrefix(string(content), "\xEF\xBB\xBF") {
			require.Equal(t, got.IDs, again.IDs)
		}
	})
}
