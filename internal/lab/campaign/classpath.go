package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Overlay puts a bundle's jars in the place of the release's own in a class path, and gives the
// names of those replaced. A jar of the bundle that replaces none or two is an error: with two
// copies of a class on a class path, which one wins is luck.
func Overlay(classpath []string, bundle string) (out, replaced []string, err error) {
	// Absolute, because every node has a working folder of its own.
	if bundle, err = filepath.Abs(bundle); err != nil {
		return nil, nil, fmt.Errorf("folder of the bundle: %w", err)
	}
	jars, err := filepath.Glob(filepath.Join(bundle, "*.jar"))
	if err != nil {
		return nil, nil, fmt.Errorf("jars of the bundle: %w", err)
	}
	if len(jars) == 0 {
		return nil, nil, fmt.Errorf("no jar in %s: expected a bundle that 'observer-patch build' has written", bundle)
	}
	out = slices.Clone(classpath)
	for _, j := range jars {
		name, n := filepath.Base(j), 0
		for i, p := range classpath {
			if filepath.Base(p) == name {
				out[i] = j
				n++
			}
		}
		if n != 1 {
			return nil, nil, fmt.Errorf("%s of the bundle replaces %d jars of the release's class path, expected 1", name, n)
		}
		replaced = append(replaced, name)
	}
	return out, replaced, nil
}
