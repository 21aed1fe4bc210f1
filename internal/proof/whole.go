package proof

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/jar"
)

// manifestEntry names the build in a jar; that of another build of the same sources differs.
const manifestEntry = "META-INF/MANIFEST.MF"

// whole judges the entries of a jar that upstream's own build made: the patched jar and the
// release's, or the overlay's class, may differ in what a compiler is free to write. Nil for
// a jar that was made by replacing entries, of which every byte is judged.
type whole struct {
	release, built *jar.Jar
	patched        map[string][]byte
	list           []Class
	bad            []string
	err            error
}

func openWhole(m build.Module, path string) (*whole, error) {
	if !m.Rebuilt {
		return nil, nil
	}
	w := &whole{patched: m.Patched.Classes}
	var rerr, berr error
	w.release, rerr = jar.Open(m.Jar.Path)
	w.built, berr = jar.Open(path)
	if err := errors.Join(rerr, berr); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *whole) close() error {
	if w == nil {
		return nil
	}
	err := w.err
	for _, j := range []*jar.Jar{w.release, w.built} {
		if j != nil {
			err = errors.Join(err, j.Close())
		}
	}
	return err
}

// alike tells whether the built jar's entry, which has other bytes than the release's, is
// judged here: as alike, or as a problem of its own.
func (w *whole) alike(name string) bool {
	if w == nil || w.patched[name] != nil {
		return false
	}
	if name == manifestEntry {
		return true
	}
	if !strings.HasSuffix(name, ".class") {
		return false
	}
	theirs, err := w.release.Read(name)
	w.err = errors.Join(w.err, err)
	w.compare(name, theirs, "the release's")
	return true
}

// gives tells whether the built jar's class is the overlay's but for its bytes.
func (w *whole) gives(name string, class []byte) bool {
	if w == nil {
		return false
	}
	w.compare(name, class, "the one that compiling the patched file with the pinned compiler gives")
	return true
}

func (w *whole) compare(name string, want []byte, whose string) {
	class, err := w.built.Read(name)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	r, err := classfile.Compare(want, class)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("%s: %w", name, err))
		return
	}
	w.list = append(w.list, Class{Entry: name, Level: r.Level, Idioms: r.Idioms, Debug: r.DebugDiffers})
	if r.Level > classfile.Idioms {
		w.bad = append(w.bad, fmt.Sprintf("%s of the build is different from %s:\n%s", name, whose, strings.Join(r.Diff, "\n")))
	}
}

func (w *whole) classes() []Class {
	if w == nil {
		return nil
	}
	slices.SortFunc(w.list, func(a, b Class) int { return strings.Compare(a.Entry, b.Entry) })
	return w.list
}

func (w *whole) problems() []string {
	if w == nil {
		return nil
	}
	return w.bad
}

// Same holds a jar that upstream's build made of a module without patch against the
// release's: every entry the same, classes up to idioms. It gives what is not, for people.
func Same(module string, release build.Library, built string) ([]string, error) {
	m := build.Module{Name: module, Jar: release, Rebuilt: true}
	w, err := openWhole(m, built)
	if err != nil {
		return nil, err
	}
	_, bad, err := compareEntries(m, built, "", w)
	return append(bad, w.problems()...), errors.Join(err, w.close())
}
