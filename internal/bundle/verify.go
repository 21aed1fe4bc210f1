package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/patch"
	"observer-patch/internal/proof"
)

// Read reads what a bundle says of itself, after its sums were checked, and holds jars and
// diff against it.
func Read(dir string) (Statement, error) {
	if _, err := CheckSums(dir); err != nil {
		return Statement{}, err
	}
	text, err := os.ReadFile(filepath.Join(dir, ProvenanceFile))
	if err != nil {
		return Statement{}, err
	}
	s, err := ReadProvenance(text)
	if err != nil {
		return Statement{}, err
	}
	return s, s.accords(dir)
}

// Verify proves the jars of a bundle again: it compiles the files of its patch unpatched and
// patched, and holds the jars in dir against the release's. The bundle's own proof must say
// the same, and every document must be what target, jars and proof give. What does not hold
// is exit code 4.
func Verify(ctx context.Context, s Spec, dir string) (*proof.Verdict, error) {
	skipped := s.NoProof
	s.NoProof = false
	modules, err := s.compile(ctx)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, m := range modules {
		paths[m.Name] = filepath.Join(dir, s.artifact(m.Name).Coordinates.File())
	}
	v, err := proof.Prove(modules, paths, PropertiesEntry)
	if err != nil {
		return nil, err
	}
	if err := saysTheSame(dir, skipped, v); err != nil {
		return nil, err
	}
	return v, s.regenerated(dir, skipped, modules, v)
}

// Whole compiles every module of the patch whole, with the patch, and compares each class
// with the jars in dir: no inlined copy anywhere else may be stale. It gives the number of
// classes compared; any that is not at least equivalent is exit code 4.
func Whole(ctx context.Context, s Spec, fsys fs.FS, dir string) (int, error) {
	in := s.inputs()
	ahead := map[string][]byte{}
	count := 0
	for _, module := range build.Modules(s.Tree) {
		s.say("compile the whole of " + module)
		own := s.artifact(module)
		in.Jars[module] = build.Library{Path: own.Path, SHA256: own.SHA256}
		out, err := build.Whole(ctx, in, fsys, module, maps.Clone(ahead))
		if err != nil {
			return count, err
		}
		maps.Copy(ahead, out.Classes)
		j, err := jar.Open(filepath.Join(dir, s.artifact(module).Coordinates.File()))
		if err != nil {
			return count, err
		}
		problems, err := wholeProblems(j, out)
		if err := errors.Join(err, j.Close()); err != nil {
			return count, err
		}
		if len(problems) > 0 {
			// Other files of the module may show habits of upstream's compiler that ours has not. They are
			// told from what the patch changed by compiling the module whole without it.
			s.say("compile the whole of " + module + " without the patch")
			plain := in
			plain.Tree = unpatchedTree(s.Tree)
			before, err := build.Whole(ctx, plain, fsys, module, nil)
			if err != nil {
				return count, err
			}
			maps.DeleteFunc(problems, func(entry, _ string) bool { return bytes.Equal(before.Classes[entry], out.Classes[entry]) })
		}
		if len(problems) > 0 {
			texts := slices.Sorted(maps.Values(problems))
			return count, exit.With(exit.Proof, fmt.Errorf("module %s compiled whole differs from the bundle:\n%s", module, strings.Join(texts, "\n")))
		}
		count += len(out.Classes)
	}
	return count, nil
}

// unpatchedTree has upstream's own texts of a tree's files.
func unpatchedTree(t patch.Tree) patch.Tree {
	var plain patch.Tree
	for _, f := range t.Files {
		if f.Before != nil {
			plain.Files = append(plain.Files, patch.File{Path: f.Path, Before: f.Before, After: f.Before})
		}
	}
	return plain
}

// wholeProblems says, by entry, which classes are not those of the jar.
func wholeProblems(j *jar.Jar, out build.Output) (map[string]string, error) {
	problems := map[string]string{}
	var pairs []classfile.Pair
	for _, entry := range slices.Sorted(maps.Keys(out.Classes)) {
		if !j.Has(entry) {
			problems[entry] = entry + " is not in the bundle's jar"
			continue
		}
		ours, err := j.Read(entry)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, classfile.Pair{Name: entry, A: ours, B: out.Classes[entry]})
	}
	results, err := classfile.CompareAll(pairs)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if entry := pairs[i].Name; r.Level > classfile.Idioms {
			problems[entry] = fmt.Sprintf("%s is %s\n%s", entry, r.Level, strings.Join(r.Diff, "\n"))
		}
	}
	return problems, nil
}

// HomeJar says how a jar of a Kafka home compares.
type HomeJar struct {
	Name string `json:"name"`
	// Is is "the bundle's", "the release's" or "the release's by content".
	Is string `json:"is"`
}

// CompareHome compares the jars of a Kafka home (its libs folder) with the bundle's and the
// release's: by digest, else entry by entry, classes by content. A jar that is neither is
// exit code 4, one that is not there as well.
func CompareHome(s Spec, dir, home string) ([]HomeJar, error) {
	var list []HomeJar
	var problems []error
	for _, module := range build.Modules(s.Tree) {
		a := s.artifact(module)
		name := a.Coordinates.File()
		path := filepath.Join(home, "libs", name)
		sum, err := digestFile(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		ours, err := digestFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		switch sum {
		case ours:
			list = append(list, HomeJar{name, "the bundle's"})
			continue
		case a.SHA256:
			list = append(list, HomeJar{name, "the release's"})
			continue
		}
		bad, err := contentDiffers(a.Path, path)
		if err != nil {
			return nil, err
		}
		if len(bad) > 0 {
			problems = append(problems, fmt.Errorf("%s is neither the bundle's nor the release's: %s", path, strings.Join(bad, "; ")))
			continue
		}
		list = append(list, HomeJar{name, "the release's by content"})
	}
	if len(problems) > 0 {
		return list, exit.With(exit.Proof, errors.Join(problems...))
	}
	return list, nil
}

// contentDiffers compares two jars entry by entry. Classes may differ up to idioms; the
// manifest, which names the build, may differ.
func contentDiffers(release, other string) ([]string, error) {
	c, err := jar.Compare(release, other)
	if err != nil {
		return nil, err
	}
	var bad []string
	for what, list := range map[string][]string{"lacks": c.Removed, "has in addition": c.Added} {
		for _, name := range list {
			if !strings.HasSuffix(name, "/") {
				bad = append(bad, what+" "+name)
			}
		}
	}
	a, err := jar.Open(release)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := jar.Open(other)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	for _, name := range c.Replaced {
		if name == "META-INF/MANIFEST.MF" {
			continue
		}
		x, xerr := a.Read(name)
		y, yerr := b.Read(name)
		if err := errors.Join(xerr, yerr); err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, ".class") {
			r, err := classfile.Compare(x, y)
			if err == nil && r.Level <= classfile.Idioms {
				continue
			}
		}
		bad = append(bad, name+" has other content")
	}
	slices.Sort(bad)
	return bad, nil
}

// Rebuild builds a bundle again in a private folder and gives what differs from dir, file
// by file; nothing when all bytes came back.
func Rebuild(ctx context.Context, s Spec, dir string) (differ []string, err error) {
	want, err := CheckSums(dir)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "observer-patch-rebuild-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	b, err := fill(ctx, s, tmp)
	if err != nil {
		return nil, err
	}
	return differences(want, b.Sums), nil
}
