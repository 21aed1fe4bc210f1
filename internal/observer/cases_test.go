package observer_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// identityCase is a case of testdata/identity-cases.yaml, which describes the fields.
type identityCase struct {
	Name   string
	Strict bool
	Env    string
	Looks  []identityLook
}

type identityLook struct {
	Text       string
	Hex        string
	Missing    bool
	Unreadable string
	Stamp      string
	Moving     bool
	At         *int
	State      string
	IDs        []int32 `yaml:"ids"`
	Notes      []string
}

// timed is a look at its time in milliseconds.
type timed struct {
	observer.Reading
	ms int64
}

func identityCases(t *testing.T) []identityCase {
	t.Helper()
	text, err := os.ReadFile("testdata/identity-cases.yaml")
	require.NoError(t, err)
	var cases []identityCase
	require.NoError(t, yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&cases))
	require.NotEmpty(t, cases)
	return cases
}

// readings gives the looks of the case with the defaults filled in.
func (c identityCase) readings(t *testing.T) []timed {
	t.Helper()
	var out []timed
	content, seconds := 0, -1
	for i, l := range c.Looks {
		seconds++
		if l.At != nil {
			seconds = *l.At
		}
		r := timed{ms: int64(seconds) * 1000}
		switch {
		case l.Missing:
			r.Kind = observer.Missing
		case l.Unreadable != "":
			r.Kind, r.Cause = observer.Unreadable, l.Unreadable
		default:
			r.Content = []byte(l.Text)
			if l.Hex != "" {
				var err error
				r.Content, err = hex.DecodeString(strings.ReplaceAll(l.Hex, " ", ""))
				require.NoError(t, err)
			}
			if i == 0 || !bytes.Equal(out[i-1].Content, r.Content) {
				content++
			}
			r.Stamp = fmt.Sprint(content)
			if l.Stamp != "" {
				r.Stamp = l.Stamp
			}
			if l.Moving {
				r.Stamp = ""
			}
		}
		out = append(out, r)
	}
	return out
}

// answer is what a reader gives after a look: the state, the ids, and the notes, each after a tab.
func answer(r *observer.Reader, notes []observer.Note) string {
	s := fmt.Sprintf("%d %s", r.State(), strings.ReplaceAll(fmt.Sprint(r.IDs()), " ", ", "))
	for _, n := range notes {
		s += "\t" + n.Level.String() + " " + n.Text
	}
	return s
}

// requireAnswer holds an answer against what the case expects of a look.
func requireAnswer(t *testing.T, want identityLook, got string) {
	t.Helper()
	states := map[string]observer.State{"absent": observer.Absent, "ok": observer.OK, "stale": observer.Stale, "failed": observer.Failed}
	state, known := states[want.State]
	require.True(t, known, "state %q", want.State)
	fields := strings.Split(got, "\t")
	require.Equal(t, fmt.Sprintf("%d %s", state, strings.ReplaceAll(fmt.Sprint(want.IDs), " ", ", ")), fields[0], got)
	notes := fields[1:]
	require.Len(t, notes, len(want.Notes), "notes of %q", got)
	for i, n := range want.Notes {
		level, part, _ := strings.Cut(n, " ")
		assert.Truef(t, strings.HasPrefix(notes[i], level+" "), "level of %q, want %s", notes[i], level)
		assert.Contains(t, notes[i], part)
	}
}

func TestTheGoReaderFollowsTheTable(t *testing.T) {
	for _, c := range identityCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			r := observer.NewReader("F", observer.ParseFile([]byte(c.Env)).IDs, c.Strict)
			for i, look := range c.readings(t) {
				notes := r.Step(look.Reading, time.Duration(look.ms)*time.Millisecond)
				t.Logf("look %d: %s", i+1, answer(r, notes))
				requireAnswer(t, c.Looks[i], answer(r, notes))
			}
		})
	}
}
