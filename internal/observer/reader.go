package observer

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// State is the state of the identity file as the gauge IdsFileState gives it.
type State int

const (
	// Absent: there is no file and never was one.
	Absent State = iota
	// OK: what the file says is in force, or will be after one more look.
	OK
	// Stale: the file cannot be used, the last good list is in force.
	Stale
	// Failed: the file could not be used at the very first look, nor since.
	Failed
)

// String gives the state as the start line of a node does.
func (s State) String() string {
	return [...]string{"absent", "ok", "stale", "failed"}[s]
}

// Kind is what a look at the file found.
type Kind int

const (
	// Content: the file was read whole.
	Content Kind = iota
	// Missing: there is no such file.
	Missing
	// Unreadable: there is something, but it cannot be read as an identity file.
	Unreadable
)

// Reading is one look at the identity file.
type Reading struct {
	Kind Kind
	// Content is what the file holds.
	Content []byte
	// Cause says why an unreadable file is that.
	Cause string
	// Stamp tells one state of the file from another; empty when it changed while it was read.
	Stamp string
}

// Note is a line that a node logs.
type Note struct {
	Level slog.Level
	Text  string
}

// repeat is how long a problem that lasts is not told again.
const repeat = time.Minute

// Reader decides, look by look, which ids are in force, by the table of docs/identity-file.md.
// It mirrors ObserverIdsReader.java step for step; tests hold the two together.
type Reader struct {
	file   string
	strict bool
	ids    []int32
	state  State

	stepped, seen bool
	pending       *Reading
	pendingIDs    []int32
	problem       string
	problemAt     time.Duration
	unknown       string
}

// NewReader gives the reader of a node before its first look. The fallback, ascending, is what
// KAFKA_OBSERVER_BROKER_IDS says; strict is KAFKA_OBSERVER_STRICT.
func NewReader(file string, fallback []int32, strict bool) *Reader {
	return &Reader{file: file, strict: strict, ids: fallback}
}

// IDs gives the ids in force, ascending; not to be changed.
func (r *Reader) IDs() []int32 { return r.ids }

// State gives the state of the file.
func (r *Reader) State() State { return r.state }

// Step takes account of a look at the file at a monotonic time, and gives what a node logs.
func (r *Reader) Step(look Reading, now time.Duration) []Note {
	first := !r.stepped
	r.stepped = true
	switch look.Kind {
	case Missing:
		switch {
		case r.seen:
			return r.hold("it is gone", false, now)
		case r.strict:
			return r.hold("there is no such file", false, now)
		case first:
			return []Note{{slog.LevelInfo, "No observer ids file " + r.file + ": ids in force are " + list(r.ids)}}
		}
		return nil
	case Unreadable:
		r.seen = true
		return r.hold(look.Cause, first, now)
	}
	r.seen = true
	f := ParseFile(look.Content)
	switch {
	case r.strict && f.None:
		return r.take(f.IDs, look, first, now)
	case r.strict && f.Blank:
		return r.hold("it is empty, and in strict mode only the word none switches off", false, now)
	case len(f.IDs) == 0 && !f.Blank:
		return r.hold("no broker id among its tokens "+f.UnknownTokens(), first, now)
	}
	notes := r.tellUnknown(f)
	return append(notes, r.take(f.IDs, look, first, now)...)
}

func (r *Reader) take(ids []int32, look Reading, first bool, now time.Duration) []Note {
	old := r.ids
	if first {
		old = nil
	}
	if loses(old, ids) && !r.agrees(ids, look) {
		changing := r.pending != nil
		r.pending, r.pendingIDs = &look, ids
		if changing {
			return r.tell(slog.LevelWarn, "Observer ids file "+r.file+" keeps changing: ids in force stay "+
				list(old)+" until two looks in a row agree", now)
		}
		return nil
	}
	recovered := r.state == Stale || r.state == Failed
	r.pending, r.problem = nil, ""
	r.ids, r.state = ids, OK
	switch {
	case !slices.Equal(old, ids):
		return []Note{{slog.LevelInfo, fmt.Sprintf("Observer id set changed: %s -> %s (%s, sha256 %x)",
			list(old), list(ids), r.file, sha256.Sum256(look.Content))}}
	case recovered:
		return []Note{{slog.LevelInfo, "Observer ids file " + r.file + " can be used again: ids in force stay " + list(ids)}}
	}
	return nil
}

func (r *Reader) hold(cause string, failsAtFirst bool, now time.Duration) []Note {
	r.pending = nil
	level := slog.LevelWarn
	if failsAtFirst {
		r.state, level = Failed, slog.LevelError
	} else if r.state != Failed {
		r.state = Stale
	}
	return r.tell(level, "Failed to read observer ids from "+r.file+": "+cause+"; ids in force stay "+list(r.ids), now)
}

func (r *Reader) tell(level slog.Level, text string, now time.Duration) []Note {
	if text == r.problem && now-r.problemAt < repeat {
		return nil
	}
	r.problem, r.problemAt = text, now
	return []Note{{level, text}}
}

func (r *Reader) tellUnknown(f File) []Note {
	unknown := ""
	if len(f.Unknown) > 0 {
		unknown = f.UnknownTokens()
	}
	told := unknown == r.unknown
	r.unknown = unknown
	if told || unknown == "" {
		return nil
	}
	return []Note{{slog.LevelWarn, "Ignored what is no broker id in observer ids file " + r.file + ": " + unknown}}
}

func (r *Reader) agrees(ids []int32, look Reading) bool {
	return r.pending != nil && slices.Equal(ids, r.pendingIDs) && look.Stamp != "" && look.Stamp == r.pending.Stamp
}

func loses(old, now []int32) bool {
	return slices.ContainsFunc(old, func(id int32) bool { return !slices.Contains(now, id) })
}

// list gives ids as Java prints an array.
func list(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = fmt.Sprint(id)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
