package release

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"observer-patch/internal/exit"
)

// All is the word that selects every release, mode or Scala version.
const All = "all"

var exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// Select gives the releases that match any of the expressions, oldest first and each once.
// An expression is a version (4.1.0), a semver range (">=3.6.2 <4.2", "3.9", "~4.1"), or
// all. One that matches nothing is an error of exit code 2 that names the nearest release.
func (m *Matrix) Select(exprs ...string) ([]Release, error) {
	if len(exprs) == 0 {
		return nil, exit.With(exit.Usage, fmt.Errorf("no release named; expected a version such as %s, a range, or %s", m.newest(), All))
	}
	chosen := make([]bool, len(m.Releases))
	for _, expr := range exprs {
		matches, err := m.matcher(strings.TrimSpace(expr))
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		for i, r := range m.Releases {
			chosen[i] = chosen[i] || matches(r.Version)
		}
	}
	var out []Release
	for i, r := range m.Releases {
		if chosen[i] {
			out = append(out, r)
		}
	}
	return out, nil
}

// matcher gives the test for one expression, which at least one release passes.
func (m *Matrix) matcher(expr string) (func(*semver.Version) bool, error) {
	if expr == All {
		return func(*semver.Version) bool { return true }, nil
	}
	if exactVersion.MatchString(expr) {
		v, err := semver.NewVersion(expr)
		if err != nil {
			return nil, fmt.Errorf("release %q: %w", expr, err)
		}
		if !slices.ContainsFunc(m.Releases, func(r Release) bool { return r.Version.Equal(v) }) {
			return nil, fmt.Errorf("unknown release %s; the nearest is %s, known are %s", v, m.nearest(v), m.versions())
		}
		return v.Equal, nil
	}
	c, err := semver.NewConstraint(expr)
	if err != nil {
		return nil, fmt.Errorf("release %q is no version, range or %q: %w; for example %s or \">=3.6.2 <4.2\"", expr, All, err, m.newest())
	}
	if !slices.ContainsFunc(m.Releases, func(r Release) bool { return c.Check(r.Version) }) {
		return nil, m.noneIn(expr)
	}
	return c.Check, nil
}

var numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+){0,2}`)

func (m *Matrix) noneIn(expr string) error {
	hint := m.newest()
	if v, err := semver.NewVersion(numbers.FindString(expr)); err == nil {
		hint = m.nearest(v)
	}
	return fmt.Errorf("no release is in the range %q; the nearest is %s, known are %s", expr, hint, m.versions())
}

func (m *Matrix) newest() Release { return m.Releases[len(m.Releases)-1] }

// nearest gives the neighbour of v in the order of versions that shares more of its
// leading numbers, the older one when both share the same.
func (m *Matrix) nearest(v *semver.Version) Release {
	i := slices.IndexFunc(m.Releases, func(r Release) bool { return r.Version.GreaterThan(v) })
	switch i {
	case -1:
		return m.newest()
	case 0:
		return m.Releases[0]
	}
	older, newer := m.Releases[i-1], m.Releases[i]
	if shared(newer.Version, v) > shared(older.Version, v) {
		return newer
	}
	return older
}

// shared counts the leading numbers that two versions have in common, without the last.
func shared(a, b *semver.Version) int {
	switch {
	case a.Major() != b.Major():
		return 0
	case a.Minor() != b.Minor():
		return 1
	}
	return 2
}

func (m *Matrix) versions() string {
	list := make([]string, len(m.Releases))
	for i, r := range m.Releases {
		list[i] = r.String()
	}
	return strings.Join(list, ", ")
}

// Target gives the one target of a version, which must be exact. Empty mode, scala and set
// take the release's first mode, its first Scala version and DefaultSet.
func (m *Matrix) Target(version, mode, scala, set string) (Target, error) {
	list, err := m.Targets([]string{version}, mode, scala, set)
	if err != nil {
		return Target{}, err
	}
	if len(list) != 1 {
		return Target{}, exit.With(exit.Usage, fmt.Errorf("release %q, mode %q, scala %q stand for %d targets; expected one", version, mode, scala, len(list)))
	}
	return list[0], nil
}

// Targets gives the targets of the selected releases, in the order of releases, modes and
// Scala versions. Mode, scala and set are as for Target; all takes everything each release
// has. A choice that one of the releases lacks is an error of exit code 2.
func (m *Matrix) Targets(exprs []string, mode, scala, set string) ([]Target, error) {
	releases, err := m.Select(exprs...)
	if err != nil {
		return nil, err
	}
	if set == "" {
		set = string(DefaultSet)
	}
	sets, err := choose("set", set, []Set{Base, Full})
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	var out []Target
	for _, r := range releases {
		modes, merr := choose("mode", mode, r.Modes)
		scalas, serr := choose("Scala version", scala, r.Scala)
		if err := errors.Join(merr, serr); err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("release %s: %w", r, err))
		}
		for _, md := range modes {
			for _, sc := range scalas {
				for _, st := range sets {
					out = append(out, Target{Release: r, Mode: md, Scala: sc, Set: st})
				}
			}
		}
	}
	return out, nil
}

// choose gives the valid values that want stands for: the first for an empty word.
func choose[T ~string](what, want string, valid []T) ([]T, error) {
	switch {
	case want == "":
		return valid[:1], nil
	case want == All:
		return valid, nil
	case slices.Contains(valid, T(want)):
		return []T{T(want)}, nil
	}
	return nil, fmt.Errorf("%s %q is not there; the nearest is %s, to be had: %s", what, want, nearestWord(want, valid), join(valid))
}

// nearestWord gives the valid word that shares the longest beginning with want, the first
// (the default) when none does.
func nearestWord[T ~string](want string, valid []T) T {
	best, length := valid[0], 0
	for _, v := range valid {
		n := 0
		for n < len(v) && n < len(want) && strings.EqualFold(string(v[n]), want[n:n+1]) {
			n++
		}
		if n > length {
			best, length = v, n
		}
	}
	return best
}
