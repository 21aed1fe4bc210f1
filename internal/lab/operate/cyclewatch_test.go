//go:build cluster

package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/lab/witness"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// lookEvery is the pause between two looks at the identity files, gaugeEvery at auto's lock.
const (
	lookEvery  = 25 * time.Millisecond
	gaugeEvery = 200 * time.Millisecond
)

// eyes are the cluster as the sampler sees it: without the question for the active controller, which
// takes seconds where there is none, and without brokers that the lab has taken down.
type eyes struct {
	*cluster.Cluster
	watch *watch
}

// ActiveController is not looked at.
func (eyes) ActiveController(context.Context) (int32, error) { return -1, errors.New("not asked") }

// AnsweringBrokers gives those that are not down, those that were frozen last at the end.
func (e eyes) AnsweringBrokers() []int32 {
	down, thawed := e.watch.tired()
	ids := slices.DeleteFunc(e.Cluster.AnsweringBrokers(), func(id int32) bool { return has(down, id) })
	slices.SortStableFunc(ids, func(a, b int32) int { return slices.Index(thawed, a) - slices.Index(thawed, b) })
	return ids
}

// AskAny asks them in their order.
func (e eyes) AskAny(ctx context.Context, req kmsg.Request) (kmsg.Response, int32, error) {
	errs := []error{errors.New("no broker answered")}
	for _, id := range e.AnsweringBrokers() {
		resp, err := e.Ask(ctx, id, req)
		if err == nil {
			return resp, id, nil
		}
		errs = append(errs, err)
	}
	return nil, 0, errors.Join(errs...)
}

// tired gives the nodes that are down, and those that have been frozen, the last one last.
func (w *watch) tired() (down, thawed []int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.down {
		if math.IsInf(d.To, 1) {
			down = append(down, d.Node)
		}
		if d.Frozen {
			thawed = append(slices.DeleteFunc(thawed, func(id int32) bool { return id == d.Node }), d.Node)
		}
	}
	return down, thawed
}

// watch writes down what happens, from outside.
type watch struct {
	rec     *history.Recorder
	sampler *probe.Sampler
	cancel  context.CancelFunc
	done    sync.WaitGroup
	closed  bool

	mu    sync.Mutex
	files []witness.File
	hands []*witness.Hand
	down  []*witness.Span
	able  []witness.Span
	// auto is the instance whose lock is looked at, nil while there is none.
	auto *instance
}

// witness begins to watch the topics, the files and auto.
func (r *rig) witness(topics ...string) *watch {
	rec, err := history.NewRecorder(filepath.Join(r.t.TempDir(), "events.jsonl.gz"))
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.ctx)
	w := &watch{rec: rec, cancel: cancel}
	w.sampler = probe.Start(ctx, eyes{r.cluster, w}, rec, topics...)
	lists, err := r.lists()
	require.NoError(r.t, err)
	before := rec.Now()
	w.done.Go(func() {
		ticking(ctx, lookEvery, func() {
			now, err := r.lists()
			at := rec.Now()
			if err == nil {
				w.mu.Lock()
				for _, n := range r.cluster.Nodes {
					if !slices.Equal(lists[n.ID], now[n.ID]) {
						w.files = append(w.files, witness.File{Node: n.ID, Before: before, At: at, IDs: now[n.ID]})
					}
				}
				w.mu.Unlock()
				lists, before = now, at
			}
		})
	})
	w.done.Go(func() { ticking(ctx, gaugeEvery, func() { w.gauge(ctx) }) })
	r.t.Cleanup(func() { w.stop(r.t) })
	return w
}

func ticking(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

func (w *watch) stop(t *testing.T) {
	w.cancel()
	w.done.Wait()
	w.sampler.Stop()
	if !w.closed {
		require.NoError(t, w.rec.Close())
		w.closed = true
	}
}

// gauge looks whether auto says that it has the lock. What it said last counts until the next look.
func (w *watch) gauge(ctx context.Context) {
	w.mu.Lock()
	a := w.auto
	w.mu.Unlock()
	held := 0
	if a != nil {
		held, _ = a.gauge(ctx, "lock_held") // who does not answer has none
	}
	at := w.rec.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.able)
	open := n > 0 && math.IsInf(w.able[n-1].To, 1)
	switch {
	case held == 1 && !open && a == w.auto:
		w.able = append(w.able, witness.Span{From: at, To: math.Inf(1)})
	case held == 0 && open:
		w.able[n-1].To = at
	}
}

// follow has another instance's lock looked at; nil when it is about to be killed.
func (w *watch) follow(a *instance) {
	at := w.rec.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.auto = a
	if n := len(w.able); n > 0 && math.IsInf(w.able[n-1].To, 1) {
		w.able[n-1].To = at
	}
}

// fell writes down that a node is taken down, until back.
func (w *watch) fell(node int32, frozen bool) (back func()) {
	s := &witness.Span{Node: node, From: w.rec.Now(), To: math.Inf(1), Frozen: frozen}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = append(w.down, s)
	return func() {
		at := w.rec.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		s.To = at
	}
}

// begins writes down a change by somebody else, until it is over.
func (w *watch) begins(h witness.Hand) (over func(refused bool)) {
	h.From, h.To = w.rec.Now(), math.Inf(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hands = append(w.hands, &h)
	return func(refused bool) {
		at := w.rec.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		h.To, h.Refused = at, refused
	}
}

// story gives all that was seen; what has not ended ends now.
func (w *watch) story(t *testing.T, audit string, s witness.Settings) witness.Story {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.rec.Now()
	out := witness.Story{Settings: s, History: w.rec.History(), Files: slices.Clone(w.files)}
	for _, a := range w.able {
		a.To = min(a.To, now)
		out.Able = append(out.Able, a)
	}
	for _, h := range w.hands {
		ended := *h
		ended.To = min(ended.To, now)
		out.Hands = append(out.Hands, ended)
	}
	for _, d := range w.down {
		ended := *d
		ended.To = min(ended.To, now)
		out.Down = append(out.Down, ended)
	}
	lines, err := auditLines(audit)
	require.NoError(t, err)
	for _, l := range lines {
		out.Audit = append(out.Audit, witness.Line{At: w.rec.At(l.Time), AuditLine: l})
	}
	return out
}

// auditLines reads an audit log.
func auditLines(name string) ([]promoter.AuditLine, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []promoter.AuditLine
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var l promoter.AuditLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// lists reads every node's file.
func (r *rig) lists() (map[int32][]int32, error) {
	out := map[int32][]int32{}
	for _, n := range r.cluster.Nodes {
		text, err := os.ReadFile(n.IDsPath())
		if err != nil {
			return nil, err
		}
		out[n.ID] = observer.With(observer.ParseFile(text).IDs)
	}
	return out, nil
}
