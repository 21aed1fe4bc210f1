package maven

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/release"
)

// Published asks mvn which versions of the core artifact there are, all of them in the order of
// the repository's own list. above is a version that exists: mvn resolves the range from there
// on, which makes it fetch the list anew.
func (r *Resolver) Published(ctx context.Context, above string) (versions []string, err error) {
	if r.Offline {
		return nil, errors.New("--offline: the published versions cannot be asked for")
	}
	err = r.Cache.Stage(ctx, func(dir string) error {
		versions, err = r.Client.versions(ctx, dir, jar(kafka, "kafka_2.13", "["+above+",)"))
		return err
	})
	return versions, err
}

// versions has mvn resolve a range and reads the list that it kept beside the file it chose.
func (c Client) versions(ctx context.Context, dir string, within Coordinates) ([]string, error) {
	p := newProject("published")
	p.Dependencies = []dependency{{Group: within.Group, Artifact: within.Artifact, Version: within.Version, Type: "jar", Exclusions: []exclusion{{"*", "*"}}}}
	if err := writePOM(dir, p); err != nil {
		return nil, err
	}
	if err := c.run(ctx, dir, nil, "-U", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"); err != nil {
		return nil, fmt.Errorf("ask mvn for the versions of %s:%s: %w", within.Group, within.Artifact, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "classpath.txt"))
	if err != nil {
		return nil, fmt.Errorf("mvn ended well, but wrote no class path: %w", err)
	}
	folder := filepath.Dir(filepath.Dir(strings.TrimSpace(string(text))))
	lists, err := filepath.Glob(filepath.Join(folder, "maven-metadata-*.xml"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			return nil, err
		}
		found, err := readVersions(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l, err)
		}
		for _, v := range found {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("mvn resolved %s:%s, but left no list of versions in %s; expected maven-metadata-*.xml", within.Group, within.Artifact, folder)
	}
	return out, nil
}

func readVersions(text []byte) ([]string, error) {
	var m struct {
		Versions []string `xml:"versioning>versions>version"`
	}
	err := xml.Unmarshal(text, &m)
	return m.Versions, err
}

// NewSources brings the sources of a release that no lock has yet, and gives them as they came:
// their digests are computed, not compared. What the local Maven repository has is what mvn
// would give, and is taken without starting it.
func (r *Resolver) NewSources(ctx context.Context, rel release.Release) ([]Artifact, error) {
	r = r.withRepositories()
	files := []Coordinates{classified("kafka_2.13", rel.String(), "sources"), classified("kafka-metadata", rel.String(), "sources")}
	lock := &release.Lock{Digests: map[Coordinates]release.Digest{}, Releases: map[string]*release.LockedRelease{}}
	var missing []Coordinates
	for _, f := range files {
		if !r.inRepository(f, lock) {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		if r.Offline {
			return nil, fmt.Errorf("--offline: %s is not in the local Maven repository", missing[0])
		}
		if err := r.Cache.Stage(ctx, func(dir string) error { return r.digests(ctx, dir, missing, lock) }); err != nil {
			return nil, err
		}
	}
	locked := make([]release.LockedArtifact, len(files))
	for i, f := range files {
		locked[i] = release.LockedArtifact{Coordinates: f, SHA256: lock.Digests[f].SHA256, Size: lock.Digests[f].Size}
	}
	return r.Resolve(ctx, locked)
}

// inRepository looks for a whole file in the local repositories and adds its digest.
func (r *Resolver) inRepository(c Coordinates, lock *release.Lock) bool {
	for _, repository := range r.Repositories {
		if d, err := digest(filepath.Join(repository, filepath.FromSlash(c.Path()))); err == nil {
			lock.Digests[c] = d
			return true
		}
	}
	return false
}
