// Package proof shows that only the hooks changed: it rebuilds the unpatched files, compares
// the result with the release's own classes, and maps every changed method to a hook.
package proof

import "observer-patch/internal/build"

// Level says how alike two class files are; a higher level is a weaker likeness.
type Level int

const (
	// Identical: the same bytes.
	Identical Level = iota
	// Equivalent: the same members, code and attributes once the constant pool is resolved.
	Equivalent
	// Idioms: equivalent but for named habits of another javac, each counted.
	Idioms
	// Different: anything else; a build that meets it fails.
	Different
)

// Class is the verdict on one entry.
type Class struct {
	Entry  string         `json:"entry"`
	Level  Level          `json:"level"`
	Idioms map[string]int `json:"idioms,omitempty"`
	// Owners are the hooks that changed it; empty in the unpatched comparison.
	Owners []string `json:"owners,omitempty"`
}

// Verdict is the proof of one target.
type Verdict struct {
	Level     Level             `json:"level"`
	Classes   []Class           `json:"classes"`
	Toolchain []build.Toolchain `json:"toolchain"`
}
