package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sh(script string, args ...string) Command {
	return Command{Path: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func TestRunGivesOutputsAndCode(t *testing.T) {
	var lines []string
	c := sh(`cat; echo one; echo two >&2; printf three; exit 7`)
	c.Stdin = strings.NewReader("in\n")
	c.Line = func(s string) { lines = append(lines, s) }
	r, err := Run(context.Background(), c)
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.ErrorContains(t, err, "sh ended with code 7")
	require.ErrorContains(t, err, ": two")
	require.Equal(t, 7, r.Code)
	require.Equal(t, "in\none\nthree", string(r.Stdout))
	require.Equal(t, "two\n", string(r.Stderr))
	require.Equal(t, []string{"in", "one", "three"}, lines)
	require.False(t, r.Cut)
}

func TestRunKeepsTheEndOfALongOutput(t *testing.T) {
	c := sh(`i=0; while [ $i -lt 3000 ]; do echo "line $i of the output"; i=$((i+1)); done`)
	c.Keep = 1000
	r, err := Run(context.Background(), c)
	require.NoError(t, err)
	require.Len(t, r.Stdout, 1000)
	require.True(t, r.Cut)
	require.True(t, bytes.HasSuffix(r.Stdout, []byte("line 2999 of the output\n")))
}

func TestRunSaysThatAProgramIsMissing(t *testing.T) {
	_, err := Run(context.Background(), Command{Path: filepath.Join(t.TempDir(), "javac")})
	require.ErrorContains(t, err, "start ")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A shell that starts another process and tells its id; both ignore SIGTERM when stubborn.
func family(t *testing.T, stubborn bool) (Command, string) {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	trap := ""
	if stubborn {
		trap = "trap '' TERM; "
	}
	script := trap + `sh -c '` + strings.ReplaceAll(trap, "'", `'\''`) + `while :; do sleep 1; done' & echo $$ $! > "$1.new"; mv "$1.new" "$1"; wait; while :; do sleep 1; done`
	return sh(script, pids), pids
}

func requireGone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	ids := strings.Fields(string(text))
	require.Len(t, ids, 2)
	for _, id := range ids {
		pid, err := strconv.Atoi(id)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return !running(pid) }, time.Minute, 5*time.Millisecond, "process %d still runs", pid)
	}
}

// running tells whether a process exists and is no zombie that nobody has waited for yet.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, state, found := bytes.Cut(stat, []byte(") "))
	return found && state[0] != 'Z'
}

func TestCancelEndsTheWholeProcessGroup(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprintf("stubborn=%v", stubborn), func(t *testing.T) {
			c, pids := family(t, stubborn)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { _, err := Run(ctx, c); ended <- err }()
			require.Eventually(t, func() bool { _, err := os.Stat(pids); return err == nil }, time.Minute, 5*time.Millisecond)
			cancel()
			select {
			case err := <-ended:
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorContains(t, err, "sh was stopped")
			case <-time.After(time.Minute):
				t.Fatal("Run did not return")
			}
			requireGone(t, pids)
		})
	}
}

func TestTimeLimitEndsTheWholeProcessGroup(t *testing.T) {
	c, pids := family(t, false)
	c.Timeout = 3 * time.Second
	_, err := Run(context.Background(), c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "after its time limit of 3s")
	requireGone(t, pids)
}

// A child of the test program runs a command, which tells its id, and is killed.
func TestMain(m *testing.M) {
	if file := os.Getenv("TOOLCHAIN_TEST_PIDS"); file != "" {
		_, err := Run(context.Background(), sh(`echo $$ $$ > "$1.new"; mv "$1.new" "$1"; while :; do sleep 1; done`, file))
		panic(err)
	}
	os.Exit(m.Run())
}

func TestACommandDiesWithTheToolThatIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems have no such signal, and nothing is promised for them
	}
	self, err := os.Executable()
	require.NoError(t, err)
	pids := filepath.Join(t.TempDir(), "pids")
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "TOOLCHAIN_TEST_PIDS="+pids)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(pids); return err == nil }, time.Minute, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	requireGone(t, pids)
}

func TestNothingIsStartedAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mark := filepath.Join(t.TempDir(), "mark")
	_, err := Run(ctx, sh(`touch "$1"`, mark))
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, mark)
}

func TestCompilerEnvLeavesOutWhatChangesResults(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dfile.encoding=latin1")
	t.Setenv("LC_ALL", "de_DE")
	c := sh("env")
	c.Env = CompilerEnv(os.Getenv)
	r, err := Run(context.Background(), c)
	require.NoError(t, err)
	require.NotContains(t, string(r.Stdout), "JAVA_TOOL_OPTIONS")
	require.Contains(t, string(r.Stdout), "LC_ALL=C.UTF-8\n")
	require.Contains(t, string(r.Stdout), "TZ=UTC\n")
	require.Contains(t, string(r.Stdout), "PATH="+os.Getenv("PATH")+"\n")
}
