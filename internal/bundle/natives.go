package bundle

import (
	"fmt"

	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
)

// oldestGlibc is the C library that native libraries of a bundle may ask for at most: that
// of Amazon Linux 2, the oldest arm64 system in use for brokers.
const oldestGlibc = "2.26"

// nativesOf lists the native libraries of every jar of the closure that has some, by
// coordinates. One without a usable Linux aarch64 library is an error.
func nativesOf(closure []maven.Artifact) ([]byte, error) {
	found := map[string][]jar.Native{}
	for _, a := range closure {
		list, err := jar.Natives(a.Path)
		if err != nil {
			return nil, fmt.Errorf("native libraries of %s: %w", a.Coordinates, err)
		}
		if len(list) == 0 {
			continue
		}
		if err := jar.CheckARM64(list, oldestGlibc); err != nil {
			return nil, fmt.Errorf("%s would not work on arm64: %w", a.Coordinates, err)
		}
		found[a.Coordinates.String()] = list
	}
	return writeJSON(found)
}
