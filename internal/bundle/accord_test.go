package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/proof"
)

// summed writes a bundle with the provenance of its contents, and sums that always fit.
func summed(t *testing.T, c Contents, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	c.Jars[0].SHA256 = digest([]byte("jar"))
	provenance, err := c.provenance()
	require.NoError(t, err)
	all := map[string]string{c.Jars[0].Name: "jar", DiffFile: string(c.Diff), ProvenanceFile: string(provenance)}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	sums, err := sumUp(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, SumsFile), formatSums(sums), 0o644))
	return dir
}

func TestNewSumsDoNotHideAChangedJarOrDiff(t *testing.T) {
	const body = "diff --git a/A b/A\n+a\n"
	c := contents()
	c.Diff, c.HookDigest = []byte("header\n\n"+body), digest([]byte(body))
	_, err := Read(summed(t, c, nil))
	require.NoError(t, err)

	foreign := c
	foreign.Foreign = true
	_, err = Read(summed(t, foreign, nil))
	require.NoError(t, err)

	forged := c
	forged.Diff = []byte("header\n\n" + strings.Replace(body, "+a", "+b", 1))
	for name, test := range map[string]struct {
		contents Contents
		files    map[string]string
		want     string
	}{
		"jar":                                {c, map[string]string{c.Jars[0].Name: "other"}, "kafka_2.13-4.1.0.jar: expected SHA-256"},
		"diff":                               {c, map[string]string{DiffFile: string(forged.Diff)}, "observer-patch.diff: expected SHA-256"},
		"diff and its digest as a subject":   {forged, nil, "is not the change that provenance.intoto.json names"},
		"somebody else's diff, hooks forged": {foreign, map[string]string{DiffFile: "x"}, "observer-patch.diff: expected SHA-256"},
	} {
		_, err := Read(summed(t, test.contents, test.files))
		assert.ErrorContains(t, err, test.want, name)
		assert.Equal(t, exit.Proof, exit.Code(err), name)
	}
}

func TestAStoredProofHasToSayWhatIsFoundAnew(t *testing.T) {
	verdict := func(sum, owner string) *proof.Verdict {
		return &proof.Verdict{Modules: []proof.Module{{Module: "core", Jar: "a.jar", Entries: proof.Entries{
			Identical: 1, Replaced: []proof.Change{{Entry: "A.class", ReleaseSHA256: sum, Owners: []string{owner}}}}}}}
	}
	stored := func(v *proof.Verdict) string {
		text, err := writeJSON(v)
		require.NoError(t, err)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ProofFile), text, 0o644))
		return dir
	}
	assert.NoError(t, saysTheSame(stored(verdict("1", "hook")), false, verdict("1", "hook")))
	assert.NoError(t, saysTheSame(stored(verdict("1", "hook")), false, verdict("1", "hunk 1")), "names of hooks are not compared")
	assert.NoError(t, saysTheSame(t.TempDir(), true, verdict("1", "hook")), "built without a proof")

	damaged := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(damaged, ProofFile), []byte("{"), 0o644))
	for dir, want := range map[string]string{
		stored(verdict("2", "hook")): "lists other entries or digests",
		t.TempDir():                  "proof.json is missing",
		damaged:                      "proof.json: unexpected end",
	} {
		err := saysTheSame(dir, false, verdict("1", "hook"))
		assert.ErrorContains(t, err, want)
		assert.Equal(t, exit.Proof, exit.Code(err), want)
	}
}

func TestAMalformedSumOrALinkIsADigestThatDoesNotHold(t *testing.T) {
	c := contents()
	dir := summed(t, c, nil)
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "link")))
	_, err := CheckSums(dir)
	assert.ErrorContains(t, err, "link: expected a regular file")
	assert.Equal(t, exit.Proof, exit.Code(err))

	require.NoError(t, os.WriteFile(filepath.Join(dir, SumsFile), []byte("x"), 0o644))
	_, err = CheckSums(dir)
	assert.ErrorContains(t, err, "no digest and file name")
	assert.Equal(t, exit.Proof, exit.Code(err))
}
