package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// placeholders that stand for the node's own values in the arguments of a program.
func placeholders(n Node) *strings.Replacer {
	return strings.NewReplacer("{address}", n.Address, "{id}", strconv.Itoa(int(n.ID)), "{service}", n.Service)
}

// words gives the program and all its arguments that run the script on the node. Each placeholder
// is replaced inside its own argument; nothing is split or joined.
func words(n Node) []string {
	r := placeholders(n)
	out := make([]string, 0, len(n.Transport.Run)+3)
	joined := false
	for _, w := range n.Transport.Run {
		if w == "{command}" {
			out, joined = append(out, commandLine(nil)), true
			continue
		}
		out = append(out, r.Replace(w))
	}
	if !joined {
		out = append(out, "sh", "-c", script)
	}
	return out
}

// runProgram runs a program of this machine in a process group of its own, which ends with ctx.
func runProgram(ctx context.Context, argv []string, input []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out, errs limited
	out.limit, errs.limit = maxAnswer, 4096
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out.answer(err, &errs, argv[0])
}

// limited keeps the first bytes that are written to it and forgets the rest.
type limited struct {
	bytes.Buffer
	limit int
	over  bool
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.limit - l.Len(); len(p) > room {
		l.over = true
		l.Buffer.Write(p[:room])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// answer gives what a finished program wrote; err is how it ended.
func (l *limited) answer(err error, errs *limited, program string) ([]byte, error) {
	switch {
	case err != nil && errs.Len() > 0:
		return nil, fmt.Errorf("%s: %w: %s", program, err, shorten(strings.TrimSpace(errs.String())))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", program, err)
	case l.over:
		return nil, errors.New("the answer is too long")
	}
	return l.Bytes(), nil
}
