package observer_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/toolchain"
)

// nobody is who runs the nodes when the tests run as root, whom no permission stops.
const nobody = 65534

// jvm runs the compiled Java classes. Everything it needs lies in a folder that anybody can read.
type jvm struct {
	java      string
	classPath string
	// dir is for the test's own files.
	dir string
}

// newJVM compiles the new files of the metadata module and the harnesses with the class path of
// the oldest supported release, at its language level, warnings being errors.
func newJVM(ctx context.Context, t *testing.T) *jvm {
	t.Helper()
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "observer-jvm-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	classes := filepath.Join(dir, "classes")
	require.NoError(t, os.Mkdir(classes, 0o755))
	path := classes
	for i, jar := range jarsOf(ctx, t, "3.6.2") {
		content, err := os.ReadFile(jar)
		require.NoError(t, err)
		copied := filepath.Join(dir, fmt.Sprintf("%d.jar", i))
		require.NoError(t, os.WriteFile(copied, content, 0o644))
		path += string(os.PathListSeparator) + copied
	}
	args := []string{"--release", "8", "-Xlint:all", "-Xlint:-options", "-Werror", "-cp", path, "-d", classes}
	for _, glob := range []string{
		"../../patches/new/metadata/src/main/java/org/apache/kafka/controller/ObserverIds*.java",
		"../../patches/new/metadata/src/main/java/org/apache/kafka/controller/ObserverReplicas.java",
		"testdata/java/org/slf4j/impl/*.java", "testdata/java/org/apache/kafka/controller/*.java",
	} {
		files, err := filepath.Glob(glob)
		require.NoError(t, err)
		require.NotEmpty(t, files, glob)
		args = append(args, files...)
	}
	out, err := exec.CommandContext(ctx, jdk.Tool("javac"), args...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
	return &jvm{java: jdk.Tool("java"), classPath: path, dir: dir}
}

// command gives a JVM that runs a harness as somebody whom permissions stop.
func (j *jvm) command(ctx context.Context, harness string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, j.java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", j.classPath, "org.apache.kafka.controller."+harness)
	cmd.Dir = j.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	asNobody(cmd)
	return cmd
}

func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	}
}

// requireUnreadable makes sure that the process's user really cannot read the file.
func requireUnreadable(t *testing.T, path string) {
	t.Helper()
	cmd := exec.Command("cat", path)
	asNobody(cmd)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the user of the node can read %s", path)
	require.Contains(t, string(out), "ermission denied")
}

// steps runs the lines of StepHarness's input and gives the answers.
func (j *jvm) steps(ctx context.Context, t *testing.T, input []byte) []string {
	t.Helper()
	cmd := j.command(ctx, "StepHarness")
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.Empty(t, stderr.String())
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func hexOf(s []byte) string {
	if len(s) == 0 {
		return "-"
	}
	return hex.EncodeToString(s)
}

// node is a running LiveHarness.
type node struct {
	t     *testing.T
	stdin io.WriteCloser
	lines chan string
	done  chan error
	// seen are all lines that were taken from the node so far.
	seen   []string
	stderr bytes.Buffer
}

// start runs a node. It is killed when the test ends before it was stopped.
func (j *jvm) start(ctx context.Context, t *testing.T, env ...string) *node {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cmd := j.command(ctx, "LiveHarness", env...)
	n := &node{t: t, lines: make(chan string, 10000), done: make(chan error, 1)}
	cmd.Stderr = &n.stderr
	var err error
	n.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	exited := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			n.lines <- s.Text()
		}
		close(n.lines)
		n.done <- cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() { cancel(); <-exited })
	return n
}

// await takes lines until each of the wanted beginnings was there, in any order, and gives the lines.
func (n *node) await(prefixes ...string) []string {
	n.t.Helper()
	open := slices.Clone(prefixes)
	return n.awaitWhere(strings.Join(prefixes, " and "), func(line string) bool {
		open = slices.DeleteFunc(open, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
		return len(open) == 0
	})
}

// awaitWhere takes lines until the condition holds, and gives them. What the node does not say
// within a minute it will not say.
func (n *node) awaitWhere(what string, reached func(line string) bool) []string {
	n.t.Helper()
	from := len(n.seen)
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		select {
		case line, open := <-n.lines:
			if !open {
				require.Failf(n.t, "the node ended", "before %q; it said %q", what, n.seen[from:])
			}
			n.seen = append(n.seen, line)
			if reached(line) {
				return n.seen[from:]
			}
		case <-limit.C:
			require.Failf(n.t, "the node did not say it", "%q within a minute; it said %q", what, n.seen[from:])
		}
	}
}

// stop ends the node, and holds it to what must be true of every run: the reader was a living daemon to
// the end, an interrupted thread got its first look, and nothing was thrown.
func (n *node) stop() {
	n.t.Helper()
	require.NoError(n.t, n.stdin.Close())
	n.await("READER daemon true")
	require.NoError(n.t, <-n.done)
	require.Empty(n.t, n.stderr.String())
	require.Contains(n.t, n.seen, "INTERRUPTED true")
	for _, line := range n.seen {
		require.NotContains(n.t, line, "WRONG")
		require.NotContains(n.t, line, "could not be started")
	}
}

// put gives the file its content in one move, as a careful person does.
func put(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path+".new"))
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o644))
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, os.Rename(path+".new", path))
}
