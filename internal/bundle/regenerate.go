package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/exit"
	"observer-patch/internal/proof"
)

// namesHooks are the documents in which hooks stand by name. A patch that was taken from the
// bundle's own diff has hunks instead, so that they cannot be written again.
var namesHooks = []string{DiffFile, ChangesFile, ProofFile, ProofPage}

// regenerated writes jars and documents of a bundle again, from the target, the compiled
// modules and the proof, and holds those in dir against them byte by byte; a file that is not
// among them has no business there. What differs is exit code 4.
//
// Only what the machine that built knows better is taken from the bundle's provenance: the
// versions of tool and JDK, and what was run of upstream's own build.
func (s Spec) regenerated(dir string, skipped bool, modules []build.Module, v *proof.Verdict) (err error) {
	text, err := os.ReadFile(filepath.Join(dir, ProvenanceFile))
	if err != nil {
		return err
	}
	said, err := ReadProvenance(text)
	if err != nil {
		return err
	}
	c, err := s.contents()
	if err != nil {
		return err
	}
	c.Unproven = skipped
	if !s.Foreign && !s.Recovered {
		body, err := s.Tree.Diff()
		if err != nil {
			return err
		}
		c.Diff = append([]byte(s.Tree.Header(s.Target, s.Tool)), body...)
	}
	internal := said.Predicate.BuildDefinition.Internal
	c.JDK = internal.JDK
	if s.Backend == WholeBuild {
		c.Gradle = internal.Gradle
	}
	tmp, err := os.MkdirTemp("", "observer-patch-verify-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	for i := range modules {
		from, built := s.artifact(modules[i].Name), ""
		path := filepath.Join(dir, from.Coordinates.File())
		if s.Backend == WholeBuild {
			built = path
		}
		j, err := writeJar(&modules[i], from, built, c.properties(), tmp)
		if err != nil {
			return err
		}
		again := j.SHA256
		if j.SHA256, err = digestFile(path); err != nil {
			return err
		}
		if again != j.SHA256 && !s.Recovered {
			return exit.With(exit.Proof, fmt.Errorf("%s has the classes that the patch gives, but other bytes than this tool writes (SHA-256 %s, found %s): the entry %s or the archive around the entries was changed%s", j.Name, again, j.SHA256, PropertiesEntry, s.otherTool()))
		}
		c.Jars = append(c.Jars, j)
	}
	want, err := c.documents(s.asBuilt(v, skipped, internal.JDK.Version))
	if err != nil {
		return err
	}
	if want[NativesFile], err = nativesOf(c.Closure); err != nil {
		return err
	}
	if s.Recovered {
		if want[ProvenanceFile], err = withGeneration(want[ProvenanceFile], internal.Generation); err != nil {
			return err
		}
	}
	return s.hold(dir, want, c.Jars)
}

// hold compares the files of a bundle with the documents that it should have.
func (s Spec) hold(dir string, want map[string][]byte, jars []Jar) error {
	have, err := sumUp(dir)
	if err != nil {
		return err
	}
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		found, err := os.ReadFile(filepath.Join(dir, name))
		delete(have, name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			bad = append(bad, name+" is missing")
		case err != nil:
			return err
		case s.Recovered && slices.Contains(namesHooks, name):
		case !bytes.Equal(want[name], found):
			bad = append(bad, fmt.Sprintf("%s is not what this tool writes: %s", name, firstDifference(want[name], found)))
		}
	}
	for _, j := range jars {
		delete(have, j.Name)
	}
	if s.Recovered {
		delete(have, ProofFile)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		bad = append(bad, name+" is no part of a bundle")
	}
	if len(bad) > 0 {
		return exit.With(exit.Proof, fmt.Errorf("%s does not come from its target, jars and proof%s:\n%s", dir, s.otherTool(), strings.Join(bad, "\n")))
	}
	return nil
}

// otherTool says which version of the tool to verify with, when it was another one.
func (s Spec) otherTool() string {
	if s.Verifier == "" || s.Verifier == s.Tool {
		return ""
	}
	return fmt.Sprintf(" (it says that observer-patch %s made it, this is %s: texts may have changed in between, verify with that version)", s.Tool, s.Verifier)
}

// asBuilt gives a proof as it was written when the bundle was built: by that JDK, or not at all.
func (s Spec) asBuilt(v *proof.Verdict, skipped bool, jdk string) *proof.Verdict {
	if skipped {
		return nil
	}
	out := *v
	out.Toolchain = slices.Clone(v.Toolchain)
	for i := range out.Toolchain {
		out.Toolchain[i].Javac = "javac " + jdk
	}
	return &out
}

// withGeneration gives a provenance with another generation of hooks.
func withGeneration(text []byte, generation int) ([]byte, error) {
	p, err := ReadProvenance(text)
	if err != nil {
		return nil, err
	}
	p.Predicate.BuildDefinition.Internal.Generation = generation
	return writeJSON(p)
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(want, found []byte) string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(found), "\n")
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("line %d is too many: %.200q", i+1, b[i])
		case i >= len(b):
			return fmt.Sprintf("line %d is missing: %.200q", i+1, a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("line %d: expected %.200q, found %.200q", i+1, a[i], b[i])
		}
	}
	return "no line differs"
}
