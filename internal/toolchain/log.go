package toolchain

import (
	"context"
	"io"
	"sync"
)

// logged hands both outputs of a command to one writer, and stops the command when that fails.
type logged struct {
	to   io.Writer
	fail context.CancelCauseFunc

	mu  sync.Mutex
	err error
}

func (l *logged) write(p []byte) {
	if l.to == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if _, l.err = l.to.Write(p); l.err != nil {
		l.fail(l.err)
	}
}

func (l *logged) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
