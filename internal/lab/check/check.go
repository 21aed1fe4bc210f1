// Package check holds the rules that every run is judged by: pure functions from a history to
// findings. None of them touches a cluster, so a stored history can be judged again.
package check

import (
	"fmt"
	"strings"
)

// Finding is one rule's answer for a run.
type Finding struct {
	// Rule says what was asked, as a statement that should be true.
	Rule string `json:"rule"`
	OK   bool   `json:"ok"`
	// Detail says what was counted, or the first violations.
	Detail string `json:"detail"`
}

// That gives a finding with a formatted detail.
func That(rule string, ok bool, format string, args ...any) Finding {
	return Finding{Rule: rule, OK: ok, Detail: fmt.Sprintf(format, args...)}
}

// shown bounds how many violations a finding names.
const shown = 3

// tally collects the violations of one rule.
type tally struct {
	rule  string
	total int
	first []string
}

func (t *tally) add(format string, args ...any) {
	t.total++
	if len(t.first) < shown {
		t.first = append(t.first, fmt.Sprintf(format, args...))
	}
}

// finding gives OK with the detail when nothing was collected.
func (t *tally) finding(format string, args ...any) Finding {
	if t.total == 0 {
		return That(t.rule, true, format, args...)
	}
	return That(t.rule, false, "%d violations: %s", t.total, strings.Join(t.first, "; "))
}

// partition is a key for maps.
type partition struct {
	topic string
	id    int32
}

func (p partition) String() string { return fmt.Sprintf("%s-%d", p.topic, p.id) }
