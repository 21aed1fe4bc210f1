// Package maven brings published artifacts into the cache through the mvn client and
// hands out only files whose SHA-256 is the locked one.
package maven

import "observer-patch/internal/release"

// Coordinates name one published file, in Maven's own terms.
type Coordinates = release.Coordinates

// Artifact is a file that was checked against the lock.
type Artifact struct {
	Coordinates Coordinates
	// SHA256 is the lower-case hexadecimal digest, as locked and as just computed.
	SHA256 string
	// Path is the file; its content is immutable, callers only read it.
	Path string
}
