package maven

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Project asks for everything that some files need at run time, by Maven's own mediation.
type Project struct {
	// Name is a folder name, unique in one call.
	Name  string
	Roots []Coordinates
	// Exclude are group:artifact pairs that are left out with all they need.
	Exclude []string
}

type exclusion struct {
	Group    string `xml:"groupId"`
	Artifact string `xml:"artifactId"`
}

type dependency struct {
	Group      string      `xml:"groupId"`
	Artifact   string      `xml:"artifactId"`
	Version    string      `xml:"version"`
	Type       string      `xml:"type"`
	Classifier string      `xml:"classifier,omitempty"`
	Exclusions []exclusion `xml:"exclusions>exclusion,omitempty"`
}

type project struct {
	XMLName      xml.Name     `xml:"project"`
	ModelVersion string       `xml:"modelVersion"`
	Group        string       `xml:"groupId"`
	Artifact     string       `xml:"artifactId"`
	Version      string       `xml:"version"`
	Packaging    string       `xml:"packaging"`
	Modules      []string     `xml:"modules>module,omitempty"`
	Dependencies []dependency `xml:"dependencies>dependency,omitempty"`
}

func newProject(name string) project {
	return project{ModelVersion: "4.0.0", Group: "observer-patch", Artifact: name, Version: "1", Packaging: "pom"}
}

// Closures gives, by project name, the files of each project in class path order. All
// projects are resolved in one run of mvn, each as a module of its own, so that versions are
// never mediated across them.
func (c Client) Closures(ctx context.Context, dir string, projects []Project, line func(string)) (map[string][]Coordinates, error) {
	parent := newProject("closures")
	for _, p := range projects {
		module := newProject(p.Name)
		for _, root := range p.Roots {
			d := dependency{Group: root.Group, Artifact: root.Artifact, Version: root.Version, Type: root.Extension, Classifier: root.Classifier}
			for _, e := range p.Exclude {
				group, artifact, _ := strings.Cut(e, ":")
				d.Exclusions = append(d.Exclusions, exclusion{group, artifact})
			}
			module.Dependencies = append(module.Dependencies, d)
		}
		if err := writePOM(filepath.Join(dir, p.Name), module); err != nil {
			return nil, err
		}
		parent.Modules = append(parent.Modules, p.Name)
	}
	if err := writePOM(dir, parent); err != nil {
		return nil, err
	}
	// The property stands for the local repository, so that what follows is its layout.
	err := c.run(ctx, dir, line, "--fail-at-end", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt",
		"-Dmdep.localRepoProperty=@", "-Dmdep.pathSeparator=|", "-Dmdep.fileSeparator=/")
	if err != nil {
		return nil, fmt.Errorf("ask mvn what %d projects need: %w", len(projects), err)
	}
	out := map[string][]Coordinates{}
	for _, p := range projects {
		text, err := os.ReadFile(filepath.Join(dir, p.Name, "classpath.txt"))
		if err != nil {
			return nil, fmt.Errorf("mvn ended well, but wrote no class path of %s: %w", p.Name, err)
		}
		for _, path := range strings.Split(strings.TrimSpace(string(text)), "|") {
			found, err := parsePath(strings.TrimPrefix(path, "@/"))
			if err != nil {
				return nil, fmt.Errorf("class path of %s: %w", p.Name, err)
			}
			out[p.Name] = append(out[p.Name], found)
		}
	}
	return out, nil
}

func writePOM(dir string, p any) error {
	text, err := xml.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "pom.xml"), text, 0o644)
}

// parsePath reads a path below a Maven repository, <group>/<artifact>/<version>/<file>.
func parsePath(path string) (Coordinates, error) {
	parts := strings.Split(path, "/")
	n := len(parts)
	if n < 4 {
		return Coordinates{}, fmt.Errorf("path %q: expected group/artifact/version/file below the local repository", path)
	}
	c := Coordinates{Group: strings.Join(parts[:n-3], "."), Artifact: parts[n-3], Version: parts[n-2]}
	rest, ok := strings.CutPrefix(parts[n-1], c.Artifact+"-"+c.Version)
	if !ok {
		return Coordinates{}, fmt.Errorf("path %q: expected a file that begins with %s-%s", path, c.Artifact, c.Version)
	}
	classifier, extension, _ := strings.Cut(rest, ".")
	c.Classifier, c.Extension = strings.TrimPrefix(classifier, "-"), extension
	if c.Path() != path {
		return Coordinates{}, fmt.Errorf("path %q: read as %s, which would lie in %s", path, c, c.Path())
	}
	return c, nil
}
