package cli

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// progress gives the writer for what servers and clients report while they work: as it comes on a
// terminal, whole lines otherwise. A log is no place for a counter that rewrites its line.
func progress(to io.Writer) io.Writer {
	if f, ok := to.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return to
	}
	return &lastStates{to: to}
}

// lastStates passes on, of each line, what stood there when it ended: a carriage return starts the line again.
type lastStates struct {
	to       io.Writer
	line     []byte
	returned bool
}

func (l *lastStates) Write(p []byte) (int, error) {
	for _, b := range p {
		switch b {
		case '\r':
			l.returned = true
		case '\n':
			if text := bytes.TrimSpace(l.line); len(text) > 0 {
				if _, err := l.to.Write(append(text, '\n')); err != nil {
					return 0, err
				}
			}
			l.line, l.returned = l.line[:0], false
		default:
			if l.returned {
				l.line, l.returned = l.line[:0], false
			}
			l.line = append(l.line, b)
		}
	}
	return len(p), nil
}
