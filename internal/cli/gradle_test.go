package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/maven/maventest"
)

// gradleTree makes a tree of upstream's sources, as far as they are published, in which a script
// of ours stands for upstream's build: it puts the jars of a folder where that would.
func gradleTree(t *testing.T, jars string) string {
	t.Helper()
	work := t.TempDir()
	set := []string{"--version", "4.1.0", "--set", "base"}
	works(t, append([]string{"apply", "--out", filepath.Join(work, "patched")}, set...)...)
	works(t, append([]string{"apply", "--reverse", "--dir", filepath.Join(work, "patched", "source"), "--out", filepath.Join(work, "whole")}, set...)...)
	tree := filepath.Join(work, "whole", "source")
	for name, text := range map[string]string{
		"settings.gradle": "// ours\n", "build.gradle": "// ours\n",
		"gradlew": `#!/bin/sh
case "$*" in *--version*) echo 'Gradle 8.14'; exit 0;; esac
for m in metadata storage core; do mkdir -p $m/build/libs; done
echo "> Task :core:compileScala"
cp "` + jars + `"/kafka-metadata-* metadata/build/libs
cp "` + jars + `"/kafka-storage-* storage/build/libs
cp "` + jars + `"/kafka_2.13-* core/build/libs
`} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(text), 0o755))
	}
	return tree
}

// release gives the paths of the release's own jars in the cache by their file names.
func releaseJars(t *testing.T, version string) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for _, a := range maventest.Resolve(t.Context(), t, version, "classpath/2.13", nil) {
		paths[a.Coordinates.File()] = a.Path
	}
	return paths
}

// The script stands for upstream's build, which cannot run here; the jars that it gives are real.
func TestTheGradleBackendJudgesTheJarsOfTheTreesWrapper(t *testing.T) {
	out, jars := t.TempDir(), t.TempDir()
	works(t, "build", "--version", "4.1.0", "--set", "base", "--out", out)
	overlay := filepath.Join(out, "4.1.0-kraft-base")
	release := releaseJars(t, "4.1.0")
	const core, metadata, storage = "kafka_2.13-4.1.0.jar", "kafka-metadata-4.1.0.jar", "kafka-storage-4.1.0.jar"
	put := func(name, from string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(jars, name), text, 0o644))
	}
	put(core, filepath.Join(overlay, core))
	put(metadata, filepath.Join(overlay, metadata))
	put(storage, release[storage])
	tree := gradleTree(t, jars)
	args := []string{"build", "--version", "4.1.0", "--set", "base", "--backend", "gradle", "--source", "dir", "--dir", tree, "--out", out, "-o", "json"}

	code, text, errs := tool(t, t.Context(), args...)
	require.Equal(t, exit.Done, code, errs)
	var rows []struct{ Target, Out, Proof string }
	require.NoError(t, json.Unmarshal([]byte(text), &rows))
	require.Len(t, rows, 1)
	assert.Equal(t, "4.1.0-kraft-base-gradle", rows[0].Target)
	assert.Contains(t, errs, "gradle :core:compileScala (task 1)")
	assert.Contains(t, errs, "upstream's build was run for its jar tasks only")
	assert.Contains(t, errs, "the build wrote no kafka-version.properties")
	assert.FileExists(t, filepath.Join(out, "4.1.0-kraft-base-gradle.log"))

	bundle := rows[0].Out
	assert.Contains(t, works(t, "verify", bundle), rows[0].Proof)
	code, _, errs = tool(t, t.Context(), "rebuild", bundle)
	assert.Equal(t, exit.Refused, code)
	assert.Contains(t, errs, "made by upstream's own Gradle build")

	// A class of the build that is neither the release's nor the patch's.
	_, err := jar.RewriteFile(filepath.Join(jars, core), filepath.Join(overlay, core), jar.Changes{Remove: []string{"kafka/server/BrokerServer.class"}})
	require.NoError(t, err)
	code, _, errs = tool(t, t.Context(), args...)
	assert.Equal(t, exit.Proof, code)
	assert.Contains(t, errs, "entry kafka/server/BrokerServer.class is lost")
	// The bundle is the one from before.
	assert.Contains(t, works(t, "verify", bundle), rows[0].Proof)

	// A build that ignored the patch.
	put(core, release[core])
	put(metadata, release[metadata])
	code, _, errs = tool(t, t.Context(), args...)
	assert.Equal(t, exit.Proof, code)
	assert.Contains(t, errs, "is missing, though compiling the patched files gives it")

	require.NoError(t, os.Remove(filepath.Join(tree, "settings.gradle")))
	code, _, errs = tool(t, t.Context(), args...)
	assert.Equal(t, exit.Refused, code)
	assert.Contains(t, errs, "is a partial tree: it has no settings.gradle")
}
