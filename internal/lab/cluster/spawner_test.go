package cluster

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChildrenCannotReadWhatFileModesForbid(t *testing.T) {
	s, err := newSpawner()
	require.NoError(t, err)
	defer s.close()
	secret := filepath.Join(t.TempDir(), "ids")
	require.NoError(t, os.WriteFile(secret, []byte("4\n"), 0o644))

	readable := exec.Command("cat", secret)
	require.NoError(t, s.start(readable))
	require.NoError(t, readable.Wait())

	require.NoError(t, os.Chmod(secret, 0))
	forbidden := exec.Command("cat", secret)
	require.NoError(t, s.start(forbidden))
	require.Error(t, forbidden.Wait(), "also when the lab runs as root")
}

func TestChildrenHaveAProcessGroupOfTheirOwn(t *testing.T) {
	s, err := newSpawner()
	require.NoError(t, err)
	defer s.close()
	cmd := exec.Command("sleep", "60")
	require.NoError(t, s.start(cmd))
	group, err := syscall.Getpgid(cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, group)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// TestChildrenDieWithTheLab runs this test binary as a lab that starts a child and is then killed
// without a chance to clean up.
func TestChildrenDieWithTheLab(t *testing.T) {
	if os.Getenv("LAB_OF_THE_TEST") == "1" {
		s, err := newSpawner()
		require.NoError(t, err)
		cmd := exec.Command("sleep", "600")
		require.NoError(t, s.start(cmd))
		_, err = os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid) + "\n")
		require.NoError(t, err)
		select {}
	}
	lab := exec.Command(os.Args[0], "-test.run=^TestChildrenDieWithTheLab$")
	lab.Env = append(os.Environ(), "LAB_OF_THE_TEST=1")
	out, err := lab.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, lab.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(line[:len(line)-1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(child, 0), "the child runs")
	require.NoError(t, lab.Process.Kill())
	require.Error(t, lab.Wait())
	// The orphan is a zombie until its new parent has taken notice of its end.
	require.Eventually(t, func() bool { return ended(child) }, 10*time.Second, 10*time.Millisecond)
}

func ended(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	// pid (name) state: the name of this child has no parenthesis.
	for i, c := range stat {
		if c == ')' {
			return stat[i+2] == 'Z'
		}
	}
	return false
}
