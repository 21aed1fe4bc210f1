package promoter

import (
	"context"
	"errors"
	"slices"
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
	steps     [][]int32
	copy      bool
	die       string
}

var errKilled = errors.New("killed")

func (m *mover) Throttled(context.Context, []int32, []string) ([]string, error) {
	return m.foreign, nil
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
	err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.ErrorContains(t, err, "observer 5 lacks 100 records")
	require.Equal(t, [][]int32{{1, 2, 5, 4}}, m.steps, "both are there")
	require.True(t, m.throttled, "until it lacks nothing, not until the reassignment has completed")

	again := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
	require.Equal(t, exit.Refused, exit.Code(again), "one move at a time")

	m.at(m.parts[0], 5, 1, 100)
	require.NoError(t, o.FinishMove(t.Context(), m, time.Second))
	require.Equal(t, ids(1, 2, 5), m.parts[0].Replicas)
	require.False(t, m.throttled)
	left, err := o.Store.Move()
	require.NoError(t, err)
	require.Nil(t, left)
}

func TestAMoveThatWasKilledAnywhereLeavesNoThrottle(t *testing.T) {
	for _, where := range []string{"throttled", "reassigned", "clear"} {
		changes, m := replaced()
		m.copy, m.die = true, where
		o := operator(t, m.model)
		err := o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)
		require.ErrorContains(t, err, "plan --finish", where)
		require.True(t, m.throttled, where)
		m.die = ""
		require.NoError(t, o.FinishMove(t.Context(), m, time.Second), where)
		require.False(t, m.throttled, where)
		require.Equal(t, ids(1, 2, 5), m.parts[0].Replicas, where)
	}
}

func TestSomebodyElsesThrottleOrReassignmentIsLeftAlone(t *testing.T) {
	changes, m := replaced()
	m.foreign = []string{"broker 1: leader.replication.throttled.rate=5"}
	o := operator(t, m.model)
	require.Equal(t, exit.Refused, exit.Code(o.BeginMove(t.Context(), m, changes, ids(4, 5), 1000, time.Second)))
	require.Empty(t, m.steps)
	left, err := o.Store.Move()
	require.NoError(t, err)
	require.Nil(t, left)

	m.foreign = nil
	m.parts[0].Replicas = ids(2, 1, 4)
	err = o.BeginMove(t.Context(), m, changes, ids(4, 5), 0, time.Second)
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
