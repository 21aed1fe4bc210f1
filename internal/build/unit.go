// Package build compiles hooked files and says which classes of the release's jars they replace.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Source is one file to compile, with upstream's path.
type Source struct {
	Path string
	Text []byte
}

// Library is a jar on a class path.
type Library struct {
	// Path is where it lies; it decides nothing about the result.
	Path string
	// SHA256 is its lower-case hexadecimal digest, which stands for its content.
	SHA256 string
}

// Unit is one compilation: everything that decides its result but the JDK.
type Unit struct {
	// Module is upstream's Gradle module: metadata, core, ...
	Module string
	// Files are compiled together; .java and .scala may be mixed where scalac is given.
	Files []Source
	// Ahead are classes, by entry, that come before the class path: those of modules that
	// were compiled before this one.
	Ahead map[string][]byte
	// Classpath are jars, in order.
	Classpath []Library
	Options   Options
	// Beside are Java sources of the module that scalac is given for their signatures, as in
	// upstream's own joint compilation: see beside.
	Beside []Source
	// Own is the release's jar of the module; the classes of Beside are hidden in it.
	Own Library
}

// Options are the compiler settings that decide class bytes and diagnostics.
type Options struct {
	// Release is the Java release of the class files (javac --release, scalac -release).
	Release int
	// Scalac is the class path of the Scala compiler; empty for a Java unit.
	Scalac []Library
	// Scala is the full compiler version, e.g. 2.13.16.
	Scala string
	// ScalaFlags and JavaFlags are further options, passed before the files.
	ScalaFlags, JavaFlags []string
}

// Severities of diagnostics.
const (
	Error   = "error"
	Warning = "warning"
)

// Diagnostic is one message of a compiler.
type Diagnostic struct {
	Severity string // Error or Warning
	Path     string // upstream's path
	Line     int    // from 1
	Message  string // the first line
	// Detail are the lines under it: the rest of the message, the source line, the caret.
	Detail string
}

// String gives the form that both compilers print.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", d.Path, d.Line, d.Severity, d.Message)
}

// Toolchain says what compiled.
type Toolchain struct {
	Javac  string `json:"javac"`            // e.g. "javac 17.0.15"
	Scalac string `json:"scalac,omitempty"` // e.g. "2.13.16", empty for a Java unit
}

// Output is what a compilation gave.
type Output struct {
	// Classes maps a jar entry (kafka/cluster/Partition.class) to its bytes.
	Classes     map[string][]byte
	Diagnostics []Diagnostic
	Toolchain   Toolchain
}

// digest names the result of compiling u with the given JDK: equal digests, equal results.
func (u Unit) digest(jdk string) string {
	h := sha256.New()
	text := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
		io.WriteString(h, ";")
	}
	text("observer-patch compilation 2", u.Module, jdk, fmt.Sprint(u.Options.Release), u.Options.Scala)
	text(jvmFlags()...)
	text(u.Options.ScalaFlags...)
	text(u.Options.JavaFlags...)
	for _, s := range u.Files {
		text(s.Path, string(s.Text))
	}
	text("beside", u.Own.SHA256)
	for _, s := range u.Beside {
		text(s.Path, string(s.Text))
	}
	text("ahead")
	for _, name := range slices.Sorted(maps.Keys(u.Ahead)) {
		text(name, string(u.Ahead[name]))
	}
	for _, list := range [][]Library{u.Classpath, u.Options.Scalac} {
		text("jars")
		for _, l := range list {
			text(l.SHA256)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
