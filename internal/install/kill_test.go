package install_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/install"
	"observer-patch/internal/install/installtest"
	"observer-patch/internal/mounttest"
)

// The environment of a child that installs or rolls back and may kill itself on the way.
const (
	childDoes = "INSTALL_TEST_DOES"
	childHome = "INSTALL_TEST_HOME"
	childDist = "INSTALL_TEST_DIST"
	childKill = "INSTALL_TEST_KILL" // the step before which it kills itself, from 1; 0 for none
	childTime = "INSTALL_TEST_TIME" // how long after its beginning it is killed, in ns; 0 for never
)

func TestMain(m *testing.M) {
	if os.Getenv(childDoes) != "" {
		os.Exit(child())
	}
	os.Exit(mounttest.Main(m))
}

// child does the work as a process of its own and prints how many nanoseconds it took.
func child() int {
	kill, err := strconv.Atoi(os.Getenv(childKill))
	if err != nil {
		panic(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o := install.Options{Home: os.Getenv(childHome), Dist: os.Getenv(childDist), Proc: noProcesses, Log: log}
	steps := 0
	o.Step = func(what string) error {
		if steps++; steps == kill {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}
	after, err := time.ParseDuration(os.Getenv(childTime) + "ns")
	if err != nil {
		panic(err)
	}
	work := install.Install
	if os.Getenv(childDoes) == "rollback" {
		work = install.Rollback
	}
	began := time.Now()
	if after > 0 {
		time.AfterFunc(after, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	if _, err := work(context.Background(), o); err != nil {
		log.Error(err.Error())
		return 1
	}
	fmt.Print(int64(time.Since(began)))
	return 0
}

func (s *site) command(does string, kill int, after time.Duration) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(s.t, err)
	cmd := exec.CommandContext(s.t.Context(), self)
	cmd.Env = append(os.Environ(), childDoes+"="+does, childHome+"="+s.home, childDist+"="+s.dist, childKill+"="+strconv.Itoa(kill), childTime+"="+strconv.FormatInt(int64(after), 10))
	return cmd
}

// killed runs a child that kills itself before a step, and tells whether it came that far.
func (s *site) killed(does string, step int) bool {
	s.t.Helper()
	out, err := s.command(does, step, 0).CombinedOutput()
	if wasKilled(err) {
		return true
	}
	require.NoError(s.t, err, "%s", out)
	return false
}

func wasKilled(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && e.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// whole wants what has to hold at every moment: each jar is the old one or the new one, whole,
// no class path has two of one, and core is never patched without metadata.
func (s *site) whole() {
	s.t.Helper()
	for name, sum := range s.libs() {
		if strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".jar") {
			continue // on no class path
		}
		require.Contains(s.t, []string{s.original[name], s.change[name]}, sum, "%s", name)
	}
	h, err := install.OpenHome(s.home)
	require.NoError(s.t, err)
	require.Len(s.t, h.Files, len(s.original))
	libs := s.libs()
	if libs[installtest.Core] == s.change[installtest.Core] {
		require.Equal(s.t, s.change[installtest.Metadata], libs[installtest.Metadata], "core needs metadata")
	}
}

// recovers runs one command after a kill, and wants all jars new or all old, and no rest. A
// journal that was open has to be told of.
func (s *site) recovers(does string, before map[string]string) {
	s.t.Helper()
	interrupted := s.examine("").Installation == "interrupted"
	if does == "install" {
		require.NoError(s.t, s.install())
		require.Equal(s.t, interrupted, strings.Contains(s.log.String(), "an interrupted run was found; undoing it first"))
		require.Equal(s.t, s.change, s.libs())
		r := s.examine("")
		require.Equal(s.t, "installed", r.Installation)
		require.True(s.t, r.Healthy(), "%v", r.Findings)
	}
	require.NoError(s.t, s.rollback())
	require.Equal(s.t, interrupted && does == "rollback", strings.Contains(s.log.String(), "an interrupted run was found"))
	require.Equal(s.t, before, s.snapshot())
}

func TestKilledBeforeEveryStep(t *testing.T) {
	s := newSite(t)
	before := s.snapshot()
	for _, does := range []string{"install", "rollback"} {
		for _, then := range []string{"install", "rollback"} {
			step := 1
			for ; ; step++ {
				if does == "rollback" {
					require.NoError(t, s.install())
				}
				if !s.killed(does, step) {
					break
				}
				s.whole()
				s.recovers(then, before)
			}
			require.NoError(t, s.rollback())
			require.Equal(t, before, s.snapshot())
			assert.Greater(t, step, 6, "%s has that many steps", does)
		}
	}
}

// The undoing of an interrupted install can be killed as well.
func TestKilledTwice(t *testing.T) {
	s := newSite(t)
	before := s.snapshot()
	// After the first jar's rename.
	reached := 0
	for first := 1; s.killed("install", first); first++ {
		s.whole()
		if s.libs()[installtest.Metadata] == s.change[installtest.Metadata] {
			for second := 1; s.killed("install", second) && second < 5; second++ {
				s.whole()
			}
			reached++
		}
		s.recovers("rollback", before)
	}
	assert.Positive(t, reached)
	require.NoError(t, s.rollback())
}

// Killed by the clock at 60 random moments of the work, or more until one of them has met the work itself, so that also the
// middle of a step is met. How long the work takes varies with the machine: a run that ends says it anew, and each kill makes
// the span of the moments a little longer.
func TestKilledAtRandomMoments(t *testing.T) {
	s := newSite(t)
	before := s.snapshot()
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() { t.Logf("the moments were drawn with seed %d", seed) })
	random := rand.New(rand.NewPCG(seed, 0))
	for _, does := range []string{"install", "rollback"} {
		var takes time.Duration
		kills, open := 0, 0
		for try := 0; kills < 60 || open == 0; try++ {
			require.Less(t, try, 600, "of %d kills in a work of %v, %d met it with the journal open", kills, takes, open)
			if does == "rollback" {
				require.NoError(t, s.install())
			}
			after := time.Duration(0)
			if takes > 0 {
				after = 1 + time.Duration(random.Int64N(int64(takes)))
			}
			out, err := s.command(does, 0, after).Output()
			if wasKilled(err) {
				kills++
				takes += takes / 20
			} else {
				require.NoError(t, err)
				took, err := time.ParseDuration(string(out) + "ns")
				require.NoError(t, err)
				takes = took
			}
			s.whole()
			if s.examine("").Installation == "interrupted" {
				open++
			}
			s.recovers([]string{"install", "rollback"}[try%2], before)
		}
		t.Logf("%s takes %v; %d kills, %d of them with the journal open", does, takes, kills, open)
	}
}
