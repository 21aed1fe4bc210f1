package release

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/goccy/go-yaml"
)

// Lock is versions.lock: what every build takes in, by SHA-256.
type Lock struct {
	// Digests has every known file once; a file never changes its digest.
	Digests map[Coordinates]Digest
	// Releases are keyed by version.
	Releases map[string]*LockedRelease
}

// Digest is what a file is recognised by.
type Digest struct {
	// SHA256 is 64 lower-case hexadecimal digits.
	SHA256 string
	// Size is in bytes.
	Size int64
}

// LockedRelease is one release's part of the lock.
type LockedRelease struct {
	// Commit is the git commit of the tag, 40 hexadecimal digits, empty when not known.
	Commit string
	// CommitPrefix is the beginning of that commit as the release itself states it
	// (kafka/kafka-version.properties in kafka-clients: 16 digits).
	CommitPrefix string
	// Javac is the major version of the JDK that compiles.
	Javac int
	// Scalac is the full compiler version by Scala binary version.
	Scalac map[string]string
	// Uses are lists of files: source, module/<scala>, classpath/<scala>, scalac/<scala>,
	// lab/<scala> and, for some releases, test. Order counts (class paths).
	Uses map[string][]Coordinates
}

// LockedArtifact is a file with the digest that it must have.
type LockedArtifact struct {
	Coordinates Coordinates
	SHA256      string
	Size        int64
}

// The lock's file form. A use may begin with "+<other use>", which stands for that list.
type lockFile struct {
	Releases  map[string]lockedEntry `yaml:"releases"`
	Artifacts map[string]string      `yaml:"artifacts"`
}

type lockedEntry struct {
	Commit       string              `yaml:"commit,omitempty"`
	CommitPrefix string              `yaml:"commit-prefix,omitempty"`
	Javac        int                 `yaml:"javac"`
	Scalac       map[string]string   `yaml:"scalac"`
	Uses         map[string][]string `yaml:"uses"`
}

var (
	sha256Form = regexp.MustCompile(`^([0-9a-f]{64}) ([0-9]{1,12})$`)
	commitForm = regexp.MustCompile(`^([0-9a-f]{40})?$`)
	prefixForm = regexp.MustCompile(`^([0-9a-f]{7,40})?$`)
	useForm    = regexp.MustCompile(`^(source|test|(module|classpath|scalac|lab)/2\.1[23])$`)
)

// ReadLock parses versions.lock; name is what errors call the file. Unknown fields, bad
// digests and files without a digest are refused.
func ReadLock(data []byte, name string) (*Lock, error) {
	var f lockFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l := &Lock{Digests: map[Coordinates]Digest{}, Releases: map[string]*LockedRelease{}}
	for _, text := range slices.Sorted(maps.Keys(f.Artifacts)) {
		digest := f.Artifacts[text]
		c, err := ParseCoordinates(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d, err := parseDigest(digest)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, text, err)
		}
		if _, twice := l.Digests[c]; twice {
			return nil, fmt.Errorf("%s: %s stands twice", name, c)
		}
		l.Digests[c] = d
	}
	for _, version := range slices.Sorted(maps.Keys(f.Releases)) {
		e := f.Releases[version]
		r, err := l.entry(version, e)
		if err != nil {
			return nil, fmt.Errorf("%s: release %s: %w", name, version, err)
		}
		l.Releases[version] = r
	}
	return l, nil
}

func parseDigest(s string) (Digest, error) {
	m := sha256Form.FindStringSubmatch(s)
	if m == nil {
		return Digest{}, fmt.Errorf("digest %q: expected 64 lower-case hexadecimal digits, a space, the size in bytes", s)
	}
	var size int64
	if _, err := fmt.Sscan(m[2], &size); err != nil {
		return Digest{}, fmt.Errorf("size %q: %w", m[2], err)
	}
	return Digest{SHA256: m[1], Size: size}, nil
}

func (l *Lock) entry(version string, e lockedEntry) (*LockedRelease, error) {
	if _, err := semver.StrictNewVersion(version); err != nil {
		return nil, fmt.Errorf("expected a version such as 4.1.0")
	}
	if !commitForm.MatchString(e.Commit) || !prefixForm.MatchString(e.CommitPrefix) {
		return nil, fmt.Errorf("commit %q, commit-prefix %q: expected 40 and 7 to 40 hexadecimal digits", e.Commit, e.CommitPrefix)
	}
	if e.Commit != "" && !strings.HasPrefix(e.Commit, e.CommitPrefix) {
		return nil, fmt.Errorf("commit %s does not begin with commit-prefix %s", e.Commit, e.CommitPrefix)
	}
	if e.Javac <= 0 {
		return nil, fmt.Errorf("javac %d: expected a JDK's major version", e.Javac)
	}
	r := &LockedRelease{Commit: e.Commit, CommitPrefix: e.CommitPrefix, Javac: e.Javac, Scalac: e.Scalac, Uses: map[string][]Coordinates{}}
	for _, use := range slices.Sorted(maps.Keys(e.Uses)) {
		list, err := l.use(e.Uses, use)
		if err != nil {
			return nil, fmt.Errorf("use %s: %w", use, err)
		}
		r.Uses[use] = list
	}
	return r, nil
}

func (l *Lock) use(uses map[string][]string, use string) ([]Coordinates, error) {
	if !useForm.MatchString(use) {
		return nil, fmt.Errorf("expected source, test, or module, classpath, scalac, lab with a Scala version")
	}
	var out []Coordinates
	add := func(text string) error {
		c, err := ParseCoordinates(text)
		if err != nil {
			return err
		}
		if _, known := l.Digests[c]; !known {
			return fmt.Errorf("%s has no digest under 'artifacts'", c)
		}
		if slices.Contains(out, c) {
			return fmt.Errorf("%s stands twice", c)
		}
		out = append(out, c)
		return nil
	}
	for i, text := range uses[use] {
		if i > 0 || !strings.HasPrefix(text, "+") {
			if err := add(text); err != nil {
				return nil, err
			}
			continue
		}
		other, known := uses[text[1:]]
		if !known {
			return nil, fmt.Errorf("%s: no such use in this release", text)
		}
		for _, t := range other {
			if err := add(t); err != nil {
				return nil, fmt.Errorf("in %s: %w", text, err)
			}
		}
	}
	return out, nil
}

// Artifacts gives the files of a use of a release, in the lock's order.
func (l *Lock) Artifacts(version, use string) ([]LockedArtifact, error) {
	r, ok := l.Releases[version]
	if !ok {
		return nil, fmt.Errorf("release %s is not in versions.lock; 'observer-patch lock --version %s' adds it", version, version)
	}
	list, ok := r.Uses[use]
	if !ok {
		return nil, fmt.Errorf("release %s has no use %q in versions.lock; it has %s", version, use, strings.Join(r.useNames(), ", "))
	}
	out := make([]LockedArtifact, len(list))
	for i, c := range list {
		d := l.Digests[c]
		out[i] = LockedArtifact{Coordinates: c, SHA256: d.SHA256, Size: d.Size}
	}
	return out, nil
}

func (r *LockedRelease) useNames() []string {
	var names []string
	for n := range r.Uses {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
