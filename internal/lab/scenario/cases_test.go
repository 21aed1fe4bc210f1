package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// story builds a history event by event; each takes place 100 ms after the one before.
type story struct {
	t     *testing.T
	topic string
	h     history.History
	at    float64
}

func tell(t *testing.T, s Scenario) *story { return &story{t: t, topic: strings.ToLower(s.ID)} }

func (s *story) add(e history.Event) *story {
	s.at += 100
	e.At = s.at
	s.h = append(s.h, e)
	return s
}

func (s *story) wait(ms float64) *story { s.at += ms; return s }

func (s *story) marked(ids ...int32) *story {
	initial := !slices.ContainsFunc(s.h, func(e history.Event) bool { return e.Edit != nil })
	return s.add(history.Event{Edit: &history.Edit{Nodes: []int32{1, 2, 3, 4}, IDs: ids, Began: s.at + 50, Initial: initial}})
}

// sees samples partitions of the story's topic.
func (s *story) sees(parts ...history.Partition) *story {
	for i := range parts {
		if parts[i].Topic == "" {
			parts[i].Topic = s.topic
		}
		if parts[i].Replicas == nil {
			parts[i].Replicas = []int32{1, 2, 3, 4}
		}
	}
	return s.add(history.Event{View: &history.View{From: s.at + 90, Eligible: true, Brokers: []int32{1, 2, 3, 4, 5}, Partitions: parts}})
}

func (s *story) fault(name, phase string, nodes ...int32) *story {
	return s.add(history.Event{Fault: &history.Fault{Name: name, Phase: phase, Targets: nodes, Began: s.at + 50}})
}

func (s *story) kill(nodes ...int32) *story { return s.fault("kill -9", history.Inject, nodes...) }
func (s *story) heal(nodes ...int32) *story { return s.fault("kill -9", history.Heal, nodes...) }

func (s *story) mark(name string, partition int32, value int64, text string) *story {
	return s.add(history.Event{Mark: &history.Mark{Name: name, Partition: partition, Value: value, Text: text}})
}

func (s *story) move(partition int32, target ...int32) *story {
	return s.add(history.Event{Move: &history.Move{Topic: s.topic, Partition: partition, Target: target, Began: s.at + 50}})
}

// writes adds acknowledged records, one a millisecond, from now on.
func (s *story) writes(topic string, n int) *story {
	for i := range n {
		s.h = append(s.h, history.Event{At: s.at, Op: &history.Op{Producer: "load", Topic: topic, Seq: int64(i), Start: s.at, End: s.at + 1}})
		s.at++
	}
	return s
}

// part is a partition in a sample.
func part(id, leader int32, isr ...int32) history.Partition {
	return history.Partition{ID: id, Leader: leader, ISR: isr, HW: 9, LEO: map[int32]int64{4: 9}}
}

func in(topic string, p history.Partition) history.Partition { p.Topic = topic; return p }

func on(p history.Partition, replicas ...int32) history.Partition { p.Replicas = replicas; return p }

func elr(p history.Partition, ids ...int32) history.Partition { p.ELR = ids; return p }

// violated gives the rules, preconditions included, that do not hold for a plan's history.
func (s *story) violated(sc Scenario, set release.Set, mode release.Mode) []string {
	s.t.Helper()
	o := Outcome{}
	sc.Judge(s.h, sc.NewPlan("4.1.0", mode, set, false, nil), &o)
	require.NotEmpty(s.t, o.Findings)
	var out []string
	for _, f := range append(o.Preconditions, o.Findings...) {
		if !f.OK {
			out = append(out, f.Rule)
		}
	}
	for _, m := range o.Measures {
		if m.Max > 0 && m.MS > m.Max {
			out = append(out, m.Name)
		}
	}
	return out
}

// only asks that exactly the rules that begin so are violated.
func only(t *testing.T, got []string, want ...string) {
	t.Helper()
	require.Len(t, got, len(want), "%v", got)
	for i, w := range want {
		require.True(t, strings.HasPrefix(got[i], w), "%q, wanted %q", got[i], w)
	}
}
