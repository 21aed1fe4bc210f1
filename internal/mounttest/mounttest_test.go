package mounttest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A copy of the program mounts something, says where, and waits to be killed.
const waits = "MOUNTTEST_WAITS"

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestAKilledTestLeavesNoMount(t *testing.T) {
	file := os.Getenv(waits)
	if file != "" {
		dir := Tmpfs(t, "1m")
		if err := os.WriteFile(file, []byte(dir), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(os.Stdin) // until the kill
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "mounted")
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	// What the killed program leaves goes with this test's own folder.
	cmd.Env = append(os.Environ(), waits+"="+said, inside+"=", "TMPDIR="+t.TempDir())
	cmd.Dir = t.TempDir()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	where := ""
	for tick := time.Tick(10 * time.Millisecond); where == ""; <-tick {
		text, _ := os.ReadFile(said)
		where = string(text)
	}
	if strings.Contains(mounts(t, "self"), where) {
		t.Errorf("the mount at %s is seen outside of the program that made it", where)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if strings.Contains(mounts(t, "1"), where) {
		t.Errorf("the mount at %s is still there", where)
	}
	// A folder that something is mounted on cannot be removed.
	if err := os.Remove(where); err != nil {
		t.Errorf("the folder is in use: %v", err)
	}
}

func mounts(t *testing.T, process string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + process + "/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
