package toolchain

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// markVariable marks the environment of a command and with it that of all its descendants,
// in whatever group or session they are.
const markVariable = "OBSERVER_PATCH_COMMAND"

// descendants are the processes that were started, directly or not, by one command. The zero
// value has none.
type descendants struct {
	mark string
	// proc is where the kernel shows its processes.
	proc string
}

func newDescendants() descendants { return descendants{mark: rand.Text(), proc: "/proc"} }

func (d descendants) variable() string { return markVariable + "=" + d.mark }

// list gives those that run. A process that ends meanwhile, and one of another user, is not seen.
func (d descendants) list() []int {
	if d.mark == "" {
		return nil
	}
	entries, err := os.ReadDir(d.proc)
	if err != nil {
		return nil // a system without it
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(d.proc, e.Name(), "environ"))
		for pair := range bytes.SplitSeq(environ, []byte{0}) {
			if string(pair) == d.variable() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// signal sends a signal to all of them and gives how many there were.
func (d descendants) signal(s syscall.Signal) int {
	pids := d.list()
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may be gone
	}
	return len(pids)
}

// end kills all of them and those that they start meanwhile, and gives how many there were at
// first. It waits for their end; those that do not end are an error.
func (d descendants) end() (int, error) {
	left := d.signal(syscall.SIGKILL)
	if left == 0 {
		return 0, nil
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(Grace); time.Now().Before(deadline); <-tick.C {
		if d.signal(syscall.SIGKILL) == 0 {
			return left, nil
		}
	}
	return left, fmt.Errorf("processes %v, which it started, do not end", d.list())
}
