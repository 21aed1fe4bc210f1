package promoter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

// mover reassigns the model's partitions at once; new copies begin empty and get everything when
// copy says so.
type mover struct {
	*model
	throttled bool
	foreign   []string
	// late is how many looks a broker needs until it knows of a change of the throttle; known is
	// what each knows.
	late  int
	looks map[int32]int
	known map[int32]bool
	steps [][]int32
	copy  bool
	die   string
}

var errKilled = errors.New("killed")

func (m *mover) Throttled(_ context.Context, broker int32, topics []string) ([]string, error) {
	if m.known == nil {
		m.known, m.looks = map[int32]bool{}, map[int32]int{}
	}
	if m.known[broker] != m.throttled {
		if m.looks[broker]++; m.looks[broker] > m.late {
			m.known[broker], m.looks[broker] = m.throttled, 0
		}
	}
	out := slices.Clone(m.foreign)
	if m.known[broker] {
		for range 2 + 2*len(topics) {
			out = append(out, "set")
		}
	}
	return out, nil
}

func (m *mover) SetThrottle(_ context.Context, t Throttle) error {
	m.throttled = true
	if m.die == "throttled" {
		return errKilled
	}
	return nil
}

func (m *mover) ClearThrottle(context.Context, Throttle) error {
	if m.die == "clear" {
		return errKilled
	}
	if m.die == "deleted" {
		m.parts = m.parts[:1]
	}
	m.throttled = false
	return nil
}

func (m *mover) Reassign(_ context.Context, parts []observer.Partition) error {
	for _, p := range parts {
		for i := range m.parts {
			q := &m.parts[i]
			if q.String() != p.String() {
				continue
			}
			for _, r := range p.Replicas {
				if !slices.Contains(q.Replicas, r) && !m.copy {
					m.at(*q, r, 0, 0)
				}
				if !slices.Contains(q.Replicas, r) && m.copy {
					m.at(*q, r, 1, m.hw[q.String()])
				}
			}
			q.Replicas = slices.Clone(p.Replicas)
			m.steps = append(m.steps, q.Replicas)
		}
	}
	if m.die == "reassigned" {
		return errKilled
	}
	return nil
}

// replaced moves the observer of t from 4 to 5.
func replaced() ([]placement.Change, *mover) {
	m := &mover{model: newModel(ids(1, 2, 4, 5), ids(4, 5), part("t", 1, ids(1, 2, 4), ids(1, 2)))}
	return []placement.Change{{Topic: "t", From: ids(1, 2, 4), To: ids(1, 2, 5), Added: ids(5), Removed: ids(4), Copying: ids(5)}}, m
}

func TestTheOldObserverGoesWhenTheNewOneLacksNothing(t *testing.T) {
	changes, m := replaced()
	o := operator(t, m.model)
	_, err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.ErrorContains(t, err, "observer 5 lacks 100 records")
	require.Equal(t, [][]int32{{1, 2, 5, 4}}, m.steps, "both are there")
	require.True(t, m.throttled, "until it lacks nothing, not until the reassignment has completed")

	_, again := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.Equal(t, exit.Refused, exit.Code(again), "one move at a time")

	m.at(m.parts[0], 5, 1, 100)
	require.NoError(t, failed(o.FinishMove(t.Context(), m, time.Second)))
	require.Equal(t, ids(1, 2, 5), m.parts[0].Replicas)
	require.False(t, m.throttled)
	left, err := o.Store.Move()
	require.NoError(t, err)
	require.Nil(t, left)
}

// kept are the files of the kind with what was replaced.
func kept(t *testing.T, o *Operator, kind string) []string {
	files, err := filepath.Glob(o.Store.Path(kind + "*"))
	require.NoError(t, err)
	return files
}

// assignments are those that a kept file has.
func assignments(t *testing.T, file string) []placement.Partition {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	parts, err := placement.ParseReassignment(text)
	require.NoError(t, err)
	return parts
}

// failed gives the error alone.
func failed(_ string, err error) error { return err }

// What a move has replaced is kept, and the way back is a move like any other.
func TestAMoveIsTakenBackByWhatItKept(t *testing.T) {
	changes, m := replaced()
	m.copy = true
	o := operator(t, m.model)
	replacedBy := func(undo string) []placement.Partition {
		_, rest, ok := strings.Cut(undo, "observer-patch plan --assignment '")
		require.True(t, ok, undo)
		file, rest, ok := strings.Cut(rest, "'")
		require.True(t, ok, undo)
		require.Equal(t, " --execute --cluster-id '"+o.Store.Cluster()+"' --state-dir '"+filepath.Dir(o.Store.dir)+"' --throttle 1000", rest)
		return assignments(t, file)
	}
	before := []placement.Partition{{Topic: "t", Replicas: ids(1, 2, 4), Leader: -1}}
	m.die = "reassigned"
	undo, err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.Error(t, err)
	require.Empty(t, undo, "it is under way")
	m.die = ""
	undo, err = o.FinishMove(t.Context(), m, time.Second)
	require.NoError(t, err)
	require.Equal(t, before, replacedBy(undo))

	m.now = m.now.Add(time.Minute)
	back := placement.Partition{Topic: "t", Replicas: m.parts[0].Replicas}.To(before[0].Replicas, func(b int32) bool { return b >= 4 })
	again, err := o.BeginMove(t.Context(), m, []placement.Change{back}, ids(4, 5), 1000, time.Second)
	require.NoError(t, err)
	require.Equal(t, ids(1, 2, 4), m.parts[0].Replicas)
	require.Equal(t, [][]int32{{1, 2, 5, 4}, {1, 2, 5}, {1, 2, 4, 5}, {1, 2, 4}}, m.steps)
	require.Equal(t, ids(1, 2, 5), replacedBy(again)[0].Replicas, "the way there again")
	require.Equal(t, before, replacedBy(undo), "the first command means what it meant")

	// Somebody else has reassigned it: nothing was moved, there is nothing to take back.
	m.now = m.now.Add(time.Minute)
	m.die = "throttled"
	require.Error(t, failed(o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)))
	m.die, m.parts[0].Replicas = "", ids(2, 1)
	undo, err = o.FinishMove(t.Context(), m, time.Second)
	require.NoError(t, err)
	require.Empty(t, undo)
}

// A topic that is deleted while it moves is nothing to take back: its entry would hold up the others'.
func TestWhatWasDeletedMeanwhileIsNotKept(t *testing.T) {
	changes, m := replaced()
	m.parts = append(m.parts, part("u", 1, ids(1, 2, 4), ids(1, 2)))
	m.copy, m.die = true, "deleted"
	changes = append(changes, placement.Change{Topic: "u", From: ids(1, 2, 4), To: ids(2, 1, 4)})
	o := operator(t, m.model)
	require.NoError(t, failed(o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)))
	files := kept(t, o, beforeMove)
	require.Len(t, files, 1)
	require.Equal(t, []placement.Partition{{Topic: "t", Replicas: ids(1, 2, 4), Leader: -1}}, assignments(t, files[0]))
}

// A sync replica is being added; for a moment the cluster does not say what it reassigns.
func TestAMoveIsNotDoneWhileItIsNotKnownWhatIsReassigned(t *testing.T) {
	m := &mover{model: newModel(ids(1, 2, 3), nil, part("t", 1, ids(1, 2), ids(1, 2))), copy: true}
	changes := []placement.Change{{Topic: "t", From: ids(1, 2), To: ids(1, 2, 3), Added: ids(3)}}
	o := operator(t, m.model)
	m.parts[0].Error = "whether a reassignment is running is not known"
	_, err := o.BeginMove(t.Context(), m, changes, nil, 1000, time.Second)
	require.ErrorContains(t, err, "t-0: whether a reassignment is running is not known")
	require.True(t, m.throttled)
	m.parts[0].Error = ""
	require.NoError(t, failed(o.FinishMove(t.Context(), m, time.Second)))
	require.False(t, m.throttled)
}

func TestAMoveThatWasKilledAnywhereLeavesNoThrottle(t *testing.T) {
	for _, where := range []string{"throttled", "reassigned", "clear"} {
		changes, m := replaced()
		m.copy, m.die = true, where
		o := operator(t, m.model)
		_, err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
		require.ErrorContains(t, err, "plan --finish", where)
		require.True(t, m.throttled, where)
		m.die = ""
		require.NoError(t, failed(o.FinishMove(t.Context(), m, time.Second)), where)
		require.False(t, m.throttled, where)
		require.Equal(t, ids(1, 2, 5), m.parts[0].Replicas, where)
	}
}

// What a broker was told it knows a little later: the copy waits for it, and 'removed' too.
func TestACopyBeginsWhenEveryBrokerKnowsTheThrottle(t *testing.T) {
	changes, m := replaced()
	m.copy, m.late = true, 5
	o := operator(t, m.model)
	require.NoError(t, failed(o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Minute)))
	require.Equal(t, ids(1, 2, 5), m.parts[0].Replicas)
	for _, b := range ids(1, 2, 4, 5) {
		require.False(t, m.known[b], "broker %d was throttled when the move was called done", b)
	}

	changes, m = replaced()
	m.copy, m.late = true, 1<<30
	o = operator(t, m.model)
	_, err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.ErrorContains(t, err, "until the throttle is in force: 4 to go, the first: broker 1 knows 0 settings of the throttle, expected 4")
	require.ErrorContains(t, err, "plan --finish")
	require.Empty(t, m.steps, "no copy without its throttle")

	// One that is away learns of it when it comes back, and keeps nobody waiting.
	m.late, m.live = 0, ids(1, 2, 5)
	require.NoError(t, failed(o.FinishMove(t.Context(), m, time.Minute)))
	left, err := o.Store.Move()
	require.NoError(t, err)
	require.Nil(t, left)
}

func TestSomebodyElsesThrottleOrReassignmentIsLeftAlone(t *testing.T) {
	changes, m := replaced()
	m.foreign = []string{"broker 1: leader.replication.throttled.rate=5"}
	o := operator(t, m.model)
	require.Equal(t, exit.Refused, exit.Code(failed(o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second))))
	require.Empty(t, m.steps)
	left, err := o.Store.Move()
	require.NoError(t, err)
	require.Nil(t, left)

	m.foreign = nil
	m.parts[0].Replicas = ids(2, 1, 4)
	_, err = o.BeginMove(t.Context(), m, changes, ids(4, 5), 0, time.Second)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, "somebody else has reassigned it")
}

func TestThrottlesNameSendersAndReceivers(t *testing.T) {
	changes, _ := replaced()
	changes = append(changes, placement.Change{Topic: "u", ID: 3, From: ids(1, 2), To: ids(2, 1)})
	got := ThrottleOf(changes, 1000)
	require.Equal(t, Throttle{Rate: 1000, Brokers: ids(1, 2, 4, 5), Leaders: map[string][]string{"t": {"0:1", "0:2", "0:4"}}, Followers: map[string][]string{"t": {"0:5"}}}, got)
	require.Empty(t, ThrottleOf(changes, 0).Brokers)
}
