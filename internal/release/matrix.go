package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/goccy/go-yaml"
)

// Matrix is versions.yaml: the supported releases, oldest first.
type Matrix struct{ Releases []Release }

type matrixFile struct {
	Releases []releaseEntry `yaml:"releases"`
}

type releaseEntry struct {
	Version      string   `yaml:"version"`
	Tag          string   `yaml:"tag"`
	Modes        []Mode   `yaml:"modes"`
	Scala        []string `yaml:"scala"`
	ClassRelease int      `yaml:"class-release"`
	Sources      []string `yaml:"sources"`
	Status       string   `yaml:"status"`
}

// ReadMatrix parses versions.yaml; name is what errors call the file. Unknown fields,
// missing ones, duplicate versions and a wrong order are refused with the line.
func ReadMatrix(data []byte, name string) (*Matrix, error) {
	var f matrixFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(f.Releases) == 0 {
		return nil, fmt.Errorf("%s: no releases; expected a list 'releases'", name)
	}
	m := &Matrix{}
	for i, e := range f.Releases {
		r, err := e.release()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: release %d: %w", name, entryLine(data, i), i+1, err)
		}
		if i > 0 && !m.Releases[i-1].Version.LessThan(r.Version) {
			return nil, fmt.Errorf("%s:%d: release %s stands after %s: expected every version once, the oldest first",
				name, entryLine(data, i), r, m.Releases[i-1])
		}
		m.Releases = append(m.Releases, r)
	}
	return m, nil
}

// entryLine gives the line of releases[i], or 0 when the file has no such place.
func entryLine(data []byte, i int) int {
	path, err := yaml.PathString(fmt.Sprintf("$.releases[%d]", i))
	if err != nil {
		return 0
	}
	node, err := path.ReadNode(strings.NewReader(string(data)))
	if err != nil || node == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

func (e releaseEntry) release() (Release, error) {
	v, err := semver.StrictNewVersion(e.Version)
	if err != nil {
		return Release{}, fmt.Errorf("version %q: expected three numbers such as 4.1.0", e.Version)
	}
	if e.Tag == "" {
		return Release{}, fmt.Errorf("%s has no tag", v)
	}
	if err := checkList("modes", e.Modes, []Mode{Both, ZK, KRaft}); err != nil {
		return Release{}, fmt.Errorf("%s: %w", v, err)
	}
	if err := checkList("scala", e.Scala, []string{"2.13", "2.12"}); err != nil {
		return Release{}, fmt.Errorf("%s: %w", v, err)
	}
	if err := checkList("sources", e.Sources, []string{"maven", "git"}); err != nil {
		return Release{}, fmt.Errorf("%s: %w", v, err)
	}
	if e.ClassRelease != 8 && e.ClassRelease != 17 {
		return Release{}, fmt.Errorf("%s: class-release %d: expected 8 or 17", v, e.ClassRelease)
	}
	if e.Status == "" {
		return Release{}, fmt.Errorf("%s has no status", v)
	}
	return Release{Version: v, Tag: e.Tag, Modes: e.Modes, Scala: e.Scala,
		ClassRelease: e.ClassRelease, Sources: e.Sources, Status: e.Status}, nil
}

func checkList[T ~string](what string, have, valid []T) error {
	if len(have) == 0 {
		return fmt.Errorf("no %s; expected some of %s", what, join(valid))
	}
	for i, h := range have {
		if !slices.Contains(valid, h) {
			return fmt.Errorf("%s: %q is none of %s", what, h, join(valid))
		}
		if slices.Contains(have[:i], h) {
			return fmt.Errorf("%s: %q stands twice", what, h)
		}
	}
	return nil
}

func join[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}
