package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock waits until no other install or rollback works on the home. The lock is on the folder
// itself, so nothing is left behind, and the kernel gives it back when a process dies.
func (h *Home) lock(ctx context.Context, wait func()) (release func() error, err error) {
	d, err := os.Open(h.Dir)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for first := true; ; first = false {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return d.Close, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", h.Dir, err), d.Close())
		}
		if first {
			wait()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another run on %s: %w", h.Dir, ctx.Err()), d.Close())
		case <-tick.C:
		}
	}
}
