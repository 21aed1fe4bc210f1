// Package patch turns located hooks into edits, edits into files and diffs, and applies
// and reverses them exactly.
package patch

// Lines is a run of lines; First counts from 1. Count 0 is the gap before First.
type Lines struct{ First, Count int }

// Edit is one contiguous change and the hook (or, for a foreign patch, the hunk) that owns it.
type Edit struct {
	Owner    string
	OldLines Lines
	NewLines Lines
}

// File is one changed file, with upstream's path.
type File struct {
	Path string
	// Before is nil for a file that the patch adds.
	Before []byte
	After  []byte
	Edits  []Edit
}

// Tree is everything a patch changes in one target, sorted by path.
type Tree struct{ Files []File }
