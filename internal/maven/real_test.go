package maven

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/cache"
	"observer-patch/internal/release"
)

func TestTheRealMvnBringsALockedFileIntoAFreshCache(t *testing.T) {
	text, err := os.ReadFile("../../versions.lock")
	require.NoError(t, err)
	lock, err := release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	c := classified("kafka-metadata", "4.1.0", "sources")
	locked := release.LockedArtifact{Coordinates: c, SHA256: lock.Digests[c].SHA256, Size: lock.Digests[c].Size}
	store, err := cache.Open(filepath.Join(t.TempDir(), "cache"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	r := &Resolver{Cache: store, Repositories: []string{}}

	got, err := r.Resolve(context.Background(), []release.LockedArtifact{locked})
	require.NoError(t, err)
	archive, err := zip.OpenReader(got[0].Path)
	require.NoError(t, err)
	defer archive.Close()
	_, err = archive.Open("org/apache/kafka/controller/ReplicationControlManager.java")
	require.NoError(t, err)
}

// What is asked of Maven when the lock is made must contain what the lock promises: the
// release's jars, the compiler of its Scala library, and a logging library that binds.
func TestTheLockHasWhatEveryReleaseIsBuiltFrom(t *testing.T) {
	text, err := os.ReadFile("../../versions.yaml")
	require.NoError(t, err)
	m, err := release.ReadMatrix(text, "versions.yaml")
	require.NoError(t, err)
	text, err = os.ReadFile("../../versions.lock")
	require.NoError(t, err)
	lock, err := release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	require.Equal(t, string(text), string(lock.Format()), "the lock is written by hand or by another tool")
	for _, r := range m.Releases {
		v := r.String()
		entry := lock.Releases[v]
		require.NotNil(t, entry, v)
		require.Len(t, entry.CommitPrefix, 16, v)
		for _, use := range neededUses(r) {
			require.NotEmpty(t, entry.Uses[use], v, use)
		}
		for _, scala := range r.Scala {
			compile, lab := entry.Uses["classpath/"+scala], entry.Uses["lab/"+scala]
			require.Equal(t, jar(kafka, "kafka_"+scala, v), compile[0])
			require.Equal(t, jar(kafka, "kafka_"+scala, v), entry.Uses["module/"+scala][0])
			require.Contains(t, entry.Uses["module/"+scala], jar(kafka, "kafka-metadata", v))
			require.Equal(t, versionOf(compile, "scala-library"), entry.Scalac[scala], v)
			require.Equal(t, entry.Scalac[scala], versionOf(entry.Uses["scalac/"+scala], "scala-compiler"), v)
			require.Contains(t, lab, jar(kafka, "kafka-tools", v))
			binding, target := "log4j-slf4j-impl", "log4j-core"
			if r.Version.Major() == 3 {
				binding, target = "slf4j-reload4j", "reload4j"
			}
			require.NotEmpty(t, versionOf(lab, binding), v)
			require.NotEmpty(t, versionOf(compile, target), v)
			require.Empty(t, versionOf(compile, binding), v)
			seen := map[[3]string]bool{}
			for _, c := range lab {
				id := [3]string{c.Group, c.Artifact, c.Classifier}
				require.False(t, seen[id], "two versions of %v on the class path of %s", id, v)
				seen[id] = true
			}
		}
	}
}
