package promoter

import (
	"fmt"

	"github.com/gofrs/flock"

	"observer-patch/internal/exit"
)

// Lock keeps other runs on this machine from changing the same cluster until it is released; name
// says what is locked. Whoever comes second is refused, not queued.
func (s *Store) Lock(name string) (release func(), err error) {
	l := flock.New(s.Path(name + ".lock"))
	got, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	if !got {
		return nil, exit.With(exit.Refused, fmt.Errorf("another run holds %s: wait until it has ended", l.Path()))
	}
	return func() { _ = l.Close() }, nil // the kernel drops the lock with the process in any case
}

// The locks of a store: one change at a time, one automatic promotion at a time.
const (
	ChangeLock = "change"
	AutoLock   = "auto"
)
