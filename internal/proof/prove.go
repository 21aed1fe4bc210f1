package proof

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
)

// Prove compares the unpatched rebuild of every module with the release, the patched jar
// (by module name in jars) with the release's, and the changed methods with the edits.
// properties is the entry that describes the patch. What does not hold is an error of exit
// code 4 with everything that was found.
func Prove(modules []build.Module, jars map[string]string, properties string) (*Verdict, error) {
	v := &Verdict{}
	var problems []error
	for _, m := range modules {
		if m.Unpatched == nil {
			return nil, fmt.Errorf("module %s was not compiled unpatched: nothing can be proven", m.Name)
		}
		out := Module{Module: m.Name, Jar: path.Base(jars[m.Name])}
		var found []string
		classes, bad, err := Unpatched(m)
		if err != nil {
			return nil, err
		}
		out.Unpatched = classes
		found = append(found, bad...)
		for _, c := range classes {
			v.Level = max(v.Level, c.Level)
		}
		o, err := own(m)
		if err != nil {
			return nil, err
		}
		found = append(found, o.problems...)
		out.Methods = o.methods
		w, err := openWhole(m, jars[m.Name])
		if err != nil {
			return nil, err
		}
		if out.Entries, bad, err = compareEntries(m, jars[m.Name], properties, w); err != nil {
			return nil, errors.Join(err, w.close())
		}
		if err := w.close(); err != nil {
			return nil, err
		}
		found = append(append(found, bad...), w.problems()...)
		out.Rebuilt = w.classes()
		for _, c := range out.Rebuilt {
			v.Level = max(v.Level, c.Level)
		}
		for _, list := range [][]Change{out.Entries.Replaced, out.Entries.Added, out.Entries.Removed} {
			for i := range list {
				list[i].Owners = o.owners[list[i].Entry]
			}
		}
		for _, text := range found {
			problems = append(problems, fmt.Errorf("%s: %s", out.Jar, text))
		}
		v.Modules = append(v.Modules, out)
		v.Toolchain = append(v.Toolchain, m.Patched.Toolchain)
	}
	slices.SortFunc(v.Toolchain, func(a, b build.Toolchain) int { return strings.Compare(a.Javac+a.Scalac, b.Javac+b.Scalac) })
	v.Toolchain = slices.Compact(v.Toolchain)
	if len(problems) > 0 {
		return nil, exit.With(exit.Proof, fmt.Errorf("the proof does not hold:\n%w", errors.Join(problems...)))
	}
	return v, nil
}

// Unpatched compares the classes that the unpatched files gave with the release's own.
// Problems are classes below 'equivalent up to idioms', and those that only one side has.
func Unpatched(m build.Module) (classes []Class, problems []string, err error) {
	j, err := jar.Open(m.Jar.Path)
	if err != nil {
		return nil, nil, err
	}
	defer j.Close()
	for _, entry := range slices.Sorted(maps.Keys(m.Unpatched.Classes)) {
		if !j.Has(entry) {
			problems = append(problems, fmt.Sprintf("compiling the unpatched files gives %s, which the release lacks", entry))
			continue
		}
		theirs, err := j.Read(entry)
		if err != nil {
			return nil, nil, err
		}
		r, err := classfile.Compare(theirs, m.Unpatched.Classes[entry])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", entry, err)
		}
		classes = append(classes, Class{Entry: entry, Level: r.Level, Idioms: r.Idioms, Debug: r.DebugDiffers})
		if r.Level > classfile.Idioms {
			problems = append(problems, fmt.Sprintf("%s, compiled from the unpatched file, is different from the release's: another compiler, option or dependency?\n%s", entry, strings.Join(r.Diff, "\n")))
		}
	}
	for _, entry := range build.OwnEntries(j.Names(), m.Unpatched) {
		if _, ok := m.Unpatched.Classes[entry]; !ok {
			problems = append(problems, fmt.Sprintf("the release has %s, which compiling the unpatched files does not give", entry))
		}
	}
	return classes, problems, nil
}
