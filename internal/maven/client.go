package maven

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"observer-patch/internal/toolchain"
)

// Client is the mvn program, with the user's own settings, mirrors and credentials.
type Client struct {
	// Path is the program, empty for mvn on PATH.
	Path string
	// Timeout bounds one run; 0 means 30 minutes.
	Timeout time.Duration
}

// Refused is what mvn said when it did not bring a file.
type Refused struct {
	// Reason is mvn's own line.
	Reason string
	Err    error
}

// Error gives mvn's line.
func (r *Refused) Error() string { return "mvn: " + r.Reason }

// Unwrap gives the error of the process.
func (r *Refused) Unwrap() error { return r.Err }

// run starts mvn in batch mode in dir, which has a pom.xml.
func (c Client) run(ctx context.Context, dir string, line func(string), args ...string) error {
	path, timeout := c.Path, c.Timeout
	if path == "" {
		found, err := exec.LookPath("mvn")
		if err != nil {
			return fmt.Errorf("mvn is not on PATH (%w): install Maven 3.6 or later (on Debian: apt-get install maven), or use --offline with a filled cache", err)
		}
		path = found
	}
	if timeout == 0 {
		timeout = 30 * time.Minute
	}
	r, err := toolchain.Run(ctx, toolchain.Command{
		Path: path, Args: append([]string{"-B", "-f", filepath.Join(dir, "pom.xml")}, args...),
		Dir: dir, Timeout: timeout, Line: line,
	})
	var failure *toolchain.Failure
	if errors.As(err, &failure) {
		return &Refused{Reason: reason(string(r.Stdout), failure), Err: err}
	}
	return err
}

var (
	color  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	prefix = regexp.MustCompile(`^\[ERROR\] `)
)

// reason gives the first error line of mvn's output, without colour, or the failure itself
// when mvn wrote none.
func reason(stdout string, failure error) string {
	for text := range strings.Lines(color.ReplaceAllString(stdout, "")) {
		text = strings.TrimSpace(text)
		if prefix.MatchString(text) {
			return strings.TrimSpace(strings.TrimSuffix(prefix.ReplaceAllString(text, ""), "-> [Help 1]"))
		}
	}
	return failure.Error()
}

type artifactItem struct {
	Group      string `xml:"groupId"`
	Artifact   string `xml:"artifactId"`
	Version    string `xml:"version"`
	Type       string `xml:"type"`
	Classifier string `xml:"classifier,omitempty"`
	Output     string `xml:"outputDirectory"`
	Name       string `xml:"destFileName"`
}

type copyProject struct {
	XMLName      xml.Name       `xml:"project"`
	ModelVersion string         `xml:"modelVersion"`
	Group        string         `xml:"groupId"`
	Artifact     string         `xml:"artifactId"`
	Version      string         `xml:"version"`
	Packaging    string         `xml:"packaging"`
	PluginGroup  string         `xml:"build>plugins>plugin>groupId"`
	PluginName   string         `xml:"build>plugins>plugin>artifactId"`
	Items        []artifactItem `xml:"build>plugins>plugin>configuration>artifactItems>artifactItem"`
}

// Copy brings exactly the named files, without what they depend on, into dir, and gives
// their paths in the same order. With fresh, mvn works on an empty local repository in dir
// instead of the user's, so that nothing damaged is copied from there.
func (c Client) Copy(ctx context.Context, dir string, files []Coordinates, fresh bool, line func(string)) ([]string, error) {
	p := copyProject{ModelVersion: "4.0.0", Group: "observer-patch", Artifact: "inputs", Version: "1", Packaging: "pom",
		PluginGroup: "org.apache.maven.plugins", PluginName: "maven-dependency-plugin"}
	paths := make([]string, len(files))
	out := filepath.Join(dir, "files")
	for i, f := range files {
		name := fmt.Sprintf("%d-%s", i, f.File())
		paths[i] = filepath.Join(out, name)
		p.Items = append(p.Items, artifactItem{Group: f.Group, Artifact: f.Artifact, Version: f.Version,
			Type: f.Extension, Classifier: f.Classifier, Output: out, Name: name})
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if err := writePOM(dir, p); err != nil {
		return nil, err
	}
	args := []string{"dependency:copy"}
	if fresh {
		args = append(args, "-Dmaven.repo.local="+filepath.Join(dir, "repository"))
	}
	if err := c.run(ctx, dir, line, args...); err != nil {
		return nil, err
	}
	return paths, nil
}
