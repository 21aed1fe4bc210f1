// Package proof shows that only the hooks changed: it rebuilds the unpatched files, compares
// the result with the release's own classes, and maps every changed method to a hook.
package proof

import (
	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
)

// Level says how alike two class files are; see classfile.Level.
type Level = classfile.Level

// The levels, from the strongest likeness to none.
const (
	Identical  = classfile.Identical
	Equivalent = classfile.Equivalent
	Idioms     = classfile.Idioms
	Different  = classfile.Different
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
