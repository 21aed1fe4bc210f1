package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// daemon is a shell that starts another in a session of its own, with no pipe of its parent's
// unless it is told to keep them, and then does as told.
func daemon(t *testing.T, keep, then string) (Command, string) {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	c := sh(`setsid sh -c 'trap "" TERM; echo $$ $PPID > "$1.new"; mv "$1.new" "$1"; while :; do sleep 1; done' sh "$1" `+keep+` &
while [ ! -f "$1" ]; do sleep 0.01; done; `+then, pids)
	c.Descendants = true
	return c, pids
}

const apart = "</dev/null >/dev/null 2>&1"

func TestADaemonInASessionOfItsOwnIsEndedToo(t *testing.T) {
	for name, c := range map[string]struct {
		keep, then string
		cancel     bool
	}{
		"cancelled":                       {apart, "while :; do sleep 1; done", true},
		"ended by itself":                 {apart, "exit 0", false},
		"ended with the outputs in use":   {"", "exit 0", false},
		"failed":                          {apart, "exit 3", false},
		"cancelled, with outputs in use ": {"", "while :; do sleep 1; done", true},
	} {
		t.Run(name, func(t *testing.T) {
			command, pids := daemon(t, c.keep, c.then)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			type end struct {
				Result
				error
			}
			ended := make(chan end, 1)
			go func() { r, err := Run(ctx, command); ended <- end{r, err} }()
			require.Eventually(t, func() bool { _, err := os.Stat(pids); return err == nil }, time.Minute, 5*time.Millisecond)
			if c.cancel {
				cancel()
			}
			got := <-ended
			switch {
			case c.cancel:
				require.ErrorIs(t, got.error, context.Canceled)
			case c.then == "exit 3":
				var f *Failure
				require.ErrorAs(t, got.error, &f)
				assert.Positive(t, got.Left)
			default:
				require.NoError(t, got.error)
				assert.Positive(t, got.Left)
			}
			requireGone(t, pids)
		})
	}
}

// Without the mark the daemon would live on: the group does not reach it.
func TestTheGroupAloneDoesNotReachADaemon(t *testing.T) {
	command, pids := daemon(t, apart, "exit 0")
	command.Descendants = false
	brood := newDescendants()
	command.Env = append(os.Environ(), brood.variable())
	_, err := Run(context.Background(), command)
	require.NoError(t, err)
	assert.NotEmpty(t, brood.list())
	left, err := brood.end()
	require.NoError(t, err)
	assert.Positive(t, left)
	requireGone(t, pids)
}

func TestTheLogHasBothOutputsWhole(t *testing.T) {
	var log bytes.Buffer
	c := sh(`i=0; while [ $i -lt 4000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done`)
	c.Keep, c.Log = 100, &log
	r, err := Run(context.Background(), c)
	require.NoError(t, err)
	require.True(t, r.Cut)
	for _, want := range []string{"out 0\n", "err 0\n", "out 3999\n", "err 3999\n"} {
		assert.Contains(t, log.String(), want)
	}
	assert.Equal(t, 8000, bytes.Count(log.Bytes(), []byte("\n")))
}

type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestALogThatCannotBeWrittenStopsTheCommand(t *testing.T) {
	c := sh(`while :; do echo line; done`)
	c.Log = &full{room: 100}
	_, err := Run(context.Background(), c)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "its output could not be written")
	assert.NotContains(t, fmt.Sprint(err), "canceled")
}
