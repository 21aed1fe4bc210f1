package promoter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// usual is a cluster of brokers 1 to 4 of which 4 is the observer.
func usual() *model {
	return newModel(ids(1, 2, 3, 4), ids(4), part("t", 1, ids(1, 2, 3, 4), ids(1, 2, 3)), part("u", 2, ids(2, 3, 1, 4), ids(1, 2, 3)))
}

func view(t *testing.T, o *Operator) observer.View {
	t.Helper()
	v, err := o.View(t.Context())
	require.NoError(t, err)
	return v
}

func TestPromotionWritesControllersFirstAndWaitsForTheISR(t *testing.T) {
	m := usual()
	o := operator(t, m)
	r, err := o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"t", "u"}, r.Plan.Topics)
	require.Len(t, m.events, 7)
	for i, e := range m.events {
		require.Equal(t, i < 3, strings.HasPrefix(e, "write 10"), "%v", m.events)
		require.True(t, strings.HasSuffix(e, "[]"), e)
	}
	require.Contains(t, m.parts[0].ISR, int32(4))
	pending, err := o.Store.Pending()
	require.NoError(t, err)
	require.Nil(t, pending)
	require.Equal(t, "observer-patch demote 4 --move-leaders", r.Plan.Undo)
}

// Automatic promotion could turn to another observer meanwhile.
func TestPromotionDoesNotWaitForABrokerThatDied(t *testing.T) {
	const died = "broker 4 is promoted and has not joined yet; it joins when it has caught up: waiting until broker 4 is in every ISR: broker 4 is not alive any more"
	for _, c := range []struct {
		step  time.Duration
		looks int // without the broker
		err   string
	}{
		{absentFor / 4, 4, ""},
		{absentFor, 2, ""},
		{absentFor / 4, 5, died},
		{absentFor, 3, died},
	} {
		m := usual()
		o := operator(t, m)
		p := PlanPromotion(view(t, o), 4)
		m.before = func(e string) error {
			if e == "write 4 []" {
				m.kill(4)
				looks := 0
				m.looked = func() {
					if looks++; looks == c.looks {
						m.start(4)
					}
				}
			}
			return nil
		}
		m.step = c.step
		_, err := o.Promote(t.Context(), p, time.Minute)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
		require.Empty(t, m.marked(), "the promotion stands")
	}
}

// A missing file tells nobody that there are no observers: nodes go on with the list that they had.
func TestWhereFilesAreMissingNothingIsTakenForDone(t *testing.T) {
	m := usual()
	clear(m.content)
	o := operator(t, m)
	_, refusals := view(t, o).InForce()
	require.ErrorContains(t, observer.Refused(refusals), "nodes [101 102 103 1 2 3 4] have no identity file")
	_, err := o.Ballot(t.Context(), func(observer.Partition) bool { return true }, true)
	require.NoError(t, err)
	p := PlanPromotion(view(t, o), 4)
	require.False(t, p.Nothing, "4 may be an observer still")
	require.Contains(t, p.Warnings[0], "have no identity file")
	_, err = o.Promote(t.Context(), p, time.Minute)
	require.NoError(t, err)
	require.Len(t, m.content, 7, "every node has an explicit list now")
	_, refusals = view(t, o).InForce()
	require.Empty(t, refusals)
	require.True(t, PlanPromotion(view(t, o), 4).Nothing)

	// The first demotion may make the files, too.
	m = usual()
	clear(m.content)
	o = operator(t, m)
	_, err = o.Demote(t.Context(), PlanDemotion(view(t, o), 4, false), time.Minute)
	require.NoError(t, err)
	require.Equal(t, ids(4), m.marked())

	// An election decides by the list, so it wants to know it.
	m = usual()
	clear(m.content)
	m.kill(1, 2, 3)
	o = operator(t, m)
	b, err := o.Ballot(t.Context(), func(observer.Partition) bool { return true }, true)
	require.NoError(t, err)
	require.Equal(t, exit.Refused, exit.Code(b.Refuse()))
	require.Empty(t, m.events)
}

func TestAPromotedReplicaThatLagsIsReportedAndStaysPromoted(t *testing.T) {
	m := usual()
	m.at(m.parts[0], 4, 1, 40)
	o := operator(t, m)
	_, err := o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Second)
	require.ErrorContains(t, err, "has not joined yet")
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Empty(t, m.marked())
}

func TestAPartitionThatIsHiddenFromTheToolStopsADemotion(t *testing.T) {
	for _, moveLeaders := range []bool{false, true} {
		leader := int32(1)
		if moveLeaders {
			leader = 4
		}
		m := newModel(ids(1, 2, 3, 4), nil, part("t", leader, ids(leader, 2, 3, 5-leader), ids(1, 2, 3, 4)))
		o := operator(t, m)
		plan := PlanDemotion(view(t, o), 4, moveLeaders)
		require.NoError(t, plan.Refuse(), "nothing of what is shown is a reason")
		m.hidden = []observer.Partition{{Topic: "secret", ID: 7}}
		_, err := o.Demote(t.Context(), plan, time.Minute)
		require.Equal(t, exit.Refused, exit.Code(err))
		require.ErrorContains(t, err, "secret-7")
		require.ErrorContains(t, err, "DESCRIBE")
		v, err := o.DemotionView(t.Context(), 4)
		require.NoError(t, err)
		require.ErrorContains(t, PlanDemotion(v, 4, moveLeaders).Refuse(), "secret-7", "the plan that is shown says so too")
		m.hidden, m.noLogs = nil, errDown
		_, err = o.Demote(t.Context(), plan, time.Minute)
		require.ErrorIs(t, err, errDown)
		require.Empty(t, m.events)
	}
}

func TestDemotionMovesLeadersThenWritesBrokersFirst(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4), nil, part("t", 4, ids(4, 1, 2, 3), ids(1, 2, 3, 4)))
	o := operator(t, m)
	v := view(t, o)
	refused := PlanDemotion(v, 4, false)
	_, err := o.Demote(t.Context(), refused, time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, "t-0")
	require.Empty(t, m.events, "a refused command changes nothing")

	_, err = o.Demote(t.Context(), PlanDemotion(v, 4, true), time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"reorder t-0 [1 2 3 4]", "elect preferred t-0"}, m.events[:2])
	writes := m.events[2:]
	require.Len(t, writes, 7)
	for i, e := range writes {
		require.Equal(t, i >= 4, strings.HasPrefix(e, "write 10"), "%v", writes)
	}
	require.Equal(t, ids(1, 2, 3), m.parts[0].ISR)
	require.Equal(t, int32(1), m.parts[0].Leader)
}

func TestTheHardChecksAreMadeAgainRightBeforeTheFirstFile(t *testing.T) {
	m := newModel(ids(1, 2, 4), nil, part("t", 4, ids(4, 1, 2), ids(1, 2, 4)))
	o := operator(t, m)
	p := PlanDemotion(view(t, o), 4, true)
	require.Empty(t, p.Refusals)
	m.before = func(e string) error {
		if strings.HasPrefix(e, "elect") {
			m.kill(2)
		}
		return nil
	}
	_, err := o.Demote(t.Context(), p, time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, observer.RuleMinISR)
	require.ErrorContains(t, err, "broker 4 leads 1 partitions less and stands last in their assignments, the first is t-0")
	require.Empty(t, m.marked())
}

// What fails after the files are written has not failed as a whole.
func TestAPromotionWhoseElectionFailsIsSaidToBeDone(t *testing.T) {
	m := usual()
	m.kill(1, 2, 3)
	o := operator(t, m)
	p := PlanPromotion(view(t, o), 4)
	m.before = func(e string) error {
		if strings.HasPrefix(e, "elect") {
			return errDown
		}
		return nil
	}
	r, err := o.Promote(t.Context(), p, time.Minute)
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "broker 4 is promoted")
	require.Empty(t, m.marked())
	require.True(t, r.Distributed(), "by which the command knows that it is done, not complete")
}

func TestAPlanIsNotDoneOnAListThatHasChanged(t *testing.T) {
	m := usual()
	o := operator(t, m)
	p := PlanPromotion(view(t, o), 4)
	for id := range m.content {
		m.content[id] = observer.RenderFile(ids(3, 4), false)
	}
	_, err := o.Promote(t.Context(), p, time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, "run the command again")
	require.Empty(t, m.events)
}

// Moving leaders takes a while, in which another machine may change the list.
func TestAListThatChangesWhileLeadersMoveIsNotTakenBack(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4, 5), ids(5), part("t", 4, ids(4, 1, 2, 3, 5), ids(1, 2, 3, 4)))
	o := operator(t, m)
	plan := PlanDemotion(view(t, o), 4, true)
	m.before = func(e string) error {
		if strings.HasPrefix(e, "elect") {
			m.byAPerson(ids()) // 5 is promoted
		}
		return nil
	}
	_, err := o.Demote(t.Context(), plan, time.Minute)
	require.ErrorContains(t, err, "the list was [5], it is [] now")
	require.Equal(t, exit.Refused, exit.Code(err))
	require.Empty(t, m.marked(), "5 stays promoted, 4 is no observer")
}

func TestAHalfDoneDistributionIsPutBack(t *testing.T) {
	for name, fail := range map[string]func(m *model, e string) error{
		"a live broker cannot be written": func(_ *model, e string) error {
			if strings.HasPrefix(e, "write 3 ") {
				return errors.New("permission denied")
			}
			return nil
		},
		"two controllers go away": func(m *model, e string) error {
			if strings.HasPrefix(e, "write 102") || strings.HasPrefix(e, "write 103") {
				return errDown
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := usual()
			o := operator(t, m)
			p := PlanPromotion(view(t, o), 4)
			m.before = func(e string) error { return fail(m, e) }
			_, err := o.Promote(t.Context(), p, time.Minute)
			require.Equal(t, exit.Failed, exit.Code(err))
			for id, content := range m.content {
				require.Equal(t, ids(4), observer.ParseFile(content).IDs, "node %d", id)
			}
			pending, err := o.Store.Pending()
			require.NoError(t, err)
			require.Nil(t, pending)
		})
	}
}

func TestWithoutItsControllersNoBrokerIsWritten(t *testing.T) {
	m := usual()
	o := operator(t, m)
	p := PlanPromotion(view(t, o), 4)
	m.down[102], m.down[103] = true, true
	_, err := o.Promote(t.Context(), p, time.Minute)
	require.Error(t, err)
	for _, e := range m.events {
		require.NotRegexp(t, `^write [1-4] `, e)
	}
}

func TestCtrlCPutsBackWhatWasWritten(t *testing.T) {
	m := usual()
	o := operator(t, m)
	p := PlanPromotion(view(t, o), 4)
	ctx, cancel := context.WithCancel(t.Context())
	m.before = func(e string) error {
		if strings.HasPrefix(e, "write 1 ") {
			cancel()
		}
		return nil
	}
	_, err := o.Promote(ctx, p, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ids(4), m.marked())
}

// S20: a zone with a broker and a controller is away while 4 is promoted.
func TestUnreachableNodesGetTheListWhenTheyReturn(t *testing.T) {
	m := usual()
	o := operator(t, m)
	m.kill(3)
	m.down[3], m.down[103] = true, true
	r, err := o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Minute)
	require.NoError(t, err)
	require.Equal(t, ids(3, 103), r.Distribution.Pending)
	pending, err := o.Store.Pending()
	require.NoError(t, err)
	require.Equal(t, ids(3, 103), pending.Nodes)
	require.True(t, pending.Complete)

	left, err := o.Finish(t.Context())
	require.Error(t, err, "they are still away")
	require.Equal(t, ids(3, 103), left.Nodes)

	delete(m.down, 103)
	left, err = o.Finish(t.Context())
	require.Error(t, err)
	require.Equal(t, ids(3), left.Nodes)

	delete(m.down, 3)
	left, err = o.Finish(t.Context())
	require.NoError(t, err)
	require.Nil(t, left)
	require.Empty(t, observer.ParseFile(m.content[3]).IDs)
	pending, err = o.Store.Pending()
	require.NoError(t, err)
	require.Nil(t, pending)
}

// pendingOn3 has promoted 4 while 3 was away.
func pendingOn3(t *testing.T) (*model, *Operator) {
	t.Helper()
	m := usual()
	o := operator(t, m)
	m.kill(3)
	m.down[3] = true
	_, err := o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Minute)
	require.NoError(t, err)
	return m, o
}

func TestWhatIsPendingIsNotWrittenOverAPersonsChange(t *testing.T) {
	m, o := pendingOn3(t)
	m.byAPerson(ids(4))
	delete(m.down, 3)
	_, err := o.Finish(t.Context())
	require.ErrorIs(t, err, ErrOvertaken)
	require.Equal(t, ids(4), observer.ParseFile(m.content[3]).IDs)
}

// The nodes that would tell of the person's change cannot be reached when the pending one returns.
func TestWhatIsPendingIsNotWrittenWhereNobodyTellsWhetherItIsWanted(t *testing.T) {
	m, o := pendingOn3(t)
	m.byAPerson(ids(4))
	for _, n := range m.nodes {
		m.down[n.ID] = n.ID != 3
	}
	left, err := o.Finish(t.Context())
	require.ErrorContains(t, err, "node 3: whether the pending list [] is still wanted is not known")
	require.Equal(t, ids(3), left.Nodes)
	require.Equal(t, ids(4), observer.ParseFile(m.content[3]).IDs)
	clear(m.down)
	_, err = o.Finish(t.Context())
	require.ErrorIs(t, err, ErrOvertaken)
}

// A run is killed after any number of files: the next one knows, and finishes it.
func TestWhatIsPendingIsTakenBackByTheOtherChange(t *testing.T) {
	for name, c := range map[string]struct {
		before, list, inForce []int32
		want                  []string
	}{
		"promoted":         {ids(4), ids(), ids(), []string{"observer-patch demote 4 --move-leaders"}},
		"demoted":          {ids(), ids(4), ids(4), []string{"observer-patch promote 4"}},
		"came to nothing":  {ids(), ids(4), ids(), nil},
		"another one now":  {ids(), ids(3), ids(4), nil},
		"nobody was moved": {ids(4), ids(4), ids(4), nil},
	} {
		m := newModel(ids(1, 2, 3, 4), c.inForce, part("t", 1, ids(1, 2, 3, 4), ids(1, 2, 3)))
		o := operator(t, m)
		got, err := o.TakenBackBy(t.Context(), Pending{Before: c.before, List: c.list})
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		m.content[102] = observer.RenderFile(ids(1), false)
		got, err = o.TakenBackBy(t.Context(), Pending{Before: c.before, List: c.list})
		require.NoError(t, err, name)
		require.Empty(t, got, "%s: the nodes do not agree", name)
	}
}

func TestADistributionThatWasCutOffIsFinished(t *testing.T) {
	for n := range 7 {
		m := usual()
		o := operator(t, m)
		p := PlanPromotion(view(t, o), 4)
		killed := &killedRun{}
		writes := 0
		m.before = func(e string) error {
			if writes++; writes > n {
				panic(killed)
			}
			return nil
		}
		func() {
			defer func() { require.Same(t, killed, recover()) }()
			// One after the other, as a panic in another goroutine cannot be caught.
			d := &distribution{operator: o, failed: map[int32]error{}, content: observer.RenderFile(p.After, false), note: Pending{Change: p.Change, Before: p.Before, List: p.After, Nodes: ids(1, 2, 3, 4, 101, 102, 103)}}
			require.NoError(t, o.Store.save(pendingFile, d.note))
			for _, step := range p.Steps {
				for _, node := range step {
					require.NoError(t, d.one(t.Context(), node))
				}
			}
		}()
		m.before = nil
		m.files = sync.Mutex{} // the panic left it locked
		_, err := o.Promote(t.Context(), p, time.Minute)
		require.Equal(t, exit.Refused, exit.Code(err), "not before the old one is finished")
		left, err := o.Finish(t.Context())
		require.NoError(t, err)
		require.Nil(t, left)
		for id, content := range m.content {
			if n == 0 {
				require.Equal(t, ids(4), observer.ParseFile(content).IDs, "before the first file nothing was begun")
				continue
			}
			require.Empty(t, observer.ParseFile(content).IDs, fmt.Sprintf("node %d after %d files", id, n))
		}
	}
}

// A demotion of 4 was cut off after broker 1 had the list.
func TestADemotionThatWasCutOffIsFinishedOrTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		dead   []int32
		hidden []observer.Partition
		noLogs error
		want   []int32
	}{
		"still allowed":                  {nil, nil, nil, ids(4)},
		"the ISR would be too small now": {ids(2, 3), nil, nil, ids()},
		"a topic is hidden":              {nil, []observer.Partition{{Topic: "secret", ID: 7}}, nil, ids()},
		"its logs are not known":         {nil, nil, errDown, ids()},
	} {
		m := newModel(ids(1, 2, 3, 4), nil, part("t", 1, ids(1, 2, 3, 4), ids(1, 2, 3, 4)))
		m.hidden, m.noLogs = c.hidden, c.noLogs
		o := operator(t, m)
		require.NoError(t, o.Store.save(pendingFile, Pending{Change: observer.Demote, Before: ids(), List: ids(4), Nodes: ids(2, 3, 4, 101, 102, 103)}))
		m.content[1] = observer.RenderFile(ids(4), false)
		m.kill(c.dead...)
		left, err := o.Finish(t.Context())
		if len(c.want) > 0 {
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, ErrTakenBack, name)
			require.Equal(t, exit.Refused, exit.Code(err), name)
		}
		require.Nil(t, left, name)
		for id, content := range m.content {
			require.ElementsMatch(t, c.want, observer.ParseFile(content).IDs, "%s: node %d", name, id)
		}
	}
}

type killedRun struct{}
