package cluster

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one operating system thread that lives as long as the cluster.
// Linux sends a child its parent-death signal when the thread that forked it ends, and Go ends
// threads as it likes; and the capability bounding set, which is reduced here, is a thread's own.
type spawner struct {
	work chan func()
	done chan struct{}
}

func newSpawner() (*spawner, error) {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	ready := make(chan error)
	go func() {
		// Never unlocked: the thread must not serve other goroutines with its reduced set.
		runtime.LockOSThread()
		defer close(s.done)
		ready <- dropFileOverride()
		for f := range s.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start starts cmd in its own process group, so that Ctrl-C at a terminal reaches only the lab,
// and has the kernel kill it when the lab dies.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttributes()
	result := make(chan error)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread; the children must be gone before.
func (s *spawner) close() {
	close(s.work)
	<-s.done
}
