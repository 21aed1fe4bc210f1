// Package maventest gives tests the published files that versions.lock names.
package maventest

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cache"
	"observer-patch/internal/maven"
	"observer-patch/internal/release"
)

// Lock gives the repository's versions.lock.
func Lock(t testing.TB) *release.Lock {
	t.Helper()
	text, err := fs.ReadFile(observerpatch.Data(), "versions.lock")
	require.NoError(t, err)
	lock, err := release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	return lock
}

// Resolve gives the files of a release's use (classpath/2.13, source, ...) for which keep is
// true, in the locked order; nil keeps all. They are there until the test ends.
func Resolve(ctx context.Context, t testing.TB, version, use string, keep func(maven.Coordinates) bool) []maven.Artifact {
	t.Helper()
	all, err := Lock(t).Artifacts(version, use)
	require.NoError(t, err)
	var wanted []release.LockedArtifact
	for _, a := range all {
		if keep == nil || keep(a.Coordinates) {
			wanted = append(wanted, a)
		}
	}
	dir, err := cache.Dir(os.Getenv)
	require.NoError(t, err)
	c, err := cache.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	found, err := (&maven.Resolver{Cache: c, Client: maven.Client{}}).Resolve(ctx, wanted)
	require.NoError(t, err)
	return found
}
