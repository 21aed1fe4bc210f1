package install_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/install"
	"observer-patch/internal/install/installtest"
	"observer-patch/internal/mounttest"
)

// However little space is left, an install works or leaves the home as it was, and a rollback
// of an installed one works or can be tried again.
func TestFullDisk(t *testing.T) {
	dir := mounttest.Tmpfs(t, "4m")
	s := siteIn(t, dir)
	before := s.snapshot()
	filler := filepath.Join(dir, "filler")
	leave := func(bytes int64) { mounttest.Fill(t, dir, filler, bytes) }
	full, works := 0, 0
	for left := int64(0); works == 0; left += 24 << 10 {
		leave(left)
		err := s.install()
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.ErrorContains(t, err, "nothing was changed")
			require.Equal(t, before, s.snapshot(), "%d bytes left", left)
			full++
			continue
		}
		works++
		require.Equal(t, s.change, s.libs())
	}
	assert.Greater(t, full, 10, "steps at which the disk was full")
	leave(0)
	if err := s.rollback(); err != nil {
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Equal(t, s.change, s.libs())
		require.NoError(t, os.RemoveAll(filler))
		require.NoError(t, s.rollback())
	}
	require.Equal(t, before, s.snapshot())
}

func TestReadOnlyHome(t *testing.T) {
	dir := mounttest.Tmpfs(t, "8m")
	s := siteIn(t, dir)
	before := s.snapshot()
	mounttest.Writable(t, dir, false)
	require.ErrorIs(t, s.install(), syscall.EROFS)
	require.Equal(t, before, s.snapshot())
	mounttest.Writable(t, dir, true)
	require.NoError(t, s.install())
	mounttest.Writable(t, dir, false)
	require.ErrorIs(t, s.rollback(), syscall.EROFS)
	require.Equal(t, s.change, s.libs())
	assert.True(t, s.examine("").Healthy(), "doctor needs no writing")
	mounttest.Writable(t, dir, true)
	require.NoError(t, s.rollback())
	require.Equal(t, before, s.snapshot())
}

// nobody is a user without rights (Debian: nobody).
const nobody = 65534

// asNobody runs a child as another user, from a copy of the test program that it can reach.
func (s *site) asNobody(does string) (string, error) {
	s.t.Helper()
	require.Zero(s.t, os.Geteuid(), "this test runs as another user: run as root")
	program := filepath.Join(s.dir, "program")
	self, err := os.Executable()
	require.NoError(s.t, err)
	text, err := os.ReadFile(self)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(program, text, 0o755))
	cmd := s.command(does, 0, 0)
	cmd.Path = program
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestNoPermission(t *testing.T) {
	dir := mounttest.Tmpfs(t, "64m") // whose root everybody can reach
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	s := siteIn(t, dir)
	require.NoError(t, os.Chmod(s.lib(installtest.Core), 0o644))
	before := s.snapshot()

	out, err := s.asNobody("install")
	require.Error(t, err)
	assert.Contains(t, out, "permission denied")
	require.Equal(t, before, s.snapshot())

	// The folders are the user's, the jars are root's: their owner could not be kept.
	for _, sub := range []string{"", "libs"} {
		require.NoError(t, os.Chown(filepath.Join(s.home, sub), nobody, nobody))
	}
	out, err = s.asNobody("install")
	require.Error(t, err)
	assert.Contains(t, out, "keep owner 0:0 of the jar (run as that user or as root)")
	assert.Contains(t, out, "nothing was changed")
	require.Equal(t, before, s.snapshot())

	// The jars are the user's: root keeps that, and the user can undo it, but not what root's journal holds.
	for _, name := range []string{installtest.Core, installtest.Metadata} {
		require.NoError(t, os.Chown(s.lib(name), nobody, nobody))
	}
	before = s.snapshot()
	require.NoError(t, s.install())
	for _, name := range []string{installtest.Core, installtest.Metadata} {
		info, err := os.Stat(s.lib(name))
		require.NoError(t, err)
		uid, gid := ids(info)
		assert.Equal(t, []int{nobody, nobody}, []int{uid, gid})
	}
	out, err = s.asNobody("rollback")
	require.Error(t, err)
	assert.Contains(t, out, "permission denied")
	require.Equal(t, s.change, s.libs())
	require.NoError(t, s.rollback())
	require.Equal(t, before, s.snapshot())

	out, err = s.asNobody("install")
	require.NoError(t, err, out)
	require.Equal(t, s.change, s.libs())
	out, err = s.asNobody("rollback")
	require.NoError(t, err, out)
	require.Equal(t, before, s.snapshot())
}

func TestDoctorAsksTheBrokersUser(t *testing.T) {
	dir := mounttest.Tmpfs(t, "8m")
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	s := siteIn(t, dir)
	require.NoError(t, s.install())
	file := filepath.Join(dir, "etc", "observer.ids")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("4"), 0o644))
	x := install.Examination{Home: s.home, IDsFile: file, AsUser: fmt.Sprint(nobody), Proc: noProcesses, Getenv: func(string) string { return "" }}
	for _, c := range []struct {
		folder, file os.FileMode
		want         []string
	}{{0o755, 0o644, []string{}}, {0o755, 0o600, []string{"error ids-file-unreadable"}}, {0o700, 0o644, []string{"error ids-file-unreadable"}}} {
		require.NoError(t, os.Chmod(filepath.Dir(file), c.folder))
		require.NoError(t, os.Chmod(file, c.file))
		r, err := install.Examine(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, c.want, codes(r), "%v %v", c.folder, c.file)
	}
	x.AsUser = "no-such-user"
	_, err := install.Examine(t.Context(), x)
	require.ErrorContains(t, err, "no-such-user")
}

func TestTwoAtOnceWaitForEachOther(t *testing.T) {
	s := newSite(t)
	o := s.options()
	var wg sync.WaitGroup
	actions, errs := make([]string, 4), make([]error, 4)
	for i := range actions {
		wg.Go(func() {
			rows, err := install.Install(t.Context(), o)
			if errs[i] = err; err == nil {
				actions[i] = rows[0].Action
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.ElementsMatch(t, []string{"swapped", "installed already", "installed already", "installed already"}, actions)
	require.Equal(t, s.change, s.libs())
}

func TestWaitingCanBeEnded(t *testing.T) {
	s := newSite(t)
	first := s.options()
	ctx, cancel := context.WithCancel(t.Context())
	first.Step = func(what string) error {
		if what != "stage "+installtest.Core {
			return nil
		}
		second := s.options()
		second.Step = func(string) error { panic("two at work") }
		cancel()
		_, err := install.Rollback(ctx, second)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "wait for another run on")
		return nil
	}
	_, err := install.Install(t.Context(), first)
	require.NoError(t, err)
}

// Ctrl-C in the middle leaves the home as it was.
func TestEndedOnTheWay(t *testing.T) {
	s := newSite(t)
	before := s.snapshot()
	for _, at := range []string{"keep " + installtest.Core, "swap " + installtest.Metadata, "swap " + installtest.Core, "close the journal"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := s.options()
		o.Step = func(what string) error {
			if what == at {
				cancel()
				return ctx.Err()
			}
			return nil
		}
		_, err := install.Install(ctx, o)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "nothing was changed")
		require.Equal(t, before, s.snapshot(), at)
	}
}

// A process is seen by its class path or by a jar that it has open.
func TestARunningBrokerIsSeen(t *testing.T) {
	for name, start := range map[string]func(*site) *exec.Cmd{
		"class path": func(s *site) *exec.Cmd {
			return exec.Command("sh", "-c", "read x", "-cp", s.home+"/bin/../libs/"+installtest.Core+":/x.jar", "-Dx=y", "kafka.Kafka", "server.properties")
		},
		"relative class path": func(s *site) *exec.Cmd {
			cmd := exec.Command("sh", "-c", "read x", "-classpath", "../libs/*", "kafka.Kafka")
			cmd.Dir = filepath.Join(s.home, "bin")
			return cmd
		},
		"open jar": func(s *site) *exec.Cmd {
			f, err := os.Open(s.lib(installtest.Metadata))
			require.NoError(s.t, err)
			s.t.Cleanup(func() { require.NoError(s.t, f.Close()) })
			cmd := exec.Command("sh", "-c", "read x", "kafka.Kafka")
			cmd.ExtraFiles = []*os.File{f}
			return cmd
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			cmd := start(s)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			before := s.snapshot()
			o := s.options()
			o.Proc = "/proc"
			_, err = install.Install(t.Context(), o)
			require.ErrorContains(t, err, fmt.Sprintf("process %d (", cmd.Process.Pid))
			assert.Equal(t, exit.Refused, exit.Code(err))
			assert.Equal(t, before, s.snapshot())

			o.WhileRunning = true
			_, err = install.Install(t.Context(), o)
			require.NoError(t, err)
			assert.Contains(t, s.log.String(), "keeps the jars that it opened")
			require.NoError(t, in.Close())
			_ = cmd.Wait() // read ends with an error at the end of its input
			o.WhileRunning = false
			_, err = install.Rollback(t.Context(), o)
			require.NoError(t, err)
			assert.Equal(t, s.original, s.libs())
		})
	}
}
