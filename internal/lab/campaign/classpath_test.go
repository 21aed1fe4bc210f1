package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlayReplacesEachJarExactlyOnce(t *testing.T) {
	bundle := t.TempDir()
	core := filepath.Join(bundle, "kafka_2.13-4.1.0.jar")
	require.NoError(t, os.WriteFile(core, nil, 0o644))

	out, replaced, err := Overlay([]string{"/m/a.jar", "/m/kafka_2.13-4.1.0.jar", "/m/b.jar"}, bundle)
	require.NoError(t, err)
	require.Equal(t, []string{"/m/a.jar", core, "/m/b.jar"}, out)
	require.Equal(t, []string{"kafka_2.13-4.1.0.jar"}, replaced)

	_, _, err = Overlay([]string{"/m/kafka_2.13-4.0.0.jar"}, bundle)
	require.ErrorContains(t, err, "replaces 0 jars", "a bundle of another release")
	_, _, err = Overlay([]string{"/m/kafka_2.13-4.1.0.jar", "/n/kafka_2.13-4.1.0.jar"}, bundle)
	require.ErrorContains(t, err, "replaces 2 jars", "two copies")
	_, _, err = Overlay([]string{"/m/a.jar"}, t.TempDir())
	require.ErrorContains(t, err, "no jar in")
}

func TestOverlayDoesNotDependOnTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("dist", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("dist", "a.jar"), nil, 0o644))
	out, _, err := Overlay([]string{"/m/a.jar"}, "dist")
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(out[0]), "every node has a working folder of its own: %s", out[0])
}
