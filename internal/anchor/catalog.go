// Package anchor reads where hooks go (anchors/*.yaml) and what they say (patches/), and
// finds those places in upstream's files: each exactly once, or a miss that says what happened.
package anchor

import (
	"sort"
	"strings"

	"observer-patch/internal/release"
)

// Op is what a hook does at its place.
type Op string

const (
	// Before puts the section before the first anchored line.
	Before Op = "before"
	// After puts the section after the last anchored line.
	After Op = "after"
	// Replace wraps a fragment of an anchored line.
	Replace Op = "replace"
	// New is a whole file that upstream does not have.
	New Op = "new"
)

// Gap is the word that stands in the body of a replacement for the text that it wraps.
const Gap = "UPSTREAM"

// Lines is an anchor: the beginnings of consecutive trimmed lines.
type Lines []string

// String gives the anchor as people write it, lines joined by " / ".
func (l Lines) String() string { return strings.Join(l, lineBreak) }

// lineBreak stands between the lines of an anchor in messages.
const lineBreak = " / "

// Place is one spot of a hook, for some releases.
type Place struct {
	// Releases limits the place; the zero Range matches every release.
	Releases Range
	// In are the enclosing headers, outermost first.
	In []Lines
	Op Op
	// Anchor names the lines at which the hook works.
	Anchor Lines
	// Fragment is the text that a replacement wraps; empty for the other ops.
	Fragment string
	// Bodies maps a set to the body's text, which starts in column 0 and ends without a newline.
	Bodies map[release.Set]string
	// Pos is where the catalog says so: "anchors/Partition.yaml:12".
	Pos string
}

// String gives the place for people: in "a" in "b" before "c".
func (p Place) String() string {
	var b strings.Builder
	for _, h := range p.In {
		b.WriteString(`in "` + h.String() + `" `)
	}
	b.WriteString(string(p.Op) + ` "` + p.Anchor.String() + `"`)
	if p.Op == Replace {
		b.WriteString(` text "` + p.Fragment + `"`)
	}
	return b.String()
}

// Hook is one entry of the catalog. Entries with the same ID are one hook at several spots.
type Hook struct {
	ID     string
	Sets   []release.Set
	Modes  []release.Mode
	Absent Range
	Places []Place
	// Pos is where the catalog has the entry.
	Pos string
}

// NewFile is a whole file that a hook adds.
type NewFile struct {
	ID   string
	Text []byte
	Pos  string
}

// FileHooks are the hooks of one upstream file for one target.
type FileHooks struct {
	// Path is upstream's path.
	Path string
	// New is set for a file that upstream does not have; Hooks is empty then.
	New   *NewFile
	Hooks []Hook
}

// entry is one document of the catalog.
type entry struct {
	path     string
	releases Range
	sets     []release.Set  // of a new file
	modes    []release.Mode // of a new file
	new      *NewFile
	hooks    []Hook
}

func (e entry) applies(t release.Target) bool {
	return e.releases.Matches(t.Release.Version) && (e.new == nil || selected(e.sets, e.modes, t))
}

// Catalog is everything that anchors/ and patches/ say.
type Catalog struct{ entries []entry }

// For gives the hooks of a target by upstream's path, sorted by path; the hooks of a file
// keep the catalog's order. A hook that is absent from the release is left out.
func (c *Catalog) For(t release.Target) []FileHooks {
	byPath := map[string]*FileHooks{}
	for _, e := range c.entries {
		if !e.applies(t) {
			continue
		}
		var hooks []Hook
		for _, h := range e.hooks {
			if selected(h.Sets, h.Modes, t) && !h.absent(t) {
				hooks = append(hooks, h)
			}
		}
		if e.new == nil && len(hooks) == 0 {
			continue
		}
		f := byPath[e.path]
		if f == nil {
			f = &FileHooks{Path: e.path}
			byPath[e.path] = f
		}
		if e.new != nil {
			f.New = e.new
		}
		f.Hooks = append(f.Hooks, hooks...)
	}
	out := make([]FileHooks, 0, len(byPath))
	for _, f := range byPath {
		out = append(out, *f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func (h Hook) absent(t release.Target) bool {
	return h.Absent.constraints != nil && h.Absent.Matches(t.Release.Version)
}

// Place gives the first place for the target's release.
func (h Hook) Place(t release.Target) (Place, bool) {
	for _, p := range h.Places {
		if p.Releases.Matches(t.Release.Version) {
			return p, true
		}
	}
	return Place{}, false
}

func selected(sets []release.Set, modes []release.Mode, t release.Target) bool {
	inSet := false
	for _, s := range sets {
		inSet = inSet || s == t.Set
	}
	for _, m := range modes {
		if inSet && t.Mode.Includes(m) {
			return true
		}
	}
	return false
}
