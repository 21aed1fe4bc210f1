package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/jar"
)

// compareEntries compares the patched jar with the release's and holds the result against
// what the build gave: whatever else differs is a problem, said for people. w judges the
// bytes of a jar that was built whole; nil for one made by replacing entries.
func compareEntries(m build.Module, patched, properties string, w *whole) (Entries, []string, error) {
	c, err := jar.Compare(m.Jar.Path, patched)
	if err != nil {
		return Entries{}, nil, err
	}
	sums, err := entryDigests(patched)
	if err != nil {
		return Entries{}, nil, err
	}
	before, err := entryDigests(m.Jar.Path)
	if err != nil {
		return Entries{}, nil, err
	}
	e := Entries{Replaced: []Change{}, Added: []Change{}, Removed: []Change{}}
	h := sha256.New()
	for _, name := range c.Identical {
		e.Identical++
		fmt.Fprintf(h, "%s  %s\n", sums[name], name)
	}
	e.Digest = hex.EncodeToString(h.Sum(nil))
	var problems []string
	expect := func(name, what string) {
		_, ours := m.Patched.Classes[name]
		if name != properties && !ours {
			problems = append(problems, fmt.Sprintf("entry %s is %s, but no compiled file gives it", name, what))
		}
	}
	for _, name := range c.Replaced {
		if !w.alike(name) {
			expect(name, "replaced")
		}
		e.Replaced = append(e.Replaced, Change{Entry: name, ReleaseSHA256: before[name]})
	}
	for _, name := range c.Added {
		if strings.HasSuffix(name, "/") {
			continue
		}
		expect(name, "added")
		e.Added = append(e.Added, Change{Entry: name})
	}
	for _, name := range c.Removed {
		if w != nil && strings.HasSuffix(name, "/") {
			continue
		}
		if !slices.Contains(m.Vanished, name) {
			problems = append(problems, fmt.Sprintf("entry %s is lost", name))
		}
		e.Removed = append(e.Removed, Change{Entry: name, ReleaseSHA256: before[name]})
	}
	for name, class := range m.Patched.Classes {
		switch sum, there := sums[name]; {
		case !there:
			problems = append(problems, fmt.Sprintf("entry %s is missing, though compiling the patched files gives it", name))
		case hash(class) != sum && !w.gives(name, class):
			problems = append(problems, fmt.Sprintf("entry %s is not what compiling the patched files gives", name))
		}
	}
	for _, name := range m.Vanished {
		if _, there := sums[name]; there {
			problems = append(problems, fmt.Sprintf("entry %s is left from the unpatched class", name))
		}
	}
	slices.Sort(problems)
	return e, problems, nil
}

// entryDigests gives the SHA-256 of every entry of a jar by its name.
func entryDigests(path string) (map[string]string, error) {
	j, err := jar.Open(path)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	all, err := j.Entries()
	if err != nil {
		return nil, err
	}
	sums := make(map[string]string, len(all))
	for _, e := range all {
		sums[e.Name] = e.SHA256
	}
	return sums, nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
