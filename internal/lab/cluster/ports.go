package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Ports are taken from below the range from which Linux gives ports to outgoing connections
// (32768 and up), so that only another server can take one while its broker is down.
const (
	firstPort = 20000
	lastPort  = 31999
)

// ports hands out free TCP ports of 127.0.0.1. A locked file per port keeps other labs on this
// machine off it for as long as this one runs, also while no process listens.
type ports struct {
	dir   string
	locks []*flock.Flock
}

func newPorts() (*ports, error) {
	dir := filepath.Join(os.TempDir(), "observer-patch-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("folder for port locks: %w", err)
	}
	return &ports{dir: dir}, nil
}

// take gives a port that nobody listens on and no other lab holds.
func (p *ports) take() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		lock := flock.New(filepath.Join(p.dir, fmt.Sprint(port)))
		got, err := lock.TryLock()
		if err != nil {
			return 0, fmt.Errorf("lock port %d: %w", port, err)
		}
		if !got {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = lock.Close() // an unheld port is tried again later, by anybody
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("close probe of port %d: %w", port, err)
		}
		p.locks = append(p.locks, lock)
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d after 1000 tries", firstPort, lastPort)
}

// release gives all ports back. The lock files stay: removing one would race with its next owner.
func (p *ports) release() {
	for _, l := range p.locks {
		_ = l.Close() // the kernel drops the lock with the process in any case
	}
}
