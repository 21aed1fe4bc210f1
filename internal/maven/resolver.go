package maven

import (
	"context"
	"errors"
	"io"

	"observer-patch/internal/cache"
	"observer-patch/internal/release"
)

// Resolver finds locked files: in the cache, then in the local Maven repository, then
// through the mvn client.
type Resolver struct {
	// Cache is where checked files are kept.
	Cache *cache.Cache
	// Offline forbids mvn to be started.
	Offline bool
	// Progress takes lines, or bars when it is a terminal; nil for silence.
	Progress io.Writer
}

// Resolve gives the files in the order asked for, each with the locked SHA-256, computed
// anew in this call.
func (r *Resolver) Resolve(ctx context.Context, locked []release.LockedArtifact) ([]Artifact, error) {
	return nil, errors.New("not built yet")
}
