package sentinel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Journal keeps the results of a run on disk, one JSON document a line, so that a run that was
// killed goes on where it was.
type Journal struct {
	path, key string
	file      *os.File
	done      map[string]Result
}

// entry is one line: the result and what it depends on.
type entry struct {
	Key    string `json:"key"`
	Result Result `json:"result"`
}

// OpenJournal reads the journal at a path, which may not be there yet. Only results with the
// same key count: the key says what they depend on (hooks, locks, steps). A failure that says
// nothing about the patch is tried again. A half-written last line is dropped.
func OpenJournal(path, key string) (*Journal, error) {
	j := &Journal{path: path, key: key, done: map[string]Result{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		var e entry
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil || e.Key != key || e.Result.Status() == Failed {
			continue
		}
		j.done[e.Result.Target] = e.Result
		kept = append(kept, line...)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	// The file is written anew, so that what is appended begins on a line of its own.
	if err := renameio.WriteFile(path, kept, 0o644); err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	return j, nil
}

// Done gives the result of a target that an earlier run finished.
func (j *Journal) Done(target string) (Result, bool) {
	r, ok := j.done[target]
	return r, ok
}

// Add writes a result and waits until it is on disk.
func (j *Journal) Add(r Result) error {
	line, err := json.Marshal(entry{j.key, r})
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	return j.file.Sync()
}

// Finish ends the run: the next one starts from the beginning.
func (j *Journal) Finish() error { return errors.Join(j.file.Close(), os.Remove(j.path)) }

// Close leaves the journal for the next run.
func (j *Journal) Close() error { return j.file.Close() }
