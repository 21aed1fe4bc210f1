// Package proof shows that only the hooks changed: it rebuilds the unpatched files, compares
// the result with the release's own classes, and maps every changed method to a hook.
package proof

import (
	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
)

// Verdict is the proof of one target.
type Verdict struct {
	// Level is the weakest likeness of the unpatched classes with the release's.
	Level     classfile.Level   `json:"level"`
	Modules   []Module          `json:"modules"`
	Toolchain []build.Toolchain `json:"toolchain"`
}

// Module is the proof of one jar.
type Module struct {
	Module string `json:"module"`
	Jar    string `json:"jar"`
	// Unpatched compares the files of the hooks, rebuilt without them, with the release.
	Unpatched []Class `json:"unpatched"`
	// Rebuilt are, in a jar that upstream's own build made whole, the classes that have other
	// bytes than the release's or, those of the patch, than the overlay's.
	Rebuilt []Class `json:"rebuilt,omitempty"`
	Entries Entries `json:"entries"`
	// Methods are those of the patched classes that differ from the unpatched rebuild's.
	Methods []Method `json:"methods"`
}

// Class is the verdict on one unpatched class.
type Class struct {
	Entry string          `json:"entry"`
	Level classfile.Level `json:"level"`
	// Idioms counts the named habits of another javac that make the difference.
	Idioms map[string]int `json:"idioms,omitempty"`
	// Debug tells that debug attributes (line numbers, local variables) differ as well.
	Debug bool `json:"debug,omitempty"`
}

// Entries says what became of the release's entries in the patched jar.
type Entries struct {
	// Identical counts entries with the release's own content, Digest is the SHA-256 over
	// their names and digests, sorted by name.
	Identical int      `json:"identical"`
	Digest    string   `json:"sha256"`
	Replaced  []Change `json:"replaced"`
	Added     []Change `json:"added"`
	Removed   []Change `json:"removed"`
}

// Change is an entry and the hooks that account for it.
type Change struct {
	Entry string `json:"entry"`
	// Owners are empty for a class that compiles to other bytes of the same meaning because
	// its file was compiled anew, and for the entry that describes the patch.
	Owners []string `json:"owners,omitempty"`
	// ReleaseSHA256 is the digest of the release's own content of a replaced or removed entry;
	// install recognises the release's jar by it.
	ReleaseSHA256 string `json:"releaseSha256,omitempty"`
}

// Method is a changed method.
type Method struct {
	Entry  string `json:"entry"`
	Name   string `json:"name"`
	Desc   string `json:"descriptor"`
	Change string `json:"change"` // changed, added or removed
	// Owners are the hooks in whose source member it stands.
	Owners []string `json:"owners"`
}
