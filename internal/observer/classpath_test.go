package observer_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
)

// jarsOf gives the release's jars that the classes under test need.
func jarsOf(ctx context.Context, t *testing.T, version string) []string {
	t.Helper()
	found := maventest.Resolve(ctx, t, version, "classpath/2.13", func(c maven.Coordinates) bool {
		return slices.Contains([]string{"kafka-metadata", "kafka-clients", "slf4j-api"}, c.Artifact)
	})
	require.Len(t, found, 3)
	var jars []string
	for _, a := range found {
		jars = append(jars, filepath.Clean(a.Path))
	}
	return jars
}
