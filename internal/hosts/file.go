package hosts

import (
	"errors"
	"io/fs"
	"time"

	"observer-patch/internal/observer"
)

// File is an identity file as it lies on a node.
type File struct {
	// Exists is false when there is no such file; everything else is then zero.
	Exists  bool
	Content []byte
	// Mode has the permission bits.
	Mode     fs.FileMode
	UID, GID int
	ModTime  time.Time
	// Link is set when the path is a symbolic link, as in a mounted ConfigMap.
	Link bool
}

// IDs gives what the bytes say; the node's reader may hold on to an older list.
func (f File) IDs() observer.File { return observer.ParseFile(f.Content) }

// Undo is what it takes to put a file back as it was before a Write.
type Undo struct {
	Node   int32 `json:"node"`
	Before File  `json:"before"`
	// Wrote is what lies there now: Rollback refuses when somebody changed it since.
	Wrote []byte `json:"wrote"`
}

// ErrChanged says that a file is not what it was when it was last read.
var ErrChanged = errors.New("the file was changed by somebody else")
