package cluster

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes put a child into a process group of its own and end it with the lab.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// dropFileOverride takes from future children the right to read what file modes forbid. Without
// it a lab that runs as root could not show what an unreadable identity file does.
func dropFileOverride() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, c := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}
