// Package observerpatch carries the data that the tool works from: the matrix of
// supported releases, the lock of their inputs, where hooks go and what they say.
// It is embedded, so that one binary is one generation of the patch.
package observerpatch

import (
	"embed"
	"io/fs"
)

//go:embed versions.yaml versions.lock outputs.lock anchors patches
var data embed.FS

// Data gives the embedded files with the paths they have in the repository:
// versions.yaml, versions.lock, outputs.lock, anchors/ and patches/.
func Data() fs.FS { return data }
