package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"observer-patch/internal/exit"
	"observer-patch/internal/proof"
)

// accords holds the files of a bundle against its provenance: whoever writes other sums for
// a changed jar or diff has to forge the provenance as well. What differs is exit code 4.
func (s Statement) accords(dir string) error {
	for _, r := range s.Subject {
		if !filepath.IsLocal(r.Name) {
			return exit.With(exit.Proof, fmt.Errorf("%s names %q; expected a file of the bundle", ProvenanceFile, r.Name))
		}
		sum, err := digestFile(filepath.Join(dir, r.Name))
		if err != nil {
			return exit.With(exit.Proof, fmt.Errorf("%s names a file that cannot be read: %w", ProvenanceFile, err))
		}
		if want := r.Digest["sha256"]; sum != want {
			return exit.With(exit.Proof, fmt.Errorf("%s: expected SHA-256 %s as in %s, found %s", r.Name, want, ProvenanceFile, sum))
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, DiffFile))
	if err != nil {
		return err
	}
	d := s.Predicate.BuildDefinition
	want, found := d.External.Patch, digest(text)
	if want == "" {
		want, found = d.Internal.HooksSHA256, digest(withoutHeader(text))
	}
	if want != found {
		return exit.With(exit.Proof, fmt.Errorf("%s is not the change that %s names: expected SHA-256 %s, found %s", DiffFile, ProvenanceFile, want, found))
	}
	return nil
}

// withoutHeader gives a diff from its first file on.
func withoutHeader(text []byte) []byte {
	if start := []byte("diff --git "); !bytes.HasPrefix(text, start) {
		if at := bytes.Index(text, append([]byte("\n"), start...)); at >= 0 {
			return text[at+1:]
		}
	}
	return text
}

// saysTheSame holds a bundle's proof.json against the proof that was made anew: the level,
// and for each jar the entries with the digests by which install knows the release's jar.
// The hooks' names are not compared: a proof from a bundle's own diff has other ones. A
// bundle whose provenance says proven must have the file. What differs is exit code 4.
func saysTheSame(dir string, skipped bool, v *proof.Verdict) error {
	text, err := os.ReadFile(filepath.Join(dir, ProofFile))
	if errors.Is(err, fs.ErrNotExist) {
		if skipped {
			return nil
		}
		return exit.With(exit.Proof, fmt.Errorf("%s is missing, and %s says that the bundle was proven", ProofFile, ProvenanceFile))
	}
	if err != nil {
		return err
	}
	var said proof.Verdict
	if err := json.Unmarshal(text, &said); err != nil {
		return exit.With(exit.Proof, fmt.Errorf("%s: %w", ProofFile, err))
	}
	if said.Level != v.Level {
		return exit.With(exit.Proof, fmt.Errorf("%s says %s, found %s", ProofFile, said.Level, v.Level))
	}
	if want, found := entriesOf(said), entriesOf(*v); !reflect.DeepEqual(want, found) {
		return exit.With(exit.Proof, fmt.Errorf("%s lists other entries or digests than the jars and the release have", ProofFile))
	}
	return nil
}

// entriesOf gives the entries of each module without the hooks' names.
func entriesOf(v proof.Verdict) map[string]proof.Entries {
	out := map[string]proof.Entries{}
	for _, m := range v.Modules {
		e := m.Entries
		e.Replaced, e.Added, e.Removed = nameless(e.Replaced), nameless(e.Added), nameless(e.Removed)
		out[m.Module+" "+m.Jar] = e
	}
	return out
}

func nameless(list []proof.Change) []proof.Change {
	out := make([]proof.Change, 0, len(list))
	for _, c := range list {
		out = append(out, proof.Change{Entry: c.Entry, ReleaseSHA256: c.ReleaseSHA256})
	}
	return out
}
