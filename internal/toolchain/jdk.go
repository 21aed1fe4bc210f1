// Package toolchain finds the compilers and runs every process the tool starts: in a
// process group of its own, with a time limit, bounded output and a fixed environment.
package toolchain

import (
	"errors"
	"path/filepath"
)

// JDK is an installed Java development kit.
type JDK struct {
	// Home is the folder with bin/javac and the release file.
	Home string
	// Version is JAVA_VERSION of the release file, e.g. 17.0.15.
	Version string
	// Major is its first number, e.g. 17 (8 for 1.8).
	Major int
	// Vendor is IMPLEMENTOR of the release file, may be empty.
	Vendor string
	// Pinned tells whether Major is the one that was asked for.
	Pinned bool
}

// Tool gives the path of a program of the JDK, e.g. javac.
func (j JDK) Tool(name string) string { return filepath.Join(j.Home, "bin", name) }

// Want says which JDK FindJDK looks for.
type Want struct {
	// Major is the pinned major version (release.LockedRelease.Javac).
	Major int
	// Home is the folder given by --jdk; when set, only it is looked at.
	Home string
	// AnyVersion accepts a Home of another major version; the JDK then is not Pinned.
	AnyVersion bool
}

// FindJDK looks at want.Home, or else at JAVA_HOME, the javac on PATH and the usual
// folders, and gives the first JDK of the wanted major version. getenv is os.Getenv.
func FindJDK(want Want, getenv func(string) string) (JDK, error) {
	return JDK{}, errors.New("not built yet")
}
