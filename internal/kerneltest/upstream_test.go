//go:build upstream

package kerneltest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/patch"
	"observer-patch/internal/toolchain"
)

var (
	// record keeps the results of runs, so that releases, modules and sides can run one at a time:
	// -run 'Upstreams/^4.1.0$/core/own', later .../core/patched, and at the end with -table
	// 'Upstreams/.*/.*/compare'.
	record = flag.String("record", "", "keep the results of upstream's tests in this folder")
	table  = flag.String("table", "", "count what is in the -record folder into upstream-tests.md and .json of this folder")
)

// The two sides of the comparison.
const (
	ownSide     = "own"
	patchedSide = "patched"
)

// upstreamClasses are upstream's own tests of what the hooks touch, by the module in whose
// test jar they are. What of it a release has is run.
var upstreamClasses = map[string]*regexp.Regexp{
	"metadata": regexp.MustCompile(`^org/apache/kafka/(controller/(ReplicationControlManager|ClusterControlManager|PartitionChangeBuilder|PartitionReassignment)\w*Test|metadata/placement/\w+Test)\.class$`),
	"core": regexp.MustCompile(`^kafka/(cluster|controller|server|admin)/` +
		`(Partition\w*|Replica([A-Z]\w*)?|IsrExpiration\w*|AlterPartition\w*|ControllerIntegration\w*|AdminRackAware)Test\.class$`),
}

// upstreamRun is what one side gave for one module of a release.
type upstreamRun struct {
	Release string `json:"release"`
	Module  string `json:"module"`
	Side    string `json:"side"`
	JDK     string `json:"jdk"`
	// Diff is the SHA-256 of the patch, as in outputs.lock; empty on the release's own side.
	Diff string `json:"diff,omitempty"`
	// Classes has the tests of each class with their outcome: passed, failed or skipped.
	Classes map[string][]upstreamCase `json:"classes"`
}

type upstreamCase struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	// Cause is what a failed test said; it is not compared.
	Cause string `json:"cause,omitempty"`
}

func TestUpstreamsOwnTestsSeeNoDifferenceWhileThereIsNoFile(t *testing.T) {
	dir := *record
	if dir == "" {
		dir = t.TempDir()
	}
	for _, version := range withTestJars {
		t.Run(version, func(t *testing.T) {
			for _, module := range []string{"metadata", "core"} {
				t.Run(module, func(t *testing.T) {
					for _, side := range []string{ownSide, patchedSide} {
						t.Run(side, func(t *testing.T) { runUpstream(t, version, module, side).write(t, dir) })
					}
					t.Run("compare", func(t *testing.T) {
						own, patched := readRun(t, dir, version, module, ownSide), readRun(t, dir, version, module, patchedSide)
						require.Equal(t, own.outcomes(), patched.outcomes())
						require.Greater(t, len(own.outcomes()), 100, "the release's own tests were not found")
					})
				})
			}
		})
	}
	if *table != "" {
		writeTable(t, dir, *table)
	}
}

// runUpstream runs the tests of a module on the release's own jars, or with the patched ones
// in their places.
func runUpstream(t *testing.T, version, module, side string) upstreamRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
	defer cancel()
	k := &kernel{version: version, dir: t.TempDir()}
	run := upstreamRun{Release: version, Module: module, Side: side}
	if side == patchedSide {
		var modules []build.Module
		k, modules = overlay(ctx, t, version, "")
		run.Diff = diffOf(t, modules)
		for _, m := range modules {
			at := slices.Index(k.classPath, m.Jar.Path)
			require.GreaterOrEqual(t, at, 0, "%s is not on the class path", m.Jar.Path)
			k.classPath[at] = filepath.Join(k.dir, m.Name+".jar")
			_, err := jar.RewriteFile(k.classPath[at], m.Jar.Path, m.Changes)
			require.NoError(t, err)
		}
	} else {
		var err error
		k.jdk, err = toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
		require.NoError(t, err)
		for _, use := range []string{"classpath/2.13", "test"} {
			for _, a := range maventest.Resolve(ctx, t, version, use, nil) {
				k.classPath = append(k.classPath, a.Path)
			}
		}
	}
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", writesLog) {
		k.classPath = append(k.classPath, a.Path)
	}
	reports := filepath.Join(k.dir, "reports")
	k.jvm = []string{"-Djava.io.tmpdir=" + t.TempDir()}
	for _, opened := range []string{"java.io", "java.nio", "java.nio.file", "java.util", "java.util.concurrent", "java.util.regex", "java.util.stream", "java.text", "java.time"} {
		k.jvm = append(k.jvm, "--add-opens=java.base/"+opened+"=ALL-UNNAMED") // as upstream's build does
	}
	output, _ := k.launch(ctx, t, []string{"--details=none", "--reports-dir=" + reports}, testClasses(ctx, t, version, module)...)
	run.JDK, run.Classes = k.jdk.Version, readReports(t, reports)
	require.NotEmpty(t, run.Classes, output)
	return run
}

// writesLog says what the tests of 3.x need that read what was logged. The test jars' own list has no logger.
func writesLog(c maven.Coordinates) bool { return strings.HasSuffix(c.Artifact, "reload4j") }

// diffOf gives the SHA-256 of the patch that modules were compiled from.
func diffOf(t *testing.T, modules []build.Module) string {
	t.Helper()
	var tree patch.Tree
	for _, m := range modules {
		tree.Files = append(tree.Files, m.Files...)
	}
	slices.SortFunc(tree.Files, func(a, b patch.File) int { return strings.Compare(a.Path, b.Path) })
	text, err := tree.Diff()
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// testClasses gives the names of a module's test classes that are run.
func testClasses(ctx context.Context, t *testing.T, version, module string) []string {
	t.Helper()
	var names []string
	for _, a := range maventest.Resolve(ctx, t, version, "test", func(c maven.Coordinates) bool {
		return c.Classifier == "test" && c.Artifact == build.ArtifactOf(module, "2.13")
	}) {
		j, err := jar.Open(a.Path)
		require.NoError(t, err)
		for _, entry := range j.Names() {
			if upstreamClasses[module].MatchString(entry) {
				names = append(names, strings.ReplaceAll(strings.TrimSuffix(entry, ".class"), "/", "."))
			}
		}
		require.NoError(t, j.Close())
	}
	require.NotEmpty(t, names)
	slices.Sort(names)
	return names
}

// readReports reads JUnit's reports (the XML form of Ant's junitreport task).
func readReports(t *testing.T, dir string) map[string][]upstreamCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "TEST-*.xml"))
	require.NoError(t, err)
	classes := map[string][]upstreamCase{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		type problem struct {
			Type    string `xml:"type,attr"`
			Message string `xml:"message,attr"`
		}
		var suite struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Class   string    `xml:"classname,attr"`
				Failure *problem  `xml:"failure"`
				Error   *problem  `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		}
		require.NoError(t, xml.Unmarshal(text, &suite), file)
		for _, c := range suite.Cases {
			found := upstreamCase{Name: c.Name, Outcome: "passed"}
			for _, p := range []*problem{c.Failure, c.Error} {
				if p != nil {
					first, _, _ := strings.Cut(p.Message, "\n")
					found.Outcome, found.Cause = "failed", p.Type+": "+first
				}
			}
			if c.Skipped != nil {
				found.Outcome = "skipped"
			}
			classes[c.Class] = append(classes[c.Class], found)
		}
	}
	return classes
}

// outcomes gives every test with its outcome, sorted.
func (r upstreamRun) outcomes() []string {
	var out []string
	for class, cases := range r.Classes {
		for _, c := range cases {
			out = append(out, class+" "+c.Name+" "+c.Outcome)
		}
	}
	slices.Sort(out)
	return out
}

func runFile(dir, version, module, side string) string {
	return filepath.Join(dir, strings.Join([]string{version, module, side}, "-")+".json")
}

func (r upstreamRun) write(t *testing.T, dir string) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(runFile(dir, r.Release, r.Module, r.Side), text, 0o644))
}

func readRun(t *testing.T, dir, version, module, side string) upstreamRun {
	t.Helper()
	text, err := os.ReadFile(runFile(dir, version, module, side))
	require.NoError(t, err, "run the side %s first", side)
	var r upstreamRun
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}
