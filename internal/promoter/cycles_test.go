package promoter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// world is the model with automatic promotion in it, and a witness who knows what it may do. The
// witness keeps his own books and asks nothing of the code under test.
type world struct {
	*model
	t      *testing.T
	random *rand.Rand
	store  *Store
	audit  string
	locked bool
	// written says that the lock is enough for a demotion too.
	written bool

	// his books
	ours      map[int32]bool      // promoted by auto, not demoted since
	lastOurs  map[int32]time.Time // last promotion by auto
	touched   map[int32]time.Time // last change by a person
	wellSince map[int32]time.Time // since when a demotion would have been right
	acted     int                 // list changes in this scan
	resumes   bool                // a distribution was cut off before this scan
	stats     map[string]int
}

func newWorld(t *testing.T, seed uint64) *world {
	m := newModel(ids(1, 2, 3, 4, 5), ids(4, 5), part("t", 1, ids(1, 2, 3, 4), ids(1, 2, 3)), part("u", 2, ids(2, 3, 1, 5, 4), ids(1, 2, 3)))
	m.step = 10 * time.Millisecond
	dir := memory(t)
	store, err := OpenStore(dir, "c")
	require.NoError(t, err)
	return &world{model: m, t: t, random: rand.New(rand.NewPCG(seed, 8)), store: store, audit: filepath.Join(dir, "audit"), locked: true, written: true,
		ours: map[int32]bool{}, lastOurs: map[int32]time.Time{}, touched: map[int32]time.Time{}, wellSince: map[int32]time.Time{}, stats: map[string]int{}}
}

// memory gives a folder where a sync costs nothing, if there is one: thousands are made here.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "observer-patch-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// Check is the lock on the cluster.
func (w *world) Check(ctx context.Context, change observer.Change) error {
	if !w.locked {
		return errors.Join(ErrNotHeld, errors.New("somebody else has it"))
	}
	if change != observer.Promote && !w.written {
		return errors.Join(ErrNotHeld, errors.New("the coordinator cannot write"))
	}
	return ctx.Err()
}

// auto makes a new process: all it knows is on the disk.
func (w *world) auto() *Auto {
	audit, err := OpenAudit(w.audit)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = audit.Close() })
	o := &Operator{Kafka: w.model, Files: w.model, Store: w.store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return w.now }, Poll: time.Millisecond, Who: "auto"}
	r := enabled()
	r.Cooldown, r.Hold = time.Minute, 2*time.Minute // shorter, so that more happens
	return &Auto{Operator: o, Rules: r, Lock: w, Audit: audit, Metrics: &Metrics{}, Every: 10 * time.Second, Limit: 2 * time.Second}
}

// under tells whether a partition has fewer sync members than its minimum of 2.
func (w *world) under(p observer.Partition, marked []int32) bool {
	n := 0
	for _, r := range p.ISR {
		if !slices.Contains(marked, r) {
			n++
		}
	}
	return n < 2
}

// judge is called with the list before and the list that auto has begun to write.
func (w *world) judge(before, after []int32) {
	require.True(w.t, w.locked, "acts without the lock")
	require.True(w.t, w.majority, "acts without the controllers' majority")
	w.acted++
	require.Equal(w.t, 1, w.acted, "more than one action in a scan")
	gone, come := observer.Without(before, after...), observer.Without(after, before...)
	require.Equal(w.t, 1, len(gone)+len(come), "one broker at a time: %v -> %v", before, after)
	for _, b := range gone {
		w.count("promotions")
		last, again := w.lastOurs[b]
		require.True(w.t, w.resumes || !again || w.now.Sub(last) >= 59*time.Second, "promoted again within the cooldown")
		if at, ok := w.touched[b]; ok && !w.resumes {
			require.GreaterOrEqual(w.t, w.now.Sub(at), 119*time.Second, "against a person")
		}
		reason := false
		for _, p := range w.parts {
			if !slices.Contains(p.Replicas, b) || p.Leader == observer.NoLeader || !w.under(p, before) {
				continue
			}
			reason = true
			if w.resumes {
				continue
			}
			require.GreaterOrEqual(w.t, w.ends[p.String()][b].End, w.hw[p.String()], "%s: %d lags", p, b)
		}
		// What is finished or taken back after a crash had its reason before.
		require.True(w.t, reason || w.resumes, "nothing is under its minimum")
		// A demotion that is taken back is no promotion, and one that is finished was begun before.
		if !w.resumes || !w.ours[b] {
			w.lastOurs[b] = w.now
		}
		w.ours[b] = true
	}
	for _, b := range come {
		w.count("demotions")
		require.True(w.t, w.ours[b], "demotes %d, which it did not promote", b)
		require.True(w.t, w.written, "demotes with a lock that is not written")
		for _, p := range w.parts {
			if slices.Contains(p.Replicas, b) {
				require.False(w.t, w.under(p, after), "%s is under its minimum after the demotion of %d", p, b)
				require.NotEqual(w.t, b, p.Leader, "%s is led by what becomes an observer", p)
			}
		}
		since, ok := w.wellSince[b]
		// What is finished after a crash was checked before it.
		require.True(w.t, w.resumes || ok && w.now.Sub(since) >= 5*time.Second, "demoted after %v of being well", w.now.Sub(since))
	}
}

// count counts what a scan began; what is finished after a crash was counted before it.
func (w *world) count(what string) {
	if !w.resumes {
		w.stats[what]++
	}
}

// observe notes since when each promoted broker is not needed; called between scans and often.
func (w *world) observe() {
	w.settle()
	marked := w.marked()
	for b := range w.ours {
		well := true
		for _, p := range w.parts {
			if slices.Contains(p.Replicas, b) && (p.Leader == observer.NoLeader || w.under(p, observer.With(marked, b))) {
				well = false
			}
		}
		if !well {
			delete(w.wellSince, b)
		} else if _, ok := w.wellSince[b]; !ok {
			w.wellSince[b] = w.now
		}
	}
}

// happen lets one random thing happen.
func (w *world) happen() {
	brokers := ids(1, 2, 3, 4, 5)
	b := brokers[w.random.IntN(len(brokers))]
	switch w.random.IntN(12) {
	case 0, 1:
		w.kill(2, 3) // 1 is under its minimum alone
	case 2:
		w.kill(b)
	case 3, 4:
		w.start(b)
	case 5, 6, 7:
		w.start(brokers...)
	case 8: // an observer falls behind, or catches up
		p := w.parts[w.random.IntN(len(w.parts))]
		end := w.hw[p.String()] - 50*max(0, int64(w.random.IntN(4))-2)
		for _, o := range []int32{4, 5} {
			if slices.Contains(w.marked(), o) && slices.Contains(p.Replicas, o) {
				w.at(p, o, 1, end)
			}
		}
	case 9:
		w.majority = w.random.IntN(20) > 0
	case 10:
		w.locked, w.written = w.random.IntN(20) > 0, w.random.IntN(5) > 0
	case 11: // a person changes the mark of 4 or 5
		if w.random.IntN(12) > 0 {
			return
		}
		o := int32(4 + w.random.IntN(2))
		list := w.marked()
		if slices.Contains(list, o) {
			list = observer.Without(list, o)
		} else {
			list = observer.With(list, o)
		}
		w.byAPerson(list)
		w.touched[o] = w.now
		delete(w.ours, o)
		delete(w.wellSince, o)
		w.stats["by a person"]++
	}
}

func TestTwoHundredRandomCyclesWithoutAWrongAction(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(10) {
		w := newWorld(t, seed)
		for range 200 {
			w.cycle()
		}
		w.compareWithAudit()
		for k, v := range w.stats {
			total[k] += v
		}
	}
	t.Log(total)
	for _, k := range []string{"promotions", "demotions", "crashes", "by a person"} {
		require.Greater(t, total[k], 10, "%s: the cycles show nothing without them", k)
	}
}

// cycle is one scan after something has happened, with a kill -9 in the middle now and then: what
// the process does from that moment on is undone, on the nodes and on its own disk.
func (w *world) cycle() {
	for range 1 + w.random.IntN(3) {
		w.happen()
	}
	w.observe()
	w.acted = 0
	pending, err := w.store.Pending()
	require.NoError(w.t, err)
	w.resumes = pending != nil && !pending.Complete
	dieAt, events := -1, 0
	if w.random.IntN(2) == 0 {
		dieAt = w.random.IntN(9)
	}
	var dead func()
	current := ids(-1) // no list yet
	w.before = func(e string) error {
		if dead != nil {
			return nil // a ghost: nothing it does counts
		}
		if events == dieAt {
			dead = w.snapshot()
			return nil
		}
		events++
		if strings.HasPrefix(e, "write") {
			if list := parse(e); !slices.Equal(list, current) && !slices.Equal(list, observer.With(w.marked())) {
				current = list
				w.judge(observer.With(w.marked()), list)
			}
		}
		return nil
	}
	next, err := w.auto().Scan(w.t.Context())
	require.NoError(w.t, err)
	w.before = nil
	if dead != nil {
		w.stats["crashes"]++
		dead()
		next = 10 * time.Second
	}
	// How an action ended that a crash has cut off is not known before it is finished.
	if p, err := w.store.Pending(); err == nil && (p == nil || p.Complete) {
		for b := range w.ours {
			if slices.Contains(w.marked(), b) {
				delete(w.ours, b)
			}
		}
	}
	for range int(next / time.Second) {
		w.now = w.now.Add(time.Second)
		w.observe()
	}
}

// snapshot gives what puts the world and the disk back to this moment.
func (w *world) snapshot() func() {
	content, parts := maps.Clone(w.content), slices.Clone(w.parts)
	disk := map[string][]byte{}
	for _, name := range []string{pendingFile, autoFile, RecordingsFile} {
		if text, err := os.ReadFile(w.store.Path(name)); err == nil {
			disk[name] = text
		}
	}
	audit, err := os.ReadFile(w.audit)
	require.NoError(w.t, err)
	return func() {
		w.content, w.parts = content, parts
		for _, name := range []string{pendingFile, autoFile, RecordingsFile} {
			if text, ok := disk[name]; ok {
				require.NoError(w.t, os.WriteFile(w.store.Path(name), text, 0o640))
			} else {
				require.NoError(w.t, w.store.drop(name))
			}
		}
		require.NoError(w.t, os.WriteFile(w.audit, audit, 0o640))
	}
}

// parse gives the list of a write event.
func parse(event string) []int32 {
	text := event[strings.Index(event, "[")+1 : strings.Index(event, "]")]
	var out []int32
	for _, word := range strings.Fields(text) {
		var id int32
		_, _ = fmt.Sscan(word, &id)
		out = append(out, id)
	}
	return out
}

// compareWithAudit wants every action of the books in the log, and nothing that is not in them.
func (w *world) compareWithAudit() {
	text, err := os.ReadFile(w.audit)
	require.NoError(w.t, err)
	ok := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l AuditLine
		require.NoError(w.t, json.Unmarshal(lines.Bytes(), &l), "%s", lines.Text())
		ok[l.Event]++
	}
	require.LessOrEqual(w.t, ok[AuditPromote], w.stats["promotions"])
	require.LessOrEqual(w.t, ok[AuditDemote], w.stats["demotions"])
	require.GreaterOrEqual(w.t, ok[AuditBegin], w.stats["promotions"]+w.stats["demotions"], "every action was written down before it was begun")
}
