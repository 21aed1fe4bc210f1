//go:build cluster

package operate

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

// toolVariable makes this test's own program the tool, so that it can be killed.
const toolVariable = "OBSERVER_PATCH_TEST_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(toolVariable) != "" {
		env := &cli.Env{Out: os.Stdout, Err: os.Stderr, Data: observerpatch.Data(), Version: "cluster test"}
		os.Exit(cli.Run(context.Background(), env, os.Args[1:]))
	}
	flag.Parse()
	code := m.Run()
	if err := writePage(*evidence); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// process is the tool in a process of its own.
type process struct {
	cmd *exec.Cmd
	// said is where its messages go.
	said string
}

// spawn starts the tool, behind the words of prefix when there are some. It is gone at the end of
// the test at the latest.
func (r *rig) spawn(prefix []string, args ...string) *process {
	r.t.Helper()
	return r.spawnAlone(prefix, append(slices.Clone(args), r.args...)...)
}

// spawnAlone is spawn with all arguments given.
func (r *rig) spawnAlone(prefix []string, args ...string) *process {
	r.t.Helper()
	self, err := os.Executable()
	require.NoError(r.t, err)
	line := append(append(slices.Clone(prefix), self), args...)
	cmd := exec.CommandContext(r.ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), toolVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, said: filepath.Join(r.t.TempDir(), "messages")}
	out, err := os.Create(p.said)
	require.NoError(r.t, err)
	defer out.Close() // the child has its own descriptor
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() { p.kill(r.t) })
	return p
}

// ends waits until the process has ended and wants its exit code to be 0.
func (p *process) ends(t *testing.T) {
	t.Helper()
	err := p.cmd.Wait()
	text, rerr := os.ReadFile(p.said)
	require.NoError(t, rerr)
	require.NoError(t, err, "%s", text)
	t.Logf("the tool said:\n%s", bytes.TrimSpace(text))
}

// kill sends SIGKILL, waits until the process is gone, and shows what it said.
func (p *process) kill(t *testing.T) {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()         // how a killed process ended says nothing
	text, err := os.ReadFile(p.said)
	require.NoError(t, err)
	t.Logf("the tool that was killed had said:\n%s", bytes.TrimSpace(text))
}
