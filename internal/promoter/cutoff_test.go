package promoter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

// demoting is auto that was killed in the middle of demoting 4, which it had promoted: the brokers
// have the list, the controllers not yet.
func demoting(t *testing.T) (*model, *Auto) {
	m := fallen()
	a, _ := auto(t, m)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Empty(t, m.marked())
	m.start(2, 3)
	m.settle()
	s, err := a.load()
	require.NoError(t, err)
	require.NoError(t, a.store(s.Began(Action{Change: observer.Demote, Broker: 4, At: m.now, Writing: true})))
	require.NoError(t, a.Operator.Store.save(pendingFile, Pending{Change: observer.Demote, Before: ids(), List: ids(4), Nodes: ids(101, 102, 103)}))
	for _, b := range ids(1, 2, 3, 4) {
		m.content[b] = observer.RenderFile(ids(4), false)
	}
	return m, a
}

// byAPerson writes the list on every node.
func (m *model) byAPerson(list []int32) {
	for id := range m.content {
		m.content[id] = observer.RenderFile(list, false)
	}
}

// leaves wants some scans, five seconds apart, to leave the list alone.
func leaves(t *testing.T, m *model, a *Auto, list []int32) {
	for range 4 {
		_, err := a.Scan(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, list, m.marked())
		m.now = m.now.Add(5 * time.Second)
	}
}

func TestAPersonsPromotionAfterACutOffDemotionIsThePersons(t *testing.T) {
	m, a := demoting(t)
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, ids(4), m.marked(), "it was finished")
	m.byAPerson(ids())
	leaves(t, m, a, ids())
}

func TestAPersonWhoWasFasterThanTheRestartHasTheBroker(t *testing.T) {
	m, a := demoting(t)
	m.byAPerson(ids(3))
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	m.byAPerson(ids())
	leaves(t, m, a, ids())
}

// A person promotes 4 before the first file of auto's own promotion of it.
func TestAPromotionThatAPersonWasFasterWithIsThePersons(t *testing.T) {
	begins := func(do func(m *model)) func(m *model, a *Auto) {
		return func(m *model, a *Auto) {
			asked := 0
			a.Lock = checks(func() {
				if asked++; asked == 2 { // for the scan, for the action
					do(m)
				}
			})
		}
	}
	for name, meddle := range map[string]func(m *model, a *Auto){
		"and auto looks again": begins(func(m *model) { m.byAPerson(ids()) }),
		"while auto begins": begins(func(m *model) {
			looks := 0
			m.looked = func() {
				if looks++; looks == 2 { // to plan it, to begin it
					m.byAPerson(ids())
				}
			}
		}),
		"while auto was dead": func(m *model, a *Auto) {
			s, err := a.load()
			require.NoError(t, err)
			require.NoError(t, a.store(s.Began(Action{Change: observer.Promote, Broker: 4, At: m.now})))
			m.byAPerson(ids())
		},
	} {
		m := usual()
		a, path := auto(t, m)
		_, err := a.Scan(t.Context())
		require.NoError(t, err)
		m.kill(2, 3)
		m.settle()
		meddle(m, a)
		_, err = a.Scan(t.Context())
		require.NoError(t, err)
		require.Empty(t, m.marked(), name)
		m.start(2, 3)
		m.settle()
		leaves(t, m, a, ids())
		s, err := a.load()
		require.NoError(t, err)
		require.Empty(t, s.Promoted, name)
		require.Contains(t, s.Held, int32(4), name)
		for _, l := range lines(t, path) {
			require.NotEqual(t, AuditPromote, l.Event, name)
		}
	}
}

// checks is a lock that is held, and called with each question.
type checks func()

func (c checks) Check(context.Context, observer.Change) error {
	c()
	return nil
}

// promotions is a lock that is not written.
type promotions struct{}

func (promotions) Check(_ context.Context, change observer.Change) error {
	if change != observer.Promote {
		return ErrNotHeld
	}
	return nil
}

func TestACutOffDemotionIsNotFinishedWithALockForPromotions(t *testing.T) {
	m, a := demoting(t)
	a.Lock = promotions{}
	for range 3 {
		_, err := a.Scan(t.Context())
		require.NoError(t, err)
	}
	require.Empty(t, m.marked())
	a.Lock = NoFence{}
	_, err := a.Scan(t.Context())
	require.NoError(t, err)
	require.Equal(t, ids(4), m.marked())
}
