package sentinel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

// Newcomer is a release, release candidate or branch of upstream that the matrix does not have,
// and how the newest rules fare with it.
type Newcomer struct {
	// Name is the version, or the branch's name.
	Name string `json:"name"`
	// Version is what its files say, e.g. 4.4.0; a branch's is that of the release it leads to.
	Version string `json:"version"`
	// Tag, Branch and Commit are set for what is in git, Published for what is on Maven.
	Tag       string `json:"tag,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Commit    string `json:"commit,omitempty"`
	Published bool   `json:"published"`
	// GitOnly tells that no sources jars are published, so that the tag was taken.
	GitOnly bool `json:"gitOnly,omitempty"`
	// Origin says where the tried sources came from.
	Origin string `json:"origin,omitempty"`
	// Verdict is one sentence that begins with "would work as is", "anchors moved", "needs
	// work" or "not tried".
	Verdict string `json:"verdict"`
	Status  Status `json:"status"`
	// Against is the release whose rules and sources it was held against.
	Against string   `json:"against,omitempty"`
	Targets []Result `json:"targets,omitempty"`
	// Drifts are the places that do not fit, each once.
	Drifts []Drift `json:"drifts,omitempty"`
	// Entry is the entry proposed for versions.yaml.
	Entry string `json:"entry,omitempty"`
	// LockLines counts the lines proposed for versions.lock, LockFile names the file in the
	// report's folder that has the whole lock with them.
	LockLines int    `json:"lockLines,omitempty"`
	LockFile  string `json:"lockFile,omitempty"`
}

// Drift is a place that a newcomer does not have exactly once, judged beside the last release
// that has it.
type Drift struct {
	anchor.Miss
	// LastGood is that release, empty when there is none.
	LastGood string `json:"lastGood,omitempty"`
	// Member is the beginning of the enclosing method's first line, at most 60 characters.
	Member string `json:"member,omitempty"`
	// Changed counts the lines of the method that upstream took away and added.
	Removed int `json:"removed"`
	Added   int `json:"added"`
	// Elsewhere are other files that may have the place now.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Suggestions are entries of places: that match exactly once.
	Suggestions []string `json:"suggestions,omitempty"`
}

var versionTag = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)(-rc[0-9]+)?$`)

// NewTags gives the newest tag of each version that the matrix does not have and that is newer
// than its oldest: the release itself, or its last candidate while there is no release.
func NewTags(m *release.Matrix, tags map[string]string) []Newcomer {
	type found struct {
		v   *semver.Version
		tag string
	}
	best := map[string]found{}
	for tag, commit := range tags {
		parts := versionTag.FindStringSubmatch(tag)
		if parts == nil || commit == "" {
			continue
		}
		v, err := semver.NewVersion(strings.Replace(parts[1]+parts[2], "-rc", "-rc.", 1))
		if err != nil || unknown(m, parts[1]) == nil {
			continue
		}
		if b, ok := best[parts[1]]; !ok || v.GreaterThan(b.v) {
			best[parts[1]] = found{v, tag}
		}
	}
	var out []Newcomer
	for version, f := range best {
		out = append(out, Newcomer{Name: f.tag, Version: version, Tag: f.tag, Commit: tags[f.tag]})
	}
	sortNewcomers(out)
	return out
}

// NewVersions gives the published versions that the matrix does not have.
func NewVersions(m *release.Matrix, published []string) []Newcomer {
	var out []Newcomer
	for _, v := range published {
		if versionTag.MatchString(v) && unknown(m, v) != nil {
			out = append(out, Newcomer{Name: v, Version: v, Published: true})
		}
	}
	sortNewcomers(out)
	return out
}

// unknown gives the version when the matrix does not have it and has an older one, else nil.
func unknown(m *release.Matrix, version string) *semver.Version {
	v, err := semver.StrictNewVersion(version)
	if err != nil || v.LessThan(m.Releases[0].Version) || slices.ContainsFunc(m.Releases, func(r release.Release) bool { return r.Version.Equal(v) }) {
		return nil
	}
	return v
}

// Merge puts tags and published versions together: one newcomer for each version. A candidate's
// tag gives way to the published release.
func Merge(tags, published []Newcomer) []Newcomer {
	out := slices.Clone(published)
	for _, n := range tags {
		i := slices.IndexFunc(out, func(o Newcomer) bool { return o.Version == n.Version })
		switch {
		case i < 0:
			out = append(out, n)
		case n.Tag == n.Version || n.Tag == "v"+n.Version:
			out[i].Tag, out[i].Commit = n.Tag, n.Commit
		}
	}
	sortNewcomers(out)
	return out
}

func sortNewcomers(list []Newcomer) {
	slices.SortFunc(list, func(a, b Newcomer) int {
		return semver.MustParse(a.Version).Compare(semver.MustParse(b.Version))
	})
}

// Like gives the release that a newcomer is taken for: modes, Scala versions and class files
// are those of the newest release before it, or of the oldest after it.
func Like(m *release.Matrix, n Newcomer) (as, like release.Release, err error) {
	v, err := semver.StrictNewVersion(n.Version)
	if err != nil {
		return as, like, fmt.Errorf("version %q of %s: expected three numbers", n.Version, n.Name)
	}
	like = m.Releases[0]
	for _, r := range m.Releases {
		if r.Version.LessThan(v) || r.Version.Equal(v) {
			like = r
		}
	}
	as = like
	as.Version, as.Tag, as.Status = v, n.Tag, "proposed"
	if as.Tag == "" {
		as.Tag = n.Version
	}
	if n.GitOnly || !n.Published {
		as.Sources = []string{"git"}
	}
	return as, like, nil
}

// Entry gives a release's entry for versions.yaml.
func Entry(r release.Release) string {
	var b strings.Builder
	modes := make([]string, len(r.Modes))
	for i, m := range r.Modes {
		modes[i] = string(m)
	}
	scala := make([]string, len(r.Scala))
	for i, s := range r.Scala {
		scala[i] = fmt.Sprintf("%q", s)
	}
	fmt.Fprintf(&b, "- version: %s\n  tag: %s\n  modes: [%s]\n  scala: [%s]\n  class-release: %d\n  sources: [%s]\n  status: supported\n",
		r.Version, r.Tag, strings.Join(modes, ", "), strings.Join(scala, ", "), r.ClassRelease, strings.Join(r.Sources, ", "))
	return b.String()
}

// Judge sets verdict and status from what came of the targets. A branch's drift is a warning
// of what comes; it counts like a release's.
func (n *Newcomer) Judge() {
	n.Status = Passed
	built, proven := false, false
	var wrong string
	for _, t := range n.Targets {
		n.Status = worse(n.Status, t.Status())
		if s, ok := t.Step(Build); ok && s.Status == Passed {
			built = true
		}
		if s, ok := t.Step(Proof); ok && s.Status == Passed {
			proven = true
		}
		for _, s := range t.Steps {
			if wrong == "" && s.Status != Passed && s.Status != Skipped {
				wrong = fmt.Sprintf("%s of %s: %s", s.Step, t.Target, firstLine(s.Detail))
			}
		}
	}
	switch {
	case len(n.Targets) == 0:
		n.Status = Failed
	case len(n.Drifts) > 0:
		n.Verdict = n.driftVerdict()
	case n.Status != Passed && n.Status != Skipped:
		n.Verdict = "needs work: " + wrong
	case built && proven:
		n.Verdict = "would work as is: every anchor matches once, and it builds and is proven"
	case built:
		n.Verdict = "would work as is: every anchor matches once, and it builds; not proven"
	default:
		n.Verdict = "would work as is: every anchor matches once; not built"
	}
}

// driftVerdict tells moved anchors, which somebody can write anew, from code that is gone or
// that upstream adopted, where a hook has to be thought over.
func (n *Newcomer) driftVerdict() string {
	head := "anchors moved"
	var list []string
	for _, d := range n.Drifts {
		switch d.Cause {
		case anchor.Moved, anchor.Renamed, anchor.Duplicated:
		default:
			head = "needs work"
		}
		list = append(list, fmt.Sprintf("%s %s", d.Hook, d.Cause))
	}
	slices.Sort(list)
	return head + ": " + strings.Join(slices.Compact(list), ", ")
}

func (n Newcomer) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n**%s**\n\n", n.Name, plain(n.Verdict))
	if n.Origin != "" {
		fmt.Fprintf(b, "Tried from %s, held against %s.\n", plain(n.Origin), n.Against)
	}
	for _, d := range n.Drifts {
		fmt.Fprintf(b, "\n- hook `%s`, `%s`: **%s**", d.Hook, d.Path, d.Cause)
		if d.Wanted != "" {
			fmt.Fprintf(b, ", expected once, found %d: `%s`", d.Count, code(d.Wanted))
		}
		fmt.Fprintf(b, " (%s)\n", d.Pos)
		if d.Member != "" {
			fmt.Fprintf(b, "  In `%s`: %d lines gone, %d new since %s.\n", code(d.Member), d.Removed, d.Added, d.LastGood)
		}
		for _, c := range d.Candidates {
			fmt.Fprintf(b, "  Like it by %.0f %%: line %d, `%s`\n", c.Similarity*100, c.Line, code(c.Excerpt))
		}
		if len(d.Elsewhere) > 0 {
			fmt.Fprintf(b, "  Perhaps now in %s.\n", strings.Join(d.Elsewhere, ", "))
		}
		for _, s := range d.Suggestions {
			fmt.Fprintf(b, "\n  ```yaml\n%s  ```\n", s)
		}
	}
	if n.Entry != "" {
		fmt.Fprintf(b, "\nProposed for versions.yaml:\n\n```yaml\n%s```\n", n.Entry)
	}
	if n.LockLines > 0 {
		fmt.Fprintf(b, "\nProposed for versions.lock: %d lines, in %s.\n", n.LockLines, n.LockFile)
	}
}
