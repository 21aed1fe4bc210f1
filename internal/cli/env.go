// Package cli is the command line: it parses flags, calls the packages that do the work
// and prints what they give.
package cli

import (
	"io"
	"io/fs"
	"log/slog"
)

// Env is what commands get from the process.
type Env struct {
	// Out takes results, Err progress and logs.
	Out, Err io.Writer
	// Data has versions.yaml, versions.lock, anchors/ and patches/; --data replaces it.
	Data fs.FS
	// DataDir is the folder named by --data, empty for the embedded data.
	DataDir string
	// Log writes to Err at the level of --log-level.
	Log *slog.Logger
	// Version names this build of the tool.
	Version string
}
