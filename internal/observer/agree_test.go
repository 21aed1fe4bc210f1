package observer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// write gives a look in the form that StepHarness reads.
func (l timed) write(w *bytes.Buffer) {
	switch l.Kind {
	case observer.Missing:
		fmt.Fprintf(w, "look M - %d -\n", l.ms)
	case observer.Unreadable:
		fmt.Fprintf(w, "look U - %d %s\n", l.ms, hexOf([]byte(l.Cause)))
	default:
		stamp := l.Stamp
		if stamp == "" {
			stamp = "-"
		}
		fmt.Fprintf(w, "look C %s %d %s\n", stamp, l.ms, hexOf(l.Content))
	}
}

// pieces are what random identity files are made of: mostly almost right.
var pieces = []string{
	"3", "4", "5", "17", "0", "00", "2147483647", "2147483648", "0000000003", "00000000003", "9999999999",
	",", " ", "\n", "\r\n", "\r", "\t", "\v", "\f", "#", "# x", "#3", "none", "None", "-1", "+3", "0x1", "3.0", "a", "é", "٣",
	"\x00", "\x80", "\xff", "\xfe", "\u0085", "\u00a0", "\u2028", "\xEF\xBB\xBF", "\x1c", "\x7f", "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
}

func randomContent(r *rand.Rand) []byte {
	var b []byte
	if r.IntN(8) == 0 {
		b = append(b, "\xEF\xBB\xBF"...)
	}
	for range r.IntN(9) {
		if r.IntN(12) == 0 {
			b = append(b, byte(r.Uint32()))
		}
		b = append(b, pieces[r.IntN(len(pieces))]...)
		if r.IntN(2) == 0 {
			b = append(b, ", \n"[r.IntN(3)])
		}
	}
	return b
}

// randomLooks gives a history of a file: rewritten, touched, left alone, damaged, removed.
func randomLooks(r *rand.Rand, count int) []timed {
	var looks []timed
	content, stamp, ms := randomContent(r), 0, int64(0)
	for i := range count {
		ms += []int64{100, 500, 5000, 30_000, 70_000}[r.IntN(5)]
		look := timed{ms: ms}
		switch n := r.IntN(20); {
		case n == 0 || i == 0 && n < 5:
			look.Kind = observer.Missing
		case n == 1:
			look.Kind, look.Cause = observer.Unreadable, []string{"it is a directory", "I/O error"}[r.IntN(2)]
		default:
			if n < 11 {
				content, stamp = randomContent(r), stamp+1
			} else if n == 11 {
				stamp++
			}
			look.Content, look.Stamp = content, fmt.Sprint(stamp)
			if r.IntN(20) == 0 {
				look.Stamp = ""
			}
		}
		looks = append(looks, look)
	}
	return looks
}

// agree lets both readers run the same random histories, 100,000 files in all.
func agree(t *testing.T, run func(input []byte) []string) {
	const readers, looks = 10_000, 10
	r := rand.New(rand.NewPCG(20260101, 3))
	var input bytes.Buffer
	var want, inputs []string
	states := map[observer.State]int{}
	changes := 0
	for range readers {
		strict, env := r.IntN(3) == 0, randomContent(r)
		fmt.Fprintf(&input, "reader %t %s\n", strict, hexOf(env))
		reader := observer.NewReader("F", observer.ParseFile(env).IDs, strict)
		for _, look := range randomLooks(r, looks) {
			from := input.Len()
			look.write(&input)
			notes := reader.Step(look.Reading, time.Duration(look.ms)*time.Millisecond)
			want = append(want, answer(reader, notes))
			inputs = append(inputs, string(input.Bytes()[from:]))
			states[reader.State()]++
			if strings.Contains(want[len(want)-1], "Observer id set changed") {
				changes++
			}
		}
	}
	// The inputs are worth something only when they lead everywhere.
	require.Len(t, states, 4)
	for state, n := range states {
		require.Greater(t, n, 1000, state.String())
	}
	require.Greater(t, changes, 10_000)
	got := run(input.Bytes())
	require.Len(t, got, readers*looks)
	for i := range want {
		require.Equal(t, want[i], got[i], "input %d: %s", i, inputs[i])
	}
}
