package sentinel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"observer-patch/internal/anchor"
	"observer-patch/internal/drift"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
)

// Scout tries newcomers.
type Scout struct {
	Matrix  *release.Matrix
	Catalog *anchor.Catalog
	// Known gives the sources of a release of the matrix; the caller closes the tree.
	Known func(context.Context, release.Release) (*source.Tree, error)
	// New gives a newcomer's sources; it may correct the newcomer's version and origin.
	New func(context.Context, *Newcomer) (*source.Tree, error)
	// Checker gives what takes a newcomer through the steps, with that tree as its source, and
	// the lines that versions.lock would get, nil when nothing was locked.
	Checker func(context.Context, *Newcomer, release.Release, *source.Tree) (*Checker, []string, error)
}

// Try takes a newcomer through the steps in every mode, Scala version and set, and explains
// what does not fit. What cannot be tried is said in the verdict; an error is of this run.
func (s *Scout) Try(ctx context.Context, n *Newcomer) error {
	tree, err := s.New(ctx, n)
	if err != nil {
		n.Status, n.Verdict = Failed, "not tried: "+firstLine(err.Error())
		return ctx.Err()
	}
	if tree.Close != nil {
		defer tree.Close()
	}
	n.Origin = tree.Origin
	as, like, err := Like(s.Matrix, *n)
	if err != nil {
		return err
	}
	n.Against = like.String()
	one := release.Matrix{Releases: []release.Release{as}}
	targets, err := one.Targets([]string{release.All}, release.All, release.All, release.All)
	if err != nil {
		return err
	}
	c, lines, err := s.Checker(ctx, n, as, tree)
	if err != nil {
		n.Status, n.Verdict = Failed, "not tried: "+firstLine(err.Error())
		return ctx.Err()
	}
	n.LockLines = len(lines)
	if err := c.Release(ctx, targets, func(r Result) error { n.Targets = append(n.Targets, r); return nil }); err != nil {
		return err
	}
	if err := s.explain(ctx, n, as, targets, tree.FS); err != nil {
		return err
	}
	n.Judge()
	if n.Branch == "" {
		n.Entry = Entry(as)
	}
	return nil
}

// explain judges each missing place once, beside the last release that has it.
func (s *Scout) explain(ctx context.Context, n *Newcomer, as release.Release, targets []release.Target, tree fs.FS) error {
	seen := map[string]bool{}
	for i, r := range n.Targets {
		for _, m := range r.Misses {
			if seen[m.Pos+string(m.Cause)] {
				continue
			}
			seen[m.Pos+string(m.Cause)] = true
			e, err := Explain(ctx, s.Matrix, s.Catalog, s.Known, tree, targets[i], m)
			if err != nil {
				return err
			}
			n.Drifts = append(n.Drifts, e.Drift())
		}
	}
	return nil
}

// Explained is a miss with everything that can be said of it.
type Explained struct {
	drift.Change
	// LastGood is the release that has the place still, empty when none has.
	LastGood string
	// Elsewhere are other files that may have it.
	Elsewhere []string
	// Suggestions are places that the new source has exactly once.
	Suggestions []drift.Suggestion

	version string
}

// Explain looks for the last release before the target's that has the hook, holds the two
// sources against each other and looks for new anchors.
func Explain(ctx context.Context, m *release.Matrix, c *anchor.Catalog, known func(context.Context, release.Release) (*source.Tree, error), tree fs.FS, t release.Target, miss anchor.Miss) (Explained, error) {
	out := Explained{Change: drift.Change{Miss: miss}, version: t.Release.String()}
	h, ok := hookOf(c, t, miss)
	if !ok {
		return out, nil
	}
	text, err := fs.ReadFile(tree, miss.Path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return out, err
	}
	now := drift.Source{Target: t, Text: text}
	var others []drift.Source
	place, _ := h.Place(t)
	for _, r := range slices.Backward(m.Releases) {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if r.Version.Equal(t.Release.Version) || r.Version.GreaterThan(t.Release.Version) || !slices.Contains(r.Modes, t.Mode) || !slices.Contains(r.Scala, t.Scala) {
			continue
		}
		old := release.Target{Release: r, Mode: t.Mode, Scala: t.Scala, Set: t.Set}
		if _, has := hookOf(c, old, miss); !has {
			continue
		}
		src, found, err := sourceOf(ctx, known, old, miss.Path, h)
		if err != nil {
			return out, err
		}
		if !found {
			continue
		}
		if out.LastGood == "" {
			out.LastGood = r.String()
			if !gone {
				out.Change = drift.Explain(miss, h, src, now)
			}
		}
		if p, ok := h.Place(old); ok && p.Pos == place.Pos {
			others = append(others, src)
		}
	}
	if gone || out.Miss.Cause == anchor.Deleted {
		if out.Elsewhere, err = drift.Elsewhere(tree, miss.Path, h, t); err != nil {
			return out, err
		}
	}
	if out.LastGood != "" && !gone {
		out.Suggestions = out.Suggest(h, now, others)
	}
	return out, nil
}

// hookOf finds the catalog's entry that a miss is about.
func hookOf(c *anchor.Catalog, t release.Target, miss anchor.Miss) (anchor.Hook, bool) {
	for _, f := range c.For(t) {
		if f.Path != miss.Path {
			continue
		}
		for _, h := range f.Hooks {
			if h.Pos == miss.Pos || slices.ContainsFunc(h.Places, func(p anchor.Place) bool { return p.Pos == miss.Pos }) {
				return h, true
			}
		}
	}
	return anchor.Hook{}, false
}

func sourceOf(ctx context.Context, known func(context.Context, release.Release) (*source.Tree, error), t release.Target, path string, h anchor.Hook) (src drift.Source, found bool, err error) {
	tree, err := known(ctx, t.Release)
	if err != nil {
		return src, false, err
	}
	if tree.Close != nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
	}
	text, err := fs.ReadFile(tree.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return src, false, nil
	}
	if err != nil {
		return src, false, err
	}
	_, misses := anchor.Locate(path, text, []anchor.Hook{h}, t)
	return drift.Source{Target: t, Text: text}, len(misses) == 0, nil
}

// Drift gives what a report says: positions, causes and excerpts, no text of upstream's.
func (e Explained) Drift() Drift {
	d := Drift{Miss: e.Miss, LastGood: e.LastGood, Member: anchor.Excerpt(e.Member), Elsewhere: e.Elsewhere}
	for line := range bytes.Lines(e.Diff) {
		switch {
		case bytes.HasPrefix(line, []byte("---")), bytes.HasPrefix(line, []byte("+++")):
		case line[0] == '-':
			d.Removed++
		case line[0] == '+':
			d.Added++
		}
	}
	for _, s := range e.Suggestions {
		d.Suggestions = append(d.Suggestions, e.YAML(s))
	}
	return d
}

// YAML gives a suggestion as an entry of places:, with where it would be.
func (e Explained) YAML(s drift.Suggestion) string {
	note := fmt.Sprintf("  # line %d of %s, %d from where the old anchor would be; once in every release that used the old place\n", s.Line, e.version, s.Off)
	if !s.All {
		note = fmt.Sprintf("  # line %d of %s, %d from where the old anchor would be; not once in %s\n", s.Line, e.version, s.Off, strings.Join(s.Lacking, ", "))
	}
	return note + s.YAML(e.version)
}

var gradleVersion = regexp.MustCompile(`(?m)^version=([0-9]+\.[0-9]+\.[0-9]+)(-SNAPSHOT)?\s*$`)

// VersionOf reads the version that a whole tree will have when it is released.
func VersionOf(tree fs.FS) (string, error) {
	text, err := fs.ReadFile(tree, "gradle.properties")
	if err != nil {
		return "", fmt.Errorf("the tree's version: %w", err)
	}
	m := gradleVersion.FindSubmatch(text)
	if m == nil {
		return "", errors.New("gradle.properties: expected a line version=<three numbers>, perhaps with -SNAPSHOT")
	}
	if _, err := semver.StrictNewVersion(string(m[1])); err != nil {
		return "", err
	}
	return string(m[1]), nil
}
