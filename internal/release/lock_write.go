package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"observer-patch/internal/exit"
)

const lockHeader = `# Inputs of every build, by SHA-256 and size in bytes. Written by "observer-patch lock", which only
# adds: a known file whose digest changes is an error. A use may begin with "+" and another
# use of the same release, which stands for that list. Order counts in class paths.
`

// Add records a file. One that is known with another digest is an error of exit code 4.
func (l *Lock) Add(c Coordinates, d Digest) error {
	known, ok := l.Digests[c]
	if ok && known != d {
		return exit.With(exit.Proof, fmt.Errorf("%s: versions.lock has SHA-256 %s (%d bytes), found %s (%d bytes); published files do not change: find out which is right before touching the lock",
			c, known.SHA256, known.Size, d.SHA256, d.Size))
	}
	l.Digests[c] = d
	return nil
}

// Put records a use of a release. A use that is known with other files is an error of exit
// code 4, since every build with it would change.
func (l *Lock) Put(version, use string, list []Coordinates) error {
	r := l.Releases[version]
	if known, ok := r.Uses[use]; ok && !slices.Equal(known, list) {
		return exit.With(exit.Proof, fmt.Errorf("release %s, use %s: the lock has %d files, Maven now gives %d: only there %v, only here %v",
			version, use, len(known), len(list), without(known, list), without(list, known)))
	}
	r.Uses[use] = list
	return nil
}

func without(a, b []Coordinates) []Coordinates {
	return slices.DeleteFunc(slices.Clone(a), func(c Coordinates) bool { return slices.Contains(b, c) })
}

// Format gives the lock's file form: sorted, one file a line.
func (l *Lock) Format() []byte {
	var b strings.Builder
	b.WriteString(lockHeader)
	b.WriteString(section("releases", len(l.Releases)))
	for _, version := range sortedVersions(l.Releases) {
		l.Releases[version].format(&b, version)
	}
	b.WriteString(section("artifacts", len(l.Digests)))
	lines := make([]string, 0, len(l.Digests))
	for c, d := range l.Digests {
		lines = append(lines, fmt.Sprintf("  %s: %s %d\n", c, d.SHA256, d.Size))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
	return []byte(b.String())
}

func section(name string, entries int) string {
	if entries == 0 {
		return name + ": {}\n"
	}
	return name + ":\n"
}

func (r *LockedRelease) format(b *strings.Builder, version string) {
	fmt.Fprintf(b, "  %s:\n", version)
	if r.Commit != "" {
		fmt.Fprintf(b, "    commit: %q\n", r.Commit)
	}
	if r.CommitPrefix != "" {
		fmt.Fprintf(b, "    commit-prefix: %q\n", r.CommitPrefix)
	}
	fmt.Fprintf(b, "    javac: %d\n    scalac:%s\n", r.Javac, empty(len(r.Scalac)))
	for _, scala := range slices.Sorted(maps.Keys(r.Scalac)) {
		fmt.Fprintf(b, "      %q: %s\n", scala, r.Scalac[scala])
	}
	fmt.Fprintf(b, "    uses:%s\n", empty(len(r.Uses)))
	for _, use := range r.useNames() {
		list := r.Uses[use]
		fmt.Fprintf(b, "      %s:%s\n", use, strings.Replace(empty(len(list)), "{}", "[]", 1))
		if other := r.beginning(use); other != "" {
			fmt.Fprintf(b, "      - +%s\n", other)
			list = list[len(r.Uses[other]):]
		}
		for _, c := range list {
			fmt.Fprintf(b, "      - %s\n", c)
		}
	}
}

func empty(entries int) string {
	if entries == 0 {
		return " {}"
	}
	return ""
}

// beginning gives the class path that the use begins with, empty when there is none. Class
// paths are always written out, so that an abbreviation never leads to another.
func (r *LockedRelease) beginning(use string) string {
	if strings.HasPrefix(use, "classpath/") {
		return ""
	}
	list, best := r.Uses[use], ""
	for _, other := range r.useNames() {
		head := r.Uses[other]
		if strings.HasPrefix(other, "classpath/") && len(head) > 1 && len(head) <= len(list) && slices.Equal(head, list[:len(head)]) {
			best = other
		}
	}
	return best
}

// sortedVersions gives the keys in the order of versions; ReadLock lets only versions in.
func sortedVersions(releases map[string]*LockedRelease) []string {
	return slices.SortedFunc(maps.Keys(releases), func(a, b string) int {
		return semver.MustParse(a).Compare(semver.MustParse(b))
	})
}
