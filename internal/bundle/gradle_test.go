package bundle

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

const project = "testdata/project"

// debianGradle is what ci/prerequisites installs. It is not the version that upstream's build
// needs: the project is ours, in Java, with upstream's module layout.
const debianGradle = "gradle"

// projectGradle runs Debian's Gradle, which is to fetch nothing, on JVMs that start fast.
func projectGradle(t *testing.T, jdk toolchain.JDK) build.Gradle {
	return build.Gradle{Program: debianGradle, JDK: jdk, Scala: "2.13", Offline: true, Limit: 15 * time.Minute,
		Log: filepath.Join(t.TempDir(), "gradle.log"), Environ: append(os.Environ(), "GRADLE_OPTS=-XX:TieredStopAtLevel=1")}
}

// released builds the project without the patch by its own build: that is its release.
func released(t *testing.T, jdk toolchain.JDK) []maven.Artifact {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.MkdirAll(tree, 0o755))
	require.NoError(t, patch.Tree{}.Write(t.Context(), os.DirFS(project), tree))
	names := map[string]string{}
	for _, module := range []string{"clients", "metadata", "storage", "core"} {
		names[module] = maven.Coordinates{Artifact: build.ArtifactOf(module, "2.13"), Version: "4.1.0", Extension: "jar"}.File()
	}
	built, err := projectGradle(t, jdk).Run(t.Context(), tree, names, "0123456789abcdef")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"commitId": "0123456789abcdef", "version": "4.1.0"}, built.Properties)
	assert.Equal(t, []string{":clients:jar", ":core:jar", ":metadata:jar", ":storage:jar"}, built.Tasks)
	assert.NotEmpty(t, built.Version)
	var list []maven.Artifact
	for _, module := range []string{"clients", "metadata", "storage", "core"} {
		sum, err := digestFile(built.Jars[module])
		require.NoError(t, err)
		list = append(list, maven.Artifact{SHA256: sum, Path: built.Jars[module],
			Coordinates: maven.Coordinates{Group: "org.apache.kafka", Artifact: build.ArtifactOf(module, "2.13"), Version: "4.1.0", Extension: "jar"}})
	}
	return list
}

// projectSpec is a build of the patched project by its own build.
func projectSpec(t *testing.T) Spec {
	t.Helper()
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	diff, err := os.ReadFile(filepath.Join(project, "change.diff"))
	require.NoError(t, err)
	tree, err := patch.ApplyDiff(os.DirFS(project), diff)
	require.NoError(t, err)
	return Spec{
		Target: release.Target{Release: release.Release{Version: semver.MustParse("4.1.0"), Scala: []string{"2.13"}, ClassRelease: 11}, Mode: release.KRaft, Scala: "2.13", Set: release.Full},
		Tree:   tree, Upstream: os.DirFS(project), Foreign: true, Diff: diff, Origin: "dir " + project,
		Inputs: Artifacts{Classpath: released(t, jdk), Scala: "2.13.16"}, JDK: jdk, CacheDir: t.TempDir(), Tool: "test", Getenv: os.Getenv,
		Backend: WholeBuild,
	}
}

// ownJVM has Gradle fork a JVM for its options, which leaves the process group.
var ownJVM = []string{"-Xmx200m", "-XX:TieredStopAtLevel=1"}

// The three runs of the real Gradle, of which the first makes the release that the others change.
func TestAProjectsOwnBuild(t *testing.T) {
	s := projectSpec(t)
	t.Run("its jars are proven", func(t *testing.T) { itsJarsAreProven(t, s) })
	t.Run("cancelled", func(t *testing.T) { cancelledInATask(t, s) })
}

func itsJarsAreProven(t *testing.T, s Spec) {
	s.Gradle = projectGradle(t, s.JDK)
	s.Gradle.JVMOptions = ownJVM
	var said []string
	s.Progress = func(what string) { said = append(said, what) }
	s.Gradle.Progress = s.Progress
	dir := filepath.Join(t.TempDir(), "dist", "x")
	b, err := Make(t.Context(), s, dir)
	require.NoError(t, err)
	require.NotNil(t, b.Verdict)
	assert.Contains(t, strings.Join(said, "\n"), "gradle :core:compileJava (task ")

	statement, err := Read(dir)
	require.NoError(t, err)
	d := statement.Predicate.BuildDefinition
	assert.Equal(t, "urn:observer-patch:build:gradle:1", d.BuildType)
	assert.Equal(t, WholeBuild, d.Internal.Backend)
	run := d.Internal.Gradle
	assert.Contains(t, run.Scope, "no test, no check and no distribution")
	assert.Equal(t, []string{":core:jar", ":metadata:jar", ":storage:jar"}, run.Tasks)
	assert.Equal(t, []string{"kafka-storage-4.1.0.jar"}, run.Unchanged)
	assert.False(t, run.Wrapper)
	assert.Equal(t, ownJVM, run.JVM)
	// The version properties do not claim the commit of the release.
	assert.Equal(t, "patched-"+d.Internal.HooksSHA256[:8], run.CommitID)
	assert.Equal(t, map[string]string{"commitId": run.CommitID, "version": "4.1.0"}, run.VersionProperties)

	// Both jars are Gradle's own, with one entry more, and nothing else lies in the bundle.
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var jars []string
	for _, e := range entries {
		assert.False(t, e.IsDir(), e.Name())
		if filepath.Ext(e.Name()) == ".jar" {
			jars = append(jars, e.Name())
		}
	}
	assert.Equal(t, []string{"kafka-metadata-4.1.0.jar", "kafka_2.13-4.1.0.jar"}, jars)
	c, err := jar.Compare(s.artifact("metadata").Path, filepath.Join(dir, jars[0]))
	require.NoError(t, err)
	assert.Equal(t, []string{"fixture/Elections.class"}, c.Replaced)
	assert.Subset(t, c.Added, []string{PropertiesEntry, "fixture/Observers.class"})
	notice, err := os.ReadFile(filepath.Join(dir, NoticeFile))
	require.NoError(t, err)
	assert.Contains(t, string(notice), "built anew from its source by its own build")
	log, err := os.ReadFile(s.Gradle.Log)
	require.NoError(t, err)
	assert.Contains(t, string(log), "BUILD SUCCESSFUL")
	assert.Contains(t, string(log), "Gradle "+run.Version)

	// The proof can be made again from the bundle, which no Gradle has to run for.
	again := s
	again.Gradle = build.Gradle{}
	v, err := Verify(t.Context(), again, dir)
	require.NoError(t, err)
	assert.Equal(t, b.Verdict.Level, v.Level)
	text, err := json.Marshal(v.Modules)
	require.NoError(t, err)
	assert.Contains(t, string(text), "metadata/src/main/java/fixture/Elections.java#1", "the changed methods have owners")
}

// meddled is a tree with more in it than the patch says.
type meddled struct {
	name, from, to string
}

func (m meddled) into(t *testing.T, s *Spec) {
	dir := filepath.Join(t.TempDir(), "meddled")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, patch.Tree{}.Write(t.Context(), os.DirFS(project), dir))
	path := filepath.Join(dir, filepath.FromSlash(m.name))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), m.from)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o644))
	s.Upstream = os.DirFS(dir)
}

func TestAPartialTreeIsRefused(t *testing.T) {
	s := Spec{Backend: WholeBuild, Upstream: os.DirFS(t.TempDir()), Origin: "sources jars", CacheDir: t.TempDir()}
	dir := filepath.Join(t.TempDir(), "x")
	_, err := Make(t.Context(), s, dir)
	require.ErrorContains(t, err, "sources jars is a partial tree: it has no settings.gradle")
	assert.Equal(t, exit.Refused, exit.Code(err))
	assert.NoDirExists(t, dir)
}

// In the middle of a task of the forked JVM: no process is left, and no file but the log.
func cancelledInATask(t *testing.T, s Spec) {
	s.Gradle = projectGradle(t, s.JDK)
	s.Gradle.JVMOptions = ownJVM
	wait := filepath.Join(t.TempDir(), "wait")
	m := meddled{"gradle.properties", "version=4.1.0\n", "version=4.1.0\nwaitFor=" + wait + "\n"}
	m.into(t, &s)
	ctx, cancel := context.WithCancel(t.Context())
	parent := t.TempDir()
	mark := "OBSERVER_PATCH_TEST=" + filepath.Base(wait) + filepath.Base(parent)
	s.Gradle.Environ = append(s.Gradle.Environ, mark)
	ended := make(chan error, 1)
	go func() { _, err := Make(ctx, s, filepath.Join(parent, "x")); ended <- err }()
	require.Eventually(t, func() bool { _, err := os.Stat(wait + ".there"); return err == nil }, 10*time.Minute, 20*time.Millisecond)
	during := marked(t, mark)
	assert.Greater(t, len(during), 1, "a daemon beside the client")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	assert.Empty(t, marked(t, mark))
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// marked gives the processes with a variable in their environment.
func marked(t *testing.T, variable string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	var found []string
	for _, f := range files {
		text, _ := os.ReadFile(f) // gone, or another's
		if strings.Contains("\x00"+string(text), "\x00"+variable+"\x00") && f != "/proc/self/environ" {
			found = append(found, f)
		}
	}
	return found
}
