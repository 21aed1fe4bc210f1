package placement

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxReassignment is how many bytes of a reassignment are read. As it is written here 200,000 partitions
// of ten replicas, of topics with the longest names, have less.
const MaxReassignment = 128 << 20

// reassignment is the file that kafka-reassign-partitions reads.
type reassignment struct {
	Version    int      `json:"version"`
	Partitions []moveTo `json:"partitions"`
}

type moveTo struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Replicas  []int32  `json:"replicas"`
	LogDirs   []string `json:"log_dirs"`
}

// Reassignment gives the changes as the JSON that kafka-reassign-partitions --execute reads. Where
// an observer is replaced it is the first of the two steps; run the plan again for the second.
func Reassignment(changes []Change, isObserver func(int32) bool) ([]byte, error) {
	return written(changes, func(c Change) []int32 { return c.Step(isObserver) })
}

// Before gives, as the same JSON, the assignments that the changes replace.
func Before(changes []Change) ([]byte, error) {
	return written(changes, func(c Change) []int32 { return c.From })
}

// written gives the assignments of those that differ, sorted, as the JSON of kafka-reassign-partitions.
func written(changes []Change, assignment func(Change) []int32) ([]byte, error) {
	r := reassignment{Version: 1, Partitions: []moveTo{}}
	for _, c := range changes {
		if !c.Differs() {
			continue
		}
		m := moveTo{Topic: c.Topic, Partition: c.ID, Replicas: assignment(c)}
		for range m.Replicas {
			m.LogDirs = append(m.LogDirs, anyDir)
		}
		r.Partitions = append(r.Partitions, m)
	}
	slices.SortFunc(r.Partitions, func(a, b moveTo) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return json.MarshalIndent(r, "", " ")
}

// anyDir leaves the log directory to the broker.
const anyDir = "any"

// ParseReassignment reads the JSON that kafka-reassign-partitions takes and gives each partition with the
// replicas that it shall have; who leads it is not said. Every mistake is named. A log directory is one:
// nothing here moves a log from one directory of a broker to another.
func ParseReassignment(text []byte) ([]Partition, error) {
	if len(text) > MaxReassignment {
		return nil, fmt.Errorf("reassignment of %d bytes: expected at most %d", len(text), MaxReassignment)
	}
	var r reassignment
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("reassignment: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reassignment: there is something after its end")
	}
	var errs []error
	if r.Version != 1 {
		errs = append(errs, fmt.Errorf("version %d: expected 1", r.Version))
	}
	if len(r.Partitions) == 0 {
		errs = append(errs, errors.New("partitions: expected at least one"))
	}
	out := make([]Partition, 0, len(r.Partitions))
	seen := map[string]bool{}
	for i, m := range r.Partitions {
		name := fmt.Sprintf("%s-%d", m.Topic, m.Partition)
		for _, mistake := range m.mistakes() {
			errs = append(errs, fmt.Errorf("entry %d, %q: %s", i+1, name, mistake))
		}
		if seen[name] {
			errs = append(errs, fmt.Errorf("entry %d, %q: it is there twice", i+1, name))
		}
		seen[name] = true
		out = append(out, Partition{Topic: m.Topic, ID: m.Partition, Replicas: m.Replicas, Leader: -1})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("reassignment: %w", err)
	}
	return out, nil
}

// mistakes names what is wrong with an entry.
func (m moveTo) mistakes() []string {
	var out []string
	if m.Topic == "" || len(m.Topic) > maxName {
		out = append(out, fmt.Sprintf("a topic's name of %d bytes: expected 1 to %d", len(m.Topic), maxName))
	}
	if m.Partition < 0 {
		out = append(out, "partition: expected 0 or more")
	}
	if n := len(m.Replicas); n == 0 || n > maxReplicas {
		return append(out, fmt.Sprintf("%d replicas: expected 1 to %d", n, maxReplicas))
	}
	for i, b := range m.Replicas {
		if b < 0 || slices.Contains(m.Replicas[:i], b) {
			out = append(out, fmt.Sprintf("replicas %v: expected broker ids from 0, each once", m.Replicas))
			break
		}
	}
	if m.LogDirs != nil && len(m.LogDirs) != len(m.Replicas) {
		out = append(out, fmt.Sprintf("%d log_dirs for %d replicas: expected as many, or none", len(m.LogDirs), len(m.Replicas)))
	}
	for _, dir := range m.LogDirs {
		if dir != anyDir {
			out = append(out, fmt.Sprintf("log_dirs %q: expected any; logs are not moved between directories", dir))
			break
		}
	}
	return out
}
