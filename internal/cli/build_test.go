package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/cache"
	"observer-patch/internal/classfile"
	"observer-patch/internal/exit"
	"observer-patch/internal/proof"
)

// readProof reads a bundle's proof.json.
func readProof(t *testing.T, dir string) proof.Verdict {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "proof.json"))
	require.NoError(t, err)
	var v proof.Verdict
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// The first build runs as the test does; the second with another folder, umask, time zone,
// locale and home.
func TestBundleBytesDependOnTheInputsAlone(t *testing.T) {
	root, err := cache.Dir(os.Getenv)
	require.NoError(t, err)
	t.Setenv(cache.Variable, root)
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "deeper")
	args := []string{"build", "--version", "4.1.0", "--set", "base", "-o", "json", "--out"}
	works(t, append(args, first)...)
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	t.Setenv("HOME", t.TempDir())
	old := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(old) })
	works(t, append(args, second)...)

	const target = "4.1.0-kraft-base"
	files, err := os.ReadDir(filepath.Join(first, target))
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
		a, err := os.ReadFile(filepath.Join(first, target, f.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(second, target, f.Name()))
		require.NoError(t, err)
		assert.Equal(t, a, b, f.Name())
		info, err := os.Stat(filepath.Join(second, target, f.Name()))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o644), info.Mode().Perm(), f.Name())
		// Upstream's own NOTICE is the one text that may have the name.
		if name := f.Name(); name != "NOTICE" && filepath.Ext(name) != ".jar" && name != "LICENSE" && name != "observer-patch.diff" {
			assert.NotContains(t, string(a), "Apache Kafka", name)
		}
	}
	assert.Equal(t, []string{"CHANGES.md", "LICENSE", "NOTICE", "PROOF.md", "SHA256SUMS", "kafka-metadata-4.1.0.jar", "kafka_2.13-4.1.0.jar",
		"natives.json", "observer-patch.diff", "proof.json", "provenance.intoto.json", "sbom.cdx.json"}, names)

	// A jar that was changed afterwards is found out, by its sum alone.
	path := filepath.Join(second, target, "kafka_2.13-4.1.0.jar")
	require.NoError(t, os.Truncate(path, 1000))
	code, _, errs := tool(t, t.Context(), "verify", filepath.Join(second, target))
	assert.Equal(t, exit.Proof, code)
	assert.Contains(t, errs, "kafka_2.13-4.1.0.jar: expected SHA-256")
}

func TestTheZooKeeperReleaseIsProvenToo(t *testing.T) {
	out := t.TempDir()
	works(t, "build", "--version", "3.7.1", "--set", "base", "--out", out)
	v := readProof(t, filepath.Join(out, "3.7.1-both-base"))
	assert.LessOrEqual(t, v.Level, classfile.Idioms)
	modules := map[string]proof.Module{}
	for _, m := range v.Modules {
		modules[m.Module] = m
	}
	require.Len(t, modules, 2)
	require.NotEmpty(t, modules["core"].Unpatched)
	for _, c := range modules["core"].Unpatched {
		assert.Equal(t, classfile.Identical, c.Level, "%s: scalac gives the release's own bytes", c.Entry)
	}
	for _, m := range modules {
		for _, method := range m.Methods {
			assert.NotEmpty(t, method.Owners, "%s %s", method.Entry, method.Name)
		}
	}
}
