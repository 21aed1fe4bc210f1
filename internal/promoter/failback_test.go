package promoter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

func TestFailbackWaitsForTheReplicasThenLeadersThenDemotes(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4), nil, part("t", 4, ids(1, 2, 3, 4), ids(1, 2, 3, 4)))
	o := operator(t, m)
	f, err := PlanFailback(view(t, o), 4)
	require.NoError(t, err)
	require.Equal(t, []string{"t-0"}, f.Home)
	require.Empty(t, f.Waiting)
	_, err = o.Failback(t.Context(), 4, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "elect preferred t-0", m.events[0])
	require.Equal(t, int32(1), m.parts[0].Leader)
	require.Equal(t, ids(4), m.marked())
}

func TestFailbackStopsOnLag(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4), nil, part("t", 4, ids(1, 2, 3, 4), ids(2, 4)))
	m.at(m.parts[0], 1, 1, 5)
	m.at(m.parts[0], 3, 1, 5)
	o := operator(t, m)
	f, err := PlanFailback(view(t, o), 4)
	require.NoError(t, err)
	require.Len(t, f.Waiting, 1)
	_, err = o.Failback(t.Context(), 4, time.Second)
	require.ErrorContains(t, err, "stays promoted")
	require.Empty(t, m.events, "nothing is half done")
	_, err = PlanFailback(view(t, operator(t, usual())), 4)
	require.Equal(t, exit.Refused, exit.Code(err), "an observer has nothing to go back from")
}

// drill is one on the model; gone counts how often the canary was deleted.
func drill(m *model, gone *int) Drill {
	return Drill{Broker: 4, Limit: time.Second,
		Canary: func(_ context.Context, replicas []int32) error {
			p := part(DrillTopic, replicas[0], replicas, replicas[:3])
			m.parts = append(m.parts, p)
			m.ends[p.String()], m.hw[p.String()] = map[int32]observer.Position{}, 0
			return nil
		},
		Remove: func(context.Context) error { *gone++; return nil }}
}

func TestADrillGoesThereAndBack(t *testing.T) {
	m, gone := usual(), 0
	o := operator(t, m)
	require.NoError(t, o.Drill(t.Context(), drill(m, &gone)))
	require.Contains(t, m.events, "reorder observer-patch-drill-0 [4 1 2 3]")
	require.Equal(t, ids(4), m.marked())
	require.Equal(t, int32(1), m.parts[2].Leader)
	require.Equal(t, 1, gone)
}

func TestADrillIsNotBegunOnATroubledCluster(t *testing.T) {
	for name, trouble := range map[string]func(*model){
		"under the minimum": func(m *model) { m.kill(2, 3) },
		"no leader":         func(m *model) { m.kill(1, 2, 3) },
		"lag":               func(m *model) { m.at(m.parts[0], 4, 1, 99) },
		"no quorum":         func(m *model) { m.majority = false },
		"no observer":       func(m *model) { m.content[101] = nil },
		// It could not go back.
		"a topic is hidden":      func(m *model) { m.hidden = []observer.Partition{{Topic: "secret", ID: 7}} },
		"a minimum is not known": func(m *model) { m.parts[0].MinISR = 0 },
	} {
		m, gone := usual(), 0
		trouble(m)
		o := operator(t, m)
		err := o.Drill(t.Context(), drill(m, &gone))
		require.Equal(t, exit.Refused, exit.Code(err), name)
		require.Empty(t, m.events, name)
		require.Zero(t, gone, name)
	}
}

func TestADrillThatIsInterruptedGoesBack(t *testing.T) {
	m, gone := usual(), 0
	o := operator(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	m.before = func(e string) error {
		if e == "reorder observer-patch-drill-0 [4 1 2 3]" {
			cancel()
		}
		return nil
	}
	err := o.Drill(ctx, drill(m, &gone))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ids(4), m.marked(), "an observer again")
	require.Equal(t, 1, gone)
}

func TestADrillThatCannotGoBackSaysWhoStaysPromoted(t *testing.T) {
	m, gone := usual(), 0
	o := operator(t, m)
	m.before = func(e string) error {
		if e == "reorder observer-patch-drill-0 [1 2 3 4]" {
			m.kill(2, 3)
		}
		return nil
	}
	err := o.Drill(t.Context(), drill(m, &gone))
	require.ErrorContains(t, err, "broker 4 may be promoted still: observer-patch failback 4")
	require.Empty(t, m.marked())
}

func TestADrillThatMeetsTroubleGoesBackAtOnce(t *testing.T) {
	m, gone := usual(), 0
	o := operator(t, m)
	m.before = func(e string) error {
		if e == "reorder observer-patch-drill-0 [4 1 2 3]" {
			return errors.New("the controller says no")
		}
		return nil
	}
	err := o.Drill(t.Context(), drill(m, &gone))
	require.ErrorContains(t, err, "drill aborted")
	require.Equal(t, ids(4), m.marked(), "an observer again")
	require.Equal(t, 1, gone)
}
