package install_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/install/installtest"
)

// Whoever changes a file of a bundle and writes new sums still has the provenance against him.
func TestNewSumsDoNotMakeAChangedBundleInstallable(t *testing.T) {
	for _, name := range []string{installtest.Metadata, bundle.DiffFile} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			before := s.snapshot()
			path, sums := filepath.Join(s.dist, name), filepath.Join(s.dist, bundle.SumsFile)
			old, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := append(old, "more"...)
			require.NoError(t, os.WriteFile(path, changed, 0o644))
			text, err := os.ReadFile(sums)
			require.NoError(t, err)
			replaced := strings.Replace(string(text), fmt.Sprintf("%x", sha256.Sum256(old)), fmt.Sprintf("%x", sha256.Sum256(changed)), 1)
			require.NotEqual(t, string(text), replaced)
			require.NoError(t, os.WriteFile(sums, []byte(replaced), 0o644))
			_, err = bundle.CheckSums(s.dist)
			require.NoError(t, err, "the sums hold")

			err = s.install()
			require.ErrorContains(t, err, bundle.ProvenanceFile)
			assert.Equal(t, exit.Proof, exit.Code(err))
			assert.Equal(t, before, s.snapshot())
		})
	}
}
