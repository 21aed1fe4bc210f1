// Package build compiles hooked files and puts their classes into copies of the release's jars.
package build

// Source is one file to compile, with upstream's path.
type Source struct {
	Path string
	Text []byte
}

// Unit is one compilation: everything that decides its result.
type Unit struct {
	// Module is upstream's Gradle module: metadata, core, ...
	Module string
	// Files are compiled together; .java and .scala may be mixed where scalac is given.
	Files []Source
	// Classpath are jars and class folders, in order.
	Classpath []string
	Options   Options
}

// Options are the compiler settings that decide class bytes.
type Options struct {
	// Release is the Java release of the class files (javac --release, scalac -release).
	Release int
	// Scalac is the class path of the Scala compiler; empty for a Java unit.
	Scalac []string
	// Scala is the full compiler version, e.g. 2.13.16.
	Scala string
	// Extra are further compiler options, passed last.
	Extra []string
}

// Diagnostic is one message of a compiler.
type Diagnostic struct {
	Severity string // error or warning
	Path     string // upstream's path
	Line     int    // from 1
	Message  string
}

// Toolchain says what compiled.
type Toolchain struct {
	Javac  string // e.g. "javac 17.0.15"
	Scalac string // e.g. "2.13.16", empty for a Java unit
}

// Output is what a compilation gave.
type Output struct {
	// Classes maps a jar entry (kafka/cluster/Partition.class) to its bytes.
	Classes     map[string][]byte
	Diagnostics []Diagnostic
	Toolchain   Toolchain
}
