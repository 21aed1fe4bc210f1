package observer_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cache"
	"observer-patch/internal/maven"
	"observer-patch/internal/release"
)

// jarsOf gives the release's jars that the classes under test need.
func jarsOf(ctx context.Context, t *testing.T, version string) []string {
	t.Helper()
	text, err := fs.ReadFile(observerpatch.Data(), "versions.lock")
	require.NoError(t, err)
	lock, err := release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	all, err := lock.Artifacts(version, "classpath/2.13")
	require.NoError(t, err)
	var wanted []release.LockedArtifact
	for _, a := range all {
		name := a.Coordinates.File()
		if strings.HasPrefix(name, "kafka-metadata-") || strings.HasPrefix(name, "kafka-clients-") || strings.HasPrefix(name, "slf4j-api-") {
			wanted = append(wanted, a)
		}
	}
	require.Len(t, wanted, 3)
	dir, err := cache.Dir(os.Getenv)
	require.NoError(t, err)
	c, err := cache.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	found, err := (&maven.Resolver{Cache: c, Client: maven.Client{}}).Resolve(ctx, wanted)
	require.NoError(t, err)
	var jars []string
	for _, a := range found {
		jars = append(jars, filepath.Clean(a.Path))
	}
	return jars
}
