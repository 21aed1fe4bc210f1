package promoter

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// auto is automatic promotion of the model with a log of its own.
func auto(t *testing.T, m *model) (*Auto, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit, err := OpenAudit(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = audit.Close() })
	return &Auto{Operator: operator(t, m), Rules: enabled(), Lock: NoFence{}, Audit: audit, Metrics: &Metrics{}, Every: 10 * time.Second, Limit: 10 * time.Second}, path
}

func lines(t *testing.T, path string) []AuditLine {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []AuditLine
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var l AuditLine
		require.NoError(t, json.Unmarshal(line, &l))
		out = append(out, l)
	}
	return out
}

func TestAnActionIsWrittenDownBeforeAndAfter(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	m.before = func(string) error {
		require.Equal(t, AuditBegin, lines(t, path)[0].Event, "before the first file")
		return nil
	}
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	log := lines(t, path)
	require.Equal(t, AuditPromote, log[len(log)-1].Event)
	require.Equal(t, []string{"t-0", "u-0"}, log[len(log)-1].Partitions)
	m.before = nil
	m.start(2, 3)
	for range 3 {
		_, err = a.Scan(t.Context())
		require.NoError(t, err)
		m.now = m.now.Add(5 * time.Second)
	}
	log = lines(t, path)
	require.Equal(t, AuditDemote, log[len(log)-1].Event)
	require.Equal(t, ids(4), m.marked())

	w := httptest.NewRecorder()
	a.Metrics.ServeHTTP(w, nil)
	for _, want := range []string{`observer_patch_auto_actions_total{change="promote",outcome="ok"} 1`, `observer_patch_auto_actions_total{change="demote",outcome="ok"} 1`,
		"observer_patch_auto_lock_held 1", `observer_patch_auto_scans_total{outcome="ok"} 4`} {
		require.Contains(t, w.Body.String(), want)
	}
}

// A reason that lasts is said once, and nothing is begun for it.
func TestADemotionThatHiddenTopicsForbidIsNotTriedWithEveryScan(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	m.start(2, 3)
	m.hidden = []observer.Partition{{Topic: "secret", ID: 7}}
	before := len(lines(t, path))
	for range 10 {
		_, err = a.Scan(t.Context())
		require.NoError(t, err)
		m.now = m.now.Add(5 * time.Second)
	}
	log := lines(t, path)[before:]
	told := slices.DeleteFunc(slices.Clone(log), func(l AuditLine) bool { return !strings.Contains(l.Reason, "secret-7") })
	require.Len(t, told, 1)
	require.Equal(t, AuditSkip, told[0].Event)
	require.Equal(t, observer.RuleUnknown, told[0].Rule)
	require.Equal(t, int32(4), told[0].Broker)
	require.False(t, slices.ContainsFunc(log, func(l AuditLine) bool { return l.Event == AuditBegin || l.Event == AuditFailed }), "%v", log)
	require.Empty(t, m.marked())

	m.hidden = nil
	for range 3 {
		_, err = a.Scan(t.Context())
		require.NoError(t, err)
		m.now = m.now.Add(5 * time.Second)
	}
	require.Equal(t, ids(4), m.marked())
}

func TestADemotionThatIsForbiddenHoldsUpNoOther(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4, 5), nil, part("t", 1, ids(1, 2, 3, 4, 5), ids(1, 2, 3, 4, 5)))
	m.hidden = []observer.Partition{{Topic: "secret", Replicas: ids(4)}}
	a, _ := auto(t, m)
	require.NoError(t, a.store(State{Promoted: map[int32]time.Time{4: m.now, 5: m.now}, List: ids(), Seen: true}))
	for range 5 {
		_, err := a.Scan(t.Context())
		require.NoError(t, err)
		m.now = m.now.Add(5 * time.Second)
	}
	require.Equal(t, ids(5), m.marked())
}

func TestADryRunChangesNothing(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	a.DryRun = true
	for range 3 {
		_, err := a.Scan(t.Context())
		require.NoError(t, err)
	}
	require.Empty(t, m.events)
	log := lines(t, path)
	require.Len(t, log, 1, "said once")
	require.Equal(t, AuditDryRun, log[0].Event)
	require.NoFileExists(t, a.Operator.Store.Path(autoFile), "a real run beside it finds nothing of it")
}

func TestWithoutTheAuditLogNothingIsDone(t *testing.T) {
	_, err := OpenAudit(filepath.Join(t.TempDir(), "missing", "audit.jsonl"))
	require.ErrorContains(t, err, "no audit log, no automatic promotion")

	m := fallen()
	a, _ := auto(t, m)
	require.NoError(t, a.Audit.Close())
	require.Error(t, a.Run(t.Context()), "it ends")
	_, err = a.Scan(t.Context())
	require.Error(t, err)
	require.Empty(t, m.events, "and nothing was done")
}

// Two checks with a time between them of which nothing is known are not two checks in a row.
func TestAClusterThatDidNotAnswerBreaksTheRowOfChecks(t *testing.T) {
	m := fallen()
	a, _ := auto(t, m)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	m.start(2, 3)
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	s, err := a.load()
	require.NoError(t, err)
	require.Len(t, s.Checked, 1)
	m.silent = errDown
	m.now = m.now.Add(10 * time.Minute)
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	m.silent = nil
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.marked(), "this was the first check")
	m.now = m.now.Add(5 * time.Second)
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, ids(4), m.marked())
}

// fences are the answers of the lock, one after the other.
type fences []error

func (f *fences) Check(context.Context, observer.Change) error {
	err := (*f)[0]
	*f = (*f)[1:]
	return err
}

func TestALockLostBetweenScanAndActionStopsIt(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	a.Lock = &fences{nil, ErrNotHeld}
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.events)
	log := lines(t, path)
	require.Equal(t, SkipNoLock, log[len(log)-1].Rule)
	s, err := a.load()
	require.NoError(t, err)
	require.Nil(t, s.Doing)
}

func TestAPersonsCommandUnderWayIsWaitedFor(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	release, err := a.Operator.Store.Lock(ChangeLock)
	require.NoError(t, err)
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.events)
	require.Equal(t, SkipPerson, lines(t, path)[0].Rule)
	release()
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.marked())
}

func TestItFinishesWhatIsPendingWhenANodeReturns(t *testing.T) {
	m := fallen()
	m.down[3] = true
	a, path := auto(t, m)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.marked())
	require.Equal(t, ids(4), observer.ParseFile(m.content[3]).IDs)
	delete(m.down, 3)
	_, err = a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, observer.ParseFile(m.content[3]).IDs)
	log := lines(t, path)
	require.Equal(t, AuditFinished, log[len(log)-1].Event)
}

// atElections is a lock that is lost while leaders are moved.
type atElections struct{ m *model }

func (f atElections) Check(_ context.Context, change observer.Change) error {
	if change == observer.Demote && slices.ContainsFunc(f.m.events, func(e string) bool { return strings.HasPrefix(e, "reorder") }) {
		return ErrNotHeld
	}
	return nil
}

func TestALockLostWhileLeadersMoveStopsADemotionBeforeItsFirstFile(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.marked())
	m.start(2, 3)
	m.settle()
	for i := range m.parts {
		m.parts[i].Leader = 4
	}
	m.events = nil
	a.Lock = atElections{m}
	for range 3 {
		_, err = a.Scan(t.Context())
		require.NoError(t, err)
		m.now = m.now.Add(5 * time.Second)
	}
	require.Contains(t, strings.Join(m.events, "\n"), "reorder")
	require.NotContains(t, strings.Join(m.events, "\n"), "write")
	require.Empty(t, m.marked())
	require.Contains(t, lines(t, path)[len(lines(t, path))-1].Error, ErrNotHeld.Error())
}

// check is a lock that does something when it is asked.
type check func(observer.Change) error

func (f check) Check(_ context.Context, change observer.Change) error { return f(change) }

func TestFilesThatVanishBetweenScanAndActionAreNotTakenForEmptyOnes(t *testing.T) {
	m := fallen()
	a, path := auto(t, m)
	asked := 0
	a.Lock = check(func(observer.Change) error {
		if asked++; asked == 2 {
			clear(m.content)
		}
		return nil
	})
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.events)
	log := lines(t, path)
	require.Equal(t, AuditFailed, log[len(log)-1].Event)
	require.Contains(t, log[len(log)-1].Error, "no identity file")
}
