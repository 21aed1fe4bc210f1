package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Change is one line of the journal: a change of an identity file by this tool.
type Change struct {
	Time time.Time `json:"time"`
	// Who is the user, Machine where the tool ran, Why the command.
	Who     string `json:"who"`
	Machine string `json:"machine"`
	Why     string `json:"why"`
	Cluster string `json:"cluster"`
	Node    int32  `json:"node"`
	File    string `json:"file"`
	// Step is begun, done or failed; what is begun and neither done nor failed was cut off.
	Step string `json:"step"`
	// Before and After are the whole texts; Existed is whether there was a file before.
	Existed bool   `json:"existed"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Error   string `json:"error,omitempty"`
}

// Journal records changes as JSON lines, each on the disk before the next step.
type Journal struct {
	path         string
	who, machine string
	now          func() time.Time
}

// OpenJournal makes sure that the journal can be written to: a change that cannot be recorded is
// not made.
func OpenJournal(path, who, machine string, now func() time.Time) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("journal of changes: %w", err)
	}
	j := &Journal{path: path, who: who, machine: machine, now: now}
	f, err := j.open()
	if err != nil {
		return nil, err
	}
	return j, f.Close()
}

func (j *Journal) open() (*os.File, error) {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("journal of changes: %w", err)
	}
	return f, nil
}

// add appends a line. Runs beside each other take turns; the rest of a line that a killed run left
// is closed off first.
func (j *Journal) add(c Change) (err error) {
	c.Time, c.Who, c.Machine = j.now().UTC(), j.who, j.machine
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	f, err := j.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("journal of changes: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("journal of changes: %w", err)
	}
	return f.Sync()
}

// around records a write before and after it is done.
func (j *Journal) around(ctx context.Context, o Options, n Node, content []byte, before File, write func(context.Context) error) error {
	if j == nil {
		return write(ctx)
	}
	c := Change{Why: o.Why, Cluster: o.ClusterID, Node: n.ID, File: n.File, Step: "begun", Existed: before.Exists, Before: string(before.Content), After: string(content)}
	if err := j.add(c); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	err := write(ctx)
	c.Step = "done"
	if err != nil {
		c.Step, c.Error = "failed", err.Error()
	}
	return errors.Join(err, j.add(c))
}
