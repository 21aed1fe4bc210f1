// Package kerneltest runs the Java tests of hook set full: patched classes of a release, compiled
// with upstream's own compiler options, held to a model of the rules and driven through the
// controller's requests. The tests of upstream's published test jars lend their set-up.
package kerneltest_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/anchor"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
	"observer-patch/internal/toolchain"
)

// withTestJars are the releases whose test jars are locked.
var withTestJars = []string{"3.7.1", "3.9.2", "4.1.0", "4.3.1"}

const metadataSources = "metadata/src/main/java/"

// kernel is the patched metadata module of one release, ready to be tested.
type kernel struct {
	version string
	jdk     toolchain.JDK
	dir     string
	// classPath begins with the patched classes.
	classPath []string
	// env is added to the environment of the tests, jvm to the options of their JVM.
	env, jvm []string
}

// targetOf gives a release's target with Scala 2.13, in its first mode.
func targetOf(t *testing.T, version string, set release.Set) release.Target {
	t.Helper()
	text, err := fs.ReadFile(observerpatch.Data(), "versions.yaml")
	require.NoError(t, err)
	matrix, err := release.ReadMatrix(text, "versions.yaml")
	require.NoError(t, err)
	target, err := matrix.Target(version, "", "2.13", string(set))
	require.NoError(t, err)
	return target
}

// newKernel patches and compiles the metadata module of a release, warnings being errors. The
// hooks in without are left out.
func newKernel(ctx context.Context, t *testing.T, version string, set release.Set, without ...string) *kernel {
	t.Helper()
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)

	k := &kernel{version: version, jdk: jdk, dir: t.TempDir()}
	for _, a := range maventest.Resolve(ctx, t, version, "classpath/2.13", nil) {
		k.classPath = append(k.classPath, a.Path)
	}
	testsOf := version
	if _, known := maventest.Lock(t).Releases[version].Uses["test"]; !known {
		testsOf = withTestJars[0] // for JUnit alone
	}
	for _, a := range maventest.Resolve(ctx, t, testsOf, "test", nil) {
		if testsOf == version || strings.HasPrefix(a.Coordinates.Artifact, "junit-platform-console") {
			k.classPath = append(k.classPath, a.Path)
		}
	}

	sources, err := source.Maven(maventest.Resolve(ctx, t, version, "source", nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	target := targetOf(t, version, set)
	files := patched(t, sources.FS, target, filepath.Join(k.dir, "sources"), without)
	classes := filepath.Join(k.dir, "classes")
	classRelease := "17"
	if target.Release.ClassRelease == 8 {
		classRelease = "8"
	}
	k.javac(ctx, t, classes, files, "-g", "--release", classRelease, "-Xlint:all", "-Xlint:-serial", "-Xlint:-try", "-Xlint:-options", "-Xlint:-path", "-Werror")
	k.classPath = append([]string{classes}, k.classPath...)
	return k
}

// patched writes the patched files of the metadata module and gives their paths.
func patched(t *testing.T, upstream fs.FS, target release.Target, dir string, without []string) []string {
	t.Helper()
	catalog, err := anchor.ReadCatalog(observerpatch.Data())
	require.NoError(t, err)
	var out []string
	left := map[string]bool{}
	for _, f := range catalog.For(target) {
		if !strings.HasPrefix(f.Path, metadataSources) {
			continue
		}
		text := []byte(nil)
		if f.New != nil {
			text = f.New.Text
		} else {
			before, err := fs.ReadFile(upstream, f.Path)
			require.NoError(t, err)
			var hooks []anchor.Hook
			for _, h := range f.Hooks {
				if slices.Contains(without, h.ID) {
					left[h.ID] = true
					continue
				}
				hooks = append(hooks, h)
			}
			located, misses := anchor.Locate(f.Path, before, hooks, target)
			require.Empty(t, misses)
			text, _, err = patch.Apply(before, located)
			require.NoError(t, err)
		}
		name := filepath.Join(dir, strings.TrimPrefix(f.Path, metadataSources))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, text, 0o644))
		out = append(out, name)
	}
	require.Len(t, left, len(without), "hooks %v are not all in the metadata module of %s", without, target)
	return out
}

func (k *kernel) javac(ctx context.Context, t *testing.T, into string, files []string, options ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(into, 0o755))
	args := append([]string{"-J-XX:TieredStopAtLevel=1", "-encoding", "UTF-8", "-proc:none", "-cp", k.path(), "-d", into}, options...)
	out, err := exec.CommandContext(ctx, k.jdk.Tool("javac"), append(args, files...)...).CombinedOutput()
	require.NoError(t, err, "%s: %s", k.version, out)
	require.Empty(t, string(out), k.version)
}

func (k *kernel) path() string { return strings.Join(k.classPath, string(os.PathListSeparator)) }

// compileTests compiles folders below testdata/java and puts them on the class path.
func (k *kernel) compileTests(ctx context.Context, t *testing.T, folders ...string) {
	t.Helper()
	var files []string
	for _, f := range folders {
		found, err := filepath.Glob(filepath.Join("testdata/java", f, "org/apache/kafka/controller/*.java"))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	tests := filepath.Join(k.dir, "tests")
	k.javac(ctx, t, tests, files)
	k.classPath = append([]string{tests}, k.classPath...)
}

// junit runs test classes in a JVM of their own and gives the report and whether all passed.
// There is no identity file when they start. A class without a package is one of ours; Class#method is one of its tests.
func (k *kernel) junit(ctx context.Context, t *testing.T, classes ...string) (report string, passed bool) {
	t.Helper()
	return k.launch(ctx, t, []string{"--details=tree", "--details-theme=ascii"}, classes...)
}

// launch runs JUnit's console with further options.
func (k *kernel) launch(ctx context.Context, t *testing.T, options []string, classes ...string) (output string, passed bool) {
	t.Helper()
	ids := filepath.Join(t.TempDir(), "observer.ids")
	args := append(slices.Clone(k.jvm), "-XX:+UseSerialGC", "-Dkafka.version="+k.version, "-cp", k.path(),
		"org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors", "--fail-if-no-tests")
	args = append(args, options...)
	for _, class := range classes {
		if !strings.Contains(class, ".") {
			class = "org.apache.kafka.controller." + class
		}
		if strings.Contains(class, "#") {
			args = append(args, "-m", class)
		} else {
			args = append(args, "-c", class)
		}
	}
	cmd := exec.CommandContext(ctx, k.jdk.Tool("java"), args...)
	cmd.Dir = t.TempDir() // upstream's tests write into the working folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "KAFKA_OBSERVER_IDS_FILE=" + ids, "KAFKA_OBSERVER_REFRESH_MS=100"}
	cmd.Env = append(cmd.Env, k.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 { // 1: tests failed
		require.NoError(t, err, "%s: JUnit did not come to its end: %s", k.version, out.String())
	}
	return out.String(), err == nil
}

// ruleClasses need nothing but the release's own jars.
var ruleClasses = []string{"ObserverRulesTest", "ElectionTableTest", "ReassignmentTest", "PlacementTest"}

func TestTheRulesHoldInEveryFormThatUpstreamHad(t *testing.T) {
	for _, version := range []string{"3.6.2", "3.7.1", "3.9.2", "4.0.2", "4.1.0", "4.3.1"} {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			k := newKernel(ctx, t, version, release.Full)
			if !slices.Contains(withTestJars, version) {
				k.compileTests(ctx, t, "ids", "rules")
				report, passed := k.junit(ctx, t, ruleClasses...)
				require.True(t, passed, report)
				return
			}
			k.compileTests(ctx, t, "ids", "rules", "controller")
			report, passed := k.junit(ctx, t, append([]string{"ControllerTest"}, ruleClasses...)...)
			require.True(t, passed, report)
			report, passed = k.junit(ctx, t, "StartTest")
			require.True(t, passed, report)
		})
	}
}

// result is one line of a report: the test's name, how long it took, its outcome.
var result = regexp.MustCompile(`(?m)^[ |+'-]*(.+?)(?: \d+ ms)? (\[(?:OK|X|S|A)\].*)$`)

// failures gives the test methods of a report that failed, sorted.
func failures(report string) []string {
	var out []string
	for _, m := range result.FindAllStringSubmatch(report, -1) {
		if method, ok := strings.CutSuffix(m[1], "()"); ok && strings.HasPrefix(m[2], "[X]") {
			out = append(out, method)
		}
	}
	slices.Sort(out)
	return out
}

// TestSetBaseFallsIntoTheTraps is why there is a set full: the same requests, answered by set base.
func TestSetBaseFallsIntoTheTraps(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	k := newKernel(ctx, t, "4.1.0", release.Base)
	k.compileTests(ctx, t, "ids", "controller")
	report, passed := k.junit(ctx, t, "ControllerTest")
	require.False(t, passed)
	require.Equal(t, []string{
		"aCancelledReassignmentUnderAMarkedLeaderKeepsTheLeader",
		"aPartitionOfMarkedReplicasOnlyIsAsUpstream",
		"aPreferredElectionMovesLeadershipOffAMarkedPreferredLeader",
		"aReassignmentDoesNotWaitForTheObserver",
		"addingAndRemovingAnObserverCompletesWhenItIsSubmitted",
		"anObserverIsRefusedInAProposedIsrUnlessItIsStillInTheCommittedOne",
		"creationIsRefusedWhileAllSyncReplicasAreDown",
		"markingTheLeaderNeverTakesThePartitionOffline",
		"placementLeavesMarkedBrokersOut",
		"theLastSyncReplicaIsElectableWhenItReturns",
	}, failures(report), report)
}
