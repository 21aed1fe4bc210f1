// Package classfile reads Java class files (JVMS chapter 4) and says how alike two of them are.
package classfile

import "fmt"

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

var levelNames = [...]string{"identical", "equivalent", "idioms", "different"}

// String gives the lower-case name that reports use.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("level(%d)", int(l))
	}
	return levelNames[l]
}

// MarshalText writes the name, so that JSON and YAML say "equivalent" and not 1.
func (l Level) MarshalText() ([]byte, error) {
	if l < 0 || int(l) >= len(levelNames) {
		return nil, fmt.Errorf("unknown class likeness %d", int(l))
	}
	return []byte(levelNames[l]), nil
}

// UnmarshalText reads what MarshalText writes.
func (l *Level) UnmarshalText(text []byte) error {
	for i, name := range levelNames {
		if name == string(text) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("unknown class likeness %q: expected one of %v", text, levelNames)
}
