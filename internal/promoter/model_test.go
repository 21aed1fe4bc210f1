package promoter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

// errDown is what a node says that is not there.
var errDown = errors.New("connection refused")

// model is a cluster that keeps the rules of set full, without time: whatever may happen has
// happened by the next look.
type model struct {
	live     []int32
	majority bool
	nodes    []observer.Node
	content  map[int32][]byte
	down     map[int32]bool // nodes whose file cannot be reached
	parts    []observer.Partition
	ends     map[string]map[int32]observer.Position
	hw       map[string]int64
	now      time.Time
	// step is how far the clock goes with each look.
	step time.Duration
	// files guards content and events: files are written at the same time.
	files sync.Mutex
	// hidden are partitions that their brokers, or all, have and no view shows; noLogs is why brokers do not tell their logs.
	hidden []observer.Partition
	noLogs error
	// events are writes, elections and reorders, in order.
	events []string
	// before is called before each event with its name.
	before func(event string) error
	// looked is called after each look at the cluster; silent is why it does not answer.
	looked func()
	silent error
}

// newModel has controllers 101 to 103, the live brokers, and the marked ids in every file.
func newModel(live []int32, marked []int32, parts ...observer.Partition) *model {
	m := &model{live: live, majority: true, content: map[int32][]byte{}, down: map[int32]bool{}, parts: parts,
		ends: map[string]map[int32]observer.Position{}, hw: map[string]int64{}, now: time.Unix(1e9, 0), step: 100 * time.Millisecond}
	for _, id := range []int32{101, 102, 103} {
		m.nodes = append(m.nodes, observer.Node{ID: id, Controller: true})
	}
	for _, id := range live {
		m.nodes = append(m.nodes, observer.Node{ID: id, Broker: true})
	}
	for _, n := range m.nodes {
		m.content[n.ID] = observer.RenderFile(marked, false)
	}
	for _, p := range parts {
		m.ends[p.String()] = map[int32]observer.Position{}
		m.hw[p.String()] = 100
		for _, r := range p.Replicas {
			m.at(p, r, 1, 100)
		}
	}
	return m
}

// part makes partition 0 of a topic with a minimum of 2.
func part(topic string, leader int32, replicas, isr []int32) observer.Partition {
	return observer.Partition{Topic: topic, Leader: leader, Replicas: replicas, ISR: isr, MinISR: 2}
}

func ids(list ...int32) []int32 { return list }

// at puts a replica's log to a position.
func (m *model) at(p observer.Partition, broker, epoch int32, end int64) {
	m.ends[p.String()][broker] = observer.Position{Broker: broker, Epoch: epoch, End: end}
}

func (m *model) event(format string, args ...any) error {
	e := fmt.Sprintf(format, args...)
	if m.before != nil {
		if err := m.before(e); err != nil {
			return err
		}
	}
	m.events = append(m.events, e)
	return nil
}

func (m *model) marked() []int32 { return observer.ParseFile(m.content[101]).IDs }

func (m *model) kill(brokers ...int32) {
	m.live = slices.DeleteFunc(slices.Clone(m.live), func(b int32) bool { return slices.Contains(brokers, b) })
}

func (m *model) start(brokers ...int32) { m.live = observer.With(m.live, brokers...) }

// settle lets every partition take its course.
func (m *model) settle() {
	marked := m.marked()
	for i := range m.parts {
		p := &m.parts[i]
		obs := p.Observers(marked)
		ok := func(r int32) bool { return slices.Contains(m.live, r) && !slices.Contains(obs, r) }
		if p.Leader != observer.NoLeader && !slices.Contains(m.live, p.Leader) {
			p.Leader = observer.NoLeader
			m.elect(p, false)
		}
		if p.Leader == observer.NoLeader {
			continue
		}
		p.ISR = slices.DeleteFunc(slices.Clone(p.ISR), func(r int32) bool { return r != p.Leader && !ok(r) })
		for _, r := range p.Replicas {
			if ok(r) && !slices.Contains(p.ISR, r) && m.ends[p.String()][r].End >= m.hw[p.String()] {
				p.ISR = append(p.ISR, r)
			}
		}
	}
}

// elect takes the first live unmarked replica in the ISR, or any with unclean.
func (m *model) elect(p *observer.Partition, unclean bool) bool {
	obs := p.Observers(m.marked())
	for _, r := range p.Replicas {
		if slices.Contains(m.live, r) && !slices.Contains(obs, r) && (unclean || slices.Contains(p.ISR, r)) {
			p.Leader = r
			if unclean {
				p.ISR = ids(r)
			}
			return true
		}
	}
	return false
}

func (m *model) Look(ctx context.Context) (observer.View, error) {
	if ctx.Err() != nil {
		return observer.View{}, ctx.Err()
	}
	if m.silent != nil {
		return observer.View{}, m.silent
	}
	m.now = m.now.Add(m.step)
	m.settle()
	v := observer.View{ClusterID: "c", At: m.now, Live: slices.Clone(m.live), Majority: m.majority}
	for _, p := range m.parts {
		p.Replicas, p.ISR = slices.Clone(p.Replicas), slices.Clone(p.ISR)
		v.Partitions = append(v.Partitions, p)
	}
	if m.looked != nil {
		m.looked()
	}
	return v, nil
}

// Held gives the shown partitions of the broker and the hidden ones.
func (m *model) Held(_ context.Context, broker int32) ([]observer.Partition, error) {
	if m.noLogs != nil {
		return nil, m.noLogs
	}
	out := slices.DeleteFunc(slices.Clone(m.hidden), func(p observer.Partition) bool { return len(p.Replicas) > 0 && !slices.Contains(p.Replicas, broker) })
	for _, p := range m.parts {
		if slices.Contains(p.Replicas, broker) {
			out = append(out, observer.Partition{Topic: p.Topic, ID: p.ID})
		}
	}
	return out, nil
}

func (m *model) Positions(_ context.Context, parts []observer.Partition, _ bool) (Positions, error) {
	out := Positions{Replicas: map[string]map[int32]observer.Position{}, Watermarks: map[string]int64{}}
	for _, p := range parts {
		out.Replicas[p.String()] = map[int32]observer.Position{}
		for _, r := range p.Replicas {
			if slices.Contains(m.live, r) {
				out.Replicas[p.String()][r] = m.ends[p.String()][r]
			}
		}
		if p.Leader != observer.NoLeader {
			out.Watermarks[p.String()] = m.hw[p.String()]
		}
	}
	return out, nil
}

func (m *model) Elect(_ context.Context, kind observer.ElectionKind, parts []observer.Partition) (map[string]error, error) {
	m.now = m.now.Add(m.step)
	out := map[string]error{}
	for _, p := range parts {
		if err := m.event("elect %s %s", kind, p); err != nil {
			return nil, err
		}
		for i := range m.parts {
			q := &m.parts[i]
			if q.String() != p.String() {
				continue
			}
			if kind == observer.Preferred && q.Leader != observer.NoLeader && slices.Contains(q.ISR, q.Replicas[0]) && slices.Contains(m.live, q.Replicas[0]) && !slices.Contains(q.Observers(m.marked()), q.Replicas[0]) {
				q.Leader = q.Replicas[0]
				continue
			}
			if q.Leader == observer.NoLeader && !m.elect(q, kind == observer.Unclean) {
				out[p.String()] = errors.New("PREFERRED_LEADER_NOT_AVAILABLE")
			}
		}
	}
	return out, nil
}

func (m *model) Reorder(_ context.Context, parts []observer.Partition) error {
	for _, p := range parts {
		if err := m.event("reorder %s %v", p, p.Replicas); err != nil {
			return err
		}
		for i := range m.parts {
			if m.parts[i].String() == p.String() {
				m.parts[i].Replicas = slices.Clone(p.Replicas)
			}
		}
	}
	return nil
}

func (m *model) Read(context.Context) []observer.Node {
	out := slices.Clone(m.nodes)
	for i := range out {
		if m.down[out[i].ID] {
			out[i].Cause = errDown.Error()
			continue
		}
		content, is := m.content[out[i].ID]
		out[i].Known, out[i].IDs, out[i].Absent = true, observer.ParseFile(content).IDs, !is
	}
	return out
}

func (m *model) Write(_ context.Context, node int32, content []byte) (hosts.Undo, error) {
	m.files.Lock()
	defer m.files.Unlock()
	if m.down[node] {
		return hosts.Undo{Node: node}, errDown
	}
	if err := m.event("write %d %v", node, observer.ParseFile(content).IDs); err != nil {
		return hosts.Undo{Node: node}, err
	}
	u := hosts.Undo{Node: node, Before: hosts.File{Exists: true, Content: m.content[node]}, Wrote: content}
	m.content[node] = content
	return u, nil
}

func (m *model) Rollback(_ context.Context, u hosts.Undo) error {
	if m.down[u.Node] {
		return errDown
	}
	if err := m.event("undo %d %v", u.Node, observer.ParseFile(u.Before.Content).IDs); err != nil {
		return err
	}
	m.content[u.Node] = u.Before.Content
	return nil
}

// operator works on the model with a fresh store.
func operator(t *testing.T, m *model) *Operator {
	t.Helper()
	store, err := OpenStore(t.TempDir(), "c")
	require.NoError(t, err)
	return &Operator{Kafka: m, Files: m, Store: store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { return m.now }, Poll: time.Millisecond, Who: "test"}
}
