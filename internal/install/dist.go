package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/proof"
)

// dist is a bundle whose sums hold.
type dist struct {
	dir  string
	what bundle.External
	// jars are in the order in which they are swapped: each after those it needs.
	jars []distJar
}

type distJar struct {
	name string
	// sha256 is the changed jar's digest, release that of the jar it was made from.
	sha256, release string
	// entries says what was changed; nil when the bundle was not proven.
	entries *proof.Entries
	// sums has the digest of every entry.
	sums map[string]string
}

// readDist holds a bundle's files against its sums and its provenance (exit code 4) and reads
// what install needs of it.
func readDist(dir string) (*dist, error) {
	s, err := bundle.Read(dir)
	if err != nil {
		return nil, err
	}
	modules, err := readProof(dir)
	if err != nil {
		return nil, err
	}
	d := &dist{dir: dir, what: s.Predicate.BuildDefinition.External}
	for _, subject := range s.Subject {
		if path.Ext(subject.Name) != ".jar" {
			continue
		}
		if subject.Name != filepath.Base(subject.Name) {
			return nil, exit.With(exit.Proof, fmt.Errorf("%s names %q; expected the name of a jar in the bundle's own folder", bundle.ProvenanceFile, subject.Name))
		}
		j := distJar{name: subject.Name, sha256: subject.Digest["sha256"], entries: modules[subject.Name]}
		for _, dep := range s.Predicate.BuildDefinition.ResolvedDependencies {
			if fileOf(dep.URI) == j.name {
				j.release = dep.Digest["sha256"]
			}
		}
		if j.sums, err = entrySums(filepath.Join(dir, j.name)); err != nil {
			return nil, err
		}
		d.jars = append(d.jars, j)
	}
	if len(d.jars) == 0 {
		return nil, fmt.Errorf("%s has no changed jar: nothing to install", dir)
	}
	return d, nil
}

func readProof(dir string) (map[string]*proof.Entries, error) {
	text, err := os.ReadFile(filepath.Join(dir, bundle.ProofFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Only this part: the levels of the other parts are names, not numbers.
	var v struct {
		Modules []struct {
			Jar     string        `json:"jar"`
			Entries proof.Entries `json:"entries"`
		} `json:"modules"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", bundle.ProofFile, err)
	}
	out := map[string]*proof.Entries{}
	for i := range v.Modules {
		out[v.Modules[i].Jar] = &v.Modules[i].Entries
	}
	return out, nil
}

// fileOf gives the file name of an upstream jar named by its package URL.
func fileOf(uri string) string {
	rest, ok := strings.CutPrefix(uri, "pkg:maven/org.apache.kafka/")
	if !ok || strings.Contains(rest, "?") {
		return ""
	}
	return strings.Replace(rest, "@", "-", 1) + ".jar"
}

// entrySums gives the SHA-256 of every entry of a jar but folders.
func entrySums(path string) (map[string]string, error) {
	sums, err := jar.Digests(path)
	maps.DeleteFunc(sums, func(name, _ string) bool { return strings.HasSuffix(name, "/") })
	return sums, err
}

// classes gives the class entries of the changed jar.
func (j *distJar) classes() []string {
	var out []string
	for name := range j.sums {
		if isClass(name) {
			out = append(out, name)
		}
	}
	return out
}

// String says what the bundle is for.
func (d *dist) String() string {
	set := "set " + d.what.Set
	if d.what.Patch != "" {
		set = "somebody else's patch"
	}
	return fmt.Sprintf("%s, %s, mode %s, Scala %s", d.what.Release, set, d.what.Mode, d.what.Scala)
}
