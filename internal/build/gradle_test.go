package build_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/exit"
	"observer-patch/internal/toolchain"
)

// wrapped is a tree whose wrapper is a script: what it does is its own build step. Its version
// it says by itself.
type wrapped struct {
	t     *testing.T
	tree  string
	build build.Gradle
	said  []string
}

var jarNames = map[string]string{"metadata": "kafka-metadata-4.1.0.jar", "storage": "kafka-storage-4.1.0.jar", "core": "kafka_2.13-4.1.0.jar"}

// makesJars is a build step that leaves a jar in each module's place.
const makesJars = `for j in metadata/kafka-metadata storage/kafka-storage core/kafka_2.13; do
  mkdir -p ${j%/*}/build/libs; echo built > ${j%/*}/build/libs/${j#*/}-4.1.0.jar; done
`

func wrapper(t *testing.T, step string) *wrapped {
	w := &wrapped{t: t, tree: t.TempDir()}
	w.build = build.Gradle{JDK: toolchain.JDK{Home: "/jdk"}, Scala: "2.13", Log: filepath.Join(t.TempDir(), "logs", "x.log"), Environ: os.Environ(),
		Progress: func(what string) { w.said = append(w.said, what) }}
	w.write("gradlew", "case \"$*\" in *--version*) echo; echo 'Gradle 8.99'; exit 0;; esac\n"+step, 0o755)
	return w
}

func (w *wrapped) write(name, script string, mode os.FileMode) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.tree, name), []byte("#!/bin/sh\n"+script), mode))
}

func (w *wrapped) run(ctx context.Context) (build.GradleBuilt, error) {
	return w.build.Run(ctx, w.tree, jarNames, build.CommitID(strings.Repeat("ab", 32)))
}

func (w *wrapped) log() string {
	text, err := os.ReadFile(w.build.Log)
	require.NoError(w.t, err)
	return string(text)
}

// gone wants the process that a step wrote its id of to have ended.
func (w *wrapped) gone(file string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.tree, file))
	require.NoError(w.t, err)
	var pid int
	_, err = fmt.Sscan(string(text), &pid)
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 5*time.Millisecond, "process %d still runs", pid)
}

func TestTheTreesWrapperIsRunWithWhatWasAsked(t *testing.T) {
	w := wrapper(t, makesJars+`
mkdir -p clients/build/kafka; printf 'commitId=x\nversion=4.1.0\n' > clients/build/kafka/kafka-version.properties
printf 'arg %s\n' "$@"; echo "env $JAVA_HOME $LC_ALL $TZ ${JAVA_TOOL_OPTIONS-none} ${KEPT-none}"
echo '> Task :metadata:compileJava'; echo ':core:jar UP-TO-DATE'; echo 'warning: :no:task here'`)
	w.build.Offline, w.build.JVMOptions = true, []string{"-Xmx4g", "-Xss4m"}
	w.build.Environ = []string{"PATH=" + os.Getenv("PATH"), "JAVA_TOOL_OPTIONS=-Xint", "JAVA_HOME=/other", "KEPT=yes"}
	b, err := w.run(t.Context())
	require.NoError(t, err)
	assert.True(t, b.Wrapper)
	assert.Equal(t, "8.99", b.Version)
	assert.Equal(t, "patched-abababab", b.CommitID)
	assert.Len(t, b.CommitID, 16, "upstream's build cuts after 16 characters")
	assert.Equal(t, map[string]string{"commitId": "x", "version": "4.1.0"}, b.Properties)
	for module, name := range jarNames {
		assert.Equal(t, filepath.Join(w.tree, module, "build", "libs", name), b.Jars[module])
	}
	for _, want := range []string{"arg --no-daemon\n", "arg --console=plain\n", "-PscalaVersion=2.13\n", "-PcommitId=patched-abababab\n", "--offline\n", "-Dorg.gradle.jvmargs=-Xmx4g -Xss4m\n",
		"arg :core:jar\narg :metadata:jar\narg :storage:jar\n", "env /jdk C.UTF-8 UTC none yes\n"} {
		assert.Contains(t, w.log(), want)
	}
	assert.Equal(t, []string{"gradle :metadata:compileJava (task 1)", "gradle :core:jar (task 2)"}, w.said)
	assert.Zero(t, b.Left)
}

func TestAGivenGradleIsRunInsteadOfTheWrapper(t *testing.T) {
	w := wrapper(t, "exit 1")
	w.write("other", makesJars, 0o755)
	t.Chdir(w.tree)
	w.build.Program = "./other" // relative to where the user is
	b, err := w.run(t.Context())
	require.NoError(t, err)
	assert.False(t, b.Wrapper)
	assert.Empty(t, b.Version, "it did not say it")
	w.build.Program = "no-such-gradle"
	_, err = w.run(t.Context())
	require.ErrorContains(t, err, "start no-such-gradle")
}

func TestAWrapperThatFailsIsToldWithTheEndOfItsOutput(t *testing.T) {
	w := wrapper(t, `i=0; while [ $i -lt 100 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 7`)
	_, err := w.run(t.Context())
	require.ErrorContains(t, err, "gradlew ended with code 7; its output is in "+w.build.Log)
	require.ErrorContains(t, err, "line 99")
	assert.NotContains(t, err.Error(), "line 80\n")
	assert.Contains(t, w.log(), "line 0\n")
}

func TestAWrapperThatHangsIsEndedByTheLimit(t *testing.T) {
	w := wrapper(t, `trap '' TERM; echo $$ > pid; while :; do sleep 1; done`)
	w.build.Limit = 3 * time.Second
	began := time.Now()
	_, err := w.run(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "took longer than the limit of 3s and was ended, its output is in "+w.build.Log)
	assert.Less(t, time.Since(began), time.Minute)
	w.gone("pid")
}

func TestAWrapperThatHangsIsEndedByCancelling(t *testing.T) {
	w := wrapper(t, `setsid sh -c 'echo $$ > daemon.new; mv daemon.new daemon; while :; do sleep 1; done' & echo $$ > pid; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := w.run(ctx); ended <- err }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(w.tree, "daemon")); return err == nil }, time.Minute, 5*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	w.gone("pid")
	w.gone("daemon")
}

func TestADaemonThatAWrapperLeavesIsEnded(t *testing.T) {
	w := wrapper(t, makesJars+`
setsid sh -c 'trap "" TERM; echo $$ > daemon.new; mv daemon.new daemon; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 &
while [ ! -f daemon ]; do sleep 0.01; done`)
	b, err := w.run(t.Context())
	require.NoError(t, err)
	assert.Positive(t, b.Left)
	w.gone("daemon")
}

func TestMegabytesOfOutputGoToTheLogWhole(t *testing.T) {
	w := wrapper(t, makesJars+`awk 'BEGIN { for (i = 0; i < 400000; i++) print "some line of an output that does not end, number " i }'; printf 'no newline at the end'`)
	_, err := w.run(t.Context())
	require.NoError(t, err)
	log := w.log()
	assert.Greater(t, len(log), 20<<20)
	assert.Equal(t, 400000, strings.Count(log, "some line"))
	assert.True(t, strings.HasSuffix(log, "number 399999\nno newline at the end"))
}

func TestWhatCannotBeRunIsSaidBefore(t *testing.T) {
	w := wrapper(t, "")
	require.NoError(t, os.Chmod(filepath.Join(w.tree, "gradlew"), 0o644))
	_, err := w.run(t.Context())
	require.ErrorContains(t, err, "gradlew may not be executed: chmod +x")
	require.NoError(t, os.Remove(filepath.Join(w.tree, "gradlew")))
	_, err = w.run(t.Context())
	require.ErrorContains(t, err, "no wrapper gradlew; name upstream's Gradle with --gradle")
	w = wrapper(t, "")
	w.build.Log = filepath.Join(w.tree, "gradlew", "x.log")
	_, err = w.run(t.Context())
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

// A jar that lies in the tree already does not pass for one that was built.
func TestABuildThatGivesNoJarIsRefused(t *testing.T) {
	w := wrapper(t, `case "$*" in *:core:jar*) rm -f core/build/libs/none;; esac`)
	libs := filepath.Join(w.tree, "core", "build", "libs")
	require.NoError(t, os.MkdirAll(libs, 0o755))
	for _, name := range []string{jarNames["core"], "kafka_2.13-4.1.0-SNAPSHOT.jar"} {
		require.NoError(t, os.WriteFile(filepath.Join(libs, name), nil, 0o644))
	}
	_, err := w.build.Run(t.Context(), w.tree, map[string]string{"core": jarNames["core"]}, "x")
	require.ErrorContains(t, err, "core/build/libs has no kafka_2.13-4.1.0.jar, found kafka_2.13-4.1.0-SNAPSHOT.jar; is the tree that of the release")
	assert.Equal(t, exit.Refused, exit.Code(err))
}
