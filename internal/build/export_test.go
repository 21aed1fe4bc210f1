package build

import "observer-patch/internal/patch"

// UnpatchedUnit gives the compilation that Overlay makes of one unpatched file of core.
func UnpatchedUnit(in Inputs, path string, text []byte) (Unit, error) {
	m := Module{Name: "core", Jar: in.Jars["core"], Files: []patch.File{{Path: path, Before: text, After: text}}}
	u, err := in.unit(&m, unpatched, nil)
	return u, err
}
