package promoter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// small is the layout of 2 + 1: brokers 1 and 2, of which writes need both, and observer 4.
func small() *model {
	return newModel(ids(1, 2, 4), ids(4), part("t", 1, ids(1, 2, 4), ids(1, 2)), part("u", 2, ids(2, 1, 4), ids(1, 2)))
}

func TestWhetherARestartNeedsAStandInIsDecidedByThePartitions(t *testing.T) {
	two := func(m *model) {
		m.live = append(m.live, 5)
		m.nodes = append(m.nodes, observer.Node{ID: 5, Broker: true})
		m.content[5] = nil
		for id := range m.content {
			m.content[id] = observer.RenderFile(ids(4, 5), false)
		}
		for i := range m.parts {
			m.parts[i].Replicas = append(m.parts[i].Replicas, 5)
			m.at(m.parts[i], 5, 1, 100)
		}
	}
	for _, c := range []struct {
		name    string
		model   *model
		change  func(*model)
		broker  int32
		standIn int32
		accept  bool
		stops   []string
		want    int32
		refused string // rule: partition
		warned  string
	}{
		{name: "2 + 1 takes its one observer", model: small(), broker: 1, standIn: NoStandIn, stops: []string{"t-0", "u-0"}, want: 4},
		{name: "3 + 1 needs none", model: usual(), broker: 1, standIn: NoStandIn, want: NoStandIn},
		{name: "3 + 1 promotes none that is named either", model: usual(), broker: 1, standIn: 4, want: NoStandIn},
		{name: "3 + 1 with one away already", model: usual(), change: func(m *model) { m.kill(3) }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4},
		{name: "an observer's restart stops nothing", model: small(), broker: 4, standIn: NoStandIn, want: NoStandIn},
		{name: "one that was promoted before is not promoted again", model: small(), change: func(m *model) {
			for id := range m.content {
				m.content[id] = nil
			}
		}, broker: 1, standIn: 4, want: NoStandIn, warned: "not promoted for this, nor demoted after it"},
		{name: "two that will do: somebody has to choose", model: small(), change: two, broker: 1, standIn: NoStandIn, stops: []string{"t-0", "u-0"}, want: NoStandIn, refused: "unknown: : which of the observers [4 5]"},
		{name: "the chosen one of two", model: small(), change: two, broker: 1, standIn: 5, stops: []string{"t-0", "u-0"}, want: 5},
		{name: "a dead stand-in", model: small(), change: func(m *model) { m.kill(4) }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "broker-dead: "},
		{name: "a dead one is not taken by itself", model: small(), change: func(m *model) { m.kill(4) }, broker: 1, standIn: NoStandIn, stops: []string{"t-0", "u-0"}, want: NoStandIn, refused: "min-isr: t-0"},
		{name: "a dead broker", model: usual(), change: func(m *model) { m.kill(1) }, broker: 1, standIn: NoStandIn, want: NoStandIn, refused: "broker-dead: "},
		{name: "a partition that the stand-in does not hold", model: small(), change: func(m *model) { m.parts[1].Replicas = ids(2, 1) }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "min-isr: u-0"},
		{name: "the same, accepted", model: small(), change: func(m *model) { m.parts[1].Replicas = ids(2, 1) }, broker: 1, standIn: 4, accept: true, stops: []string{"t-0", "u-0"}, want: 4, warned: "u-0: it takes no writes meanwhile"},
		{name: "one replica only", model: small(), change: func(m *model) { m.parts = append(m.parts, part("v", 1, ids(1), ids(1))); m.ends["v-0"] = m.ends["t-0"] }, broker: 1, standIn: 4,
			stops: []string{"t-0", "u-0", "v-0"}, want: 4, refused: "min-isr: v-0"},
		{name: "a partition under its minimum already that the stand-in does not save", model: usual(), change: func(m *model) { m.kill(2, 3) }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "min-isr: t-0"},
		{name: "min.insync.replicas is not known", model: small(), change: func(m *model) { m.parts[0].MinISR = 0 }, broker: 1, standIn: 4, stops: []string{"u-0"}, want: 4, refused: "unknown: t-0"},
		{name: "a partition that is not known", model: small(), change: func(m *model) { m.parts[0].Error = "no" }, broker: 1, standIn: 4, stops: []string{"u-0"}, want: 4, refused: "unknown: t-0"},
		{name: "a partition without a leader", model: small(), change: func(m *model) {
			m.parts = append(m.parts, part("w", observer.NoLeader, ids(9, 4), ids(9)))
			m.ends["w-0"] = m.ends["t-0"]
		}, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "nobody: w-0"},
		{name: "no quorum", model: small(), change: func(m *model) { m.majority = false }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "no-majority: "},
		{name: "lists that differ", model: small(), change: func(m *model) { m.content[2] = nil }, broker: 1, standIn: 4, stops: []string{"t-0", "u-0"}, want: 4, refused: "lists-differ: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.model)
			}
			p := PlanRestart(view(t, operator(t, c.model)), c.broker, c.standIn, c.accept)
			require.Equal(t, append([]string{}, c.stops...), p.Stops)
			require.Equal(t, c.want, p.StandIn)
			require.Equal(t, c.want != NoStandIn, p.Promotion != nil)
			if c.refused == "" {
				require.Empty(t, p.Refusals)
			} else {
				said := []string{}
				for _, r := range p.Refusals {
					said = append(said, r.Rule+": "+r.Partition+map[bool]string{true: ": " + r.Reason}[r.Partition == ""])
				}
				require.Contains(t, strings.Join(said, "\n"), c.refused)
				require.Equal(t, exit.Refused, exit.Code(p.Refuse()))
			}
			if c.warned == "" {
				require.Empty(t, p.Warnings)
			} else {
				require.Contains(t, strings.Join(p.Warnings, "\n"), c.warned)
			}
		})
	}
}

func TestTheRestartOfACombinedNodeKeepsTheControllersMajority(t *testing.T) {
	v := view(t, operator(t, usual()))
	v.Voters, v.Following = ids(1, 2, 3), ids(1, 2, 3)
	for i := range v.Nodes {
		v.Nodes[i].Controller = slices.Contains(v.Voters, v.Nodes[i].ID)
	}
	require.Empty(t, PlanRestart(v, 1, NoStandIn, false).Refusals)
	v.Following = ids(1, 3)
	require.ErrorContains(t, PlanRestart(v, 1, NoStandIn, false).Refuse(), "no-majority")
	require.Empty(t, PlanRestart(v, 2, NoStandIn, false).Refusals, "2 does not follow: its restart takes nothing away")
}

// restart is one on the model: the broker goes away and comes back while it is looked for.
func restart(m *model, broker int32) Restart {
	looks := 0
	return Restart{Limit: time.Minute, Say: func(text string) { m.events = append(m.events, text) },
		Up: func(context.Context, int32) (bool, error) {
			m.now = m.now.Add(m.step)
			switch looks++; looks {
			case 2:
				m.kill(broker)
				m.settle()
			case 3:
				return false, errDown
			case 5:
				m.start(broker)
			}
			for _, b := range m.live {
				if b == broker {
					return true, nil
				}
			}
			return false, nil
		}}
}

func planned(t *testing.T, o *Operator, broker, standIn int32) RestartPlan {
	t.Helper()
	p, err := o.PlanRestart(t.Context(), broker, standIn, false)
	require.NoError(t, err)
	return p
}

func TestARestartPromotesWaitsGoesHomeAndDemotes(t *testing.T) {
	m := small()
	o := operator(t, m)
	r := restart(m, 1)
	up := r.Up
	r.Up = func(ctx context.Context, b int32) (bool, error) {
		is, err := up(ctx, b)
		for _, p := range m.parts {
			require.GreaterOrEqual(t, len(p.ISR), 2, "%s would have refused writes: %v", p, p.ISR)
		}
		return is, err
	}
	require.NoError(t, o.Restart(t.Context(), planned(t, o, 1, NoStandIn), r))
	var said []string
	for _, e := range m.events {
		if !strings.HasPrefix(e, "write") {
			said = append(said, e)
		}
	}
	require.Equal(t, []string{"restart broker 1 now", "broker 1 is gone", "broker 1 is back", "elect preferred t-0"}, said)
	require.Equal(t, ids(4), m.marked())
	require.Equal(t, int32(1), m.parts[0].Leader)
	n, err := o.Store.Restarting()
	require.NoError(t, err)
	require.Nil(t, n)
}

func TestARestartThatStopsNothingPromotesNobody(t *testing.T) {
	m := usual()
	o := operator(t, m)
	require.NoError(t, o.Restart(t.Context(), planned(t, o, 1, NoStandIn), restart(m, 1)))
	require.NotContains(t, strings.Join(m.events, "\n"), "write")
	require.Equal(t, int32(1), m.parts[0].Leader, "its leadership went home")
	require.Equal(t, int32(2), m.parts[1].Leader, "what it did not lead stays where it is")
}

// What was promoted before is not this command's to demote.
func TestARestartNeverDemotesWhatItDidNotPromote(t *testing.T) {
	m := small()
	for id := range m.content {
		m.content[id] = nil
	}
	o := operator(t, m)
	require.NoError(t, o.Restart(t.Context(), planned(t, o, 1, 4), restart(m, 1)))
	require.NotContains(t, strings.Join(m.events, "\n"), "write")
	require.Empty(t, m.marked())
}

func TestARestartThatFailsLeavesTheStandInAndIsFinishedLater(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *model, r *Restart)
		want   string
		code   int
	}{
		"its program fails": {func(_ *model, r *Restart) { r.Do = func(context.Context) error { return errors.New("unit not found") } }, "unit not found", exit.Failed},
		"it does not go away": {func(m *model, r *Restart) {
			r.Up = func(context.Context, int32) (bool, error) { m.now = m.now.Add(m.step); return true, nil }
		}, "not seen to go away", exit.Failed},
		"it does not come back": {func(m *model, r *Restart) {
			r.Up = func(context.Context, int32) (bool, error) { m.now = m.now.Add(m.step); m.kill(1); return false, nil }
		}, "is not back", exit.Failed},
		"its program never ends": {func(_ *model, r *Restart) { r.Do = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } }, "has not ended", exit.Failed},
		"another broker is gone": {func(m *model, _ *Restart) {
			m.before = func(e string) error { m.kill(map[bool]int32{true: 2}[e == "write 4 []"]); return nil }
		}, "right before the restart", exit.Refused},
		"it comes back lagging": {func(m *model, r *Restart) {
			up := r.Up
			r.Up = func(ctx context.Context, b int32) (bool, error) { m.at(m.parts[0], 1, 1, 5); return up(ctx, b) }
		}, "in every ISR", exit.Failed},
		"the stand-in is lagging": {func(m *model, _ *Restart) { m.at(m.parts[0], 4, 1, 5) }, "has not joined yet", exit.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			m := small()
			o := operator(t, m)
			r := restart(m, 1)
			c.change(m, &r)
			err := o.Restart(t.Context(), planned(t, o, 1, NoStandIn), r)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, FinishRestart)
			require.Equal(t, c.code, exit.Code(err))
			require.Empty(t, m.marked(), "it stands in until somebody goes back")
			n, err := o.Store.Restarting()
			require.NoError(t, err)
			require.Contains(t, n.String(), FinishRestart)
			require.Equal(t, exit.Refused, exit.Code(o.Restart(t.Context(), planned(t, o, 1, NoStandIn), r)), "one at a time")

			m.before = nil
			m.start(1, 2)
			for _, p := range m.parts {
				m.at(p, 1, 1, 100)
				m.at(p, 4, 1, 100)
			}
			require.NoError(t, o.FinishRestart(t.Context(), *n, time.Minute))
			require.Equal(t, ids(4), m.marked())
			n, err = o.Store.Restarting()
			require.NoError(t, err)
			require.Nil(t, n)
		})
	}
}

// The tool is killed while the files are written: what is pending is finished before the way back.
func TestARestartThatWasKilledWhileItPromotedIsFinished(t *testing.T) {
	m := small()
	o := operator(t, m)
	p := planned(t, o, 1, NoStandIn)
	require.NoError(t, o.Store.save(restartFile, Restarting{Broker: 1, StandIn: 4, Led: p.Led, Since: o.Now(), Who: "test"}))
	note := Pending{Change: observer.Promote, Before: ids(4), List: ids(), Nodes: ids(2, 4), Since: o.Now(), Who: "test"}
	require.NoError(t, o.Store.save(pendingFile, note))
	for _, id := range ids(101, 102, 103, 1) {
		m.content[id] = nil
	}
	n, err := o.Store.Restarting()
	require.NoError(t, err)
	require.NoError(t, o.FinishRestart(t.Context(), *n, time.Minute))
	require.Equal(t, ids(4), m.marked())
	for id, content := range m.content {
		require.Equal(t, ids(4), observer.ParseFile(content).IDs, "node %d", id)
	}
	n, err = o.Store.Restarting()
	require.NoError(t, err)
	require.Nil(t, n)
}

func TestARestartWhosePromotionWasTakenBackLeavesNothing(t *testing.T) {
	m := small()
	o := operator(t, m)
	m.down[2] = false
	m.before = func(e string) error {
		if strings.HasPrefix(e, "write 2 ") {
			return errDown
		}
		return nil
	}
	err := o.Restart(t.Context(), planned(t, o, 1, NoStandIn), restart(m, 1))
	require.ErrorContains(t, err, "was not distributed")
	require.NotContains(t, err.Error(), FinishRestart)
	require.Equal(t, ids(4), m.marked())
	n, err := o.Store.Restarting()
	require.NoError(t, err)
	require.Nil(t, n)
}

func TestATopicThatIsHiddenFromTheToolStopsARestart(t *testing.T) {
	m := usual()
	o := operator(t, m)
	m.hidden = []observer.Partition{{Topic: "secret", ID: 7}}
	require.ErrorContains(t, planned(t, o, 1, NoStandIn).Refuse(), "secret-7")

	// One that only the stand-in has would bar its demotion afterwards.
	m = small()
	o = operator(t, m)
	m.hidden = []observer.Partition{{Topic: "secret", ID: 7, Replicas: ids(4)}}
	require.ErrorContains(t, planned(t, o, 1, NoStandIn).Refuse(), "secret-7")
	m.hidden[0].Replicas = ids(2)
	require.NoError(t, planned(t, o, 1, NoStandIn).Refuse())
}

// A member of the ISR that is away already is not one that takes the writes.
func TestADeadMemberOfTheISRIsNotCountedOn(t *testing.T) {
	v := view(t, operator(t, usual()))
	v.Live = ids(1, 2, 4)
	p := PlanRestart(v, 1, NoStandIn, false)
	require.Equal(t, []string{"t-0", "u-0"}, p.Stops, "ISR 1, 2, 3 with 3 away and not yet taken out")
	require.Equal(t, int32(4), p.StandIn)
}

// Taking the promotion back fails on a node: the list is pending, and so is the restart.
func TestARestartWhosePromotionCouldNotBeTakenBackIsKept(t *testing.T) {
	m := small()
	o := operator(t, m)
	m.before = func(e string) error {
		if strings.HasPrefix(e, "write 2 ") || strings.HasPrefix(e, "undo 101 ") {
			return errDown
		}
		return nil
	}
	err := o.Restart(t.Context(), planned(t, o, 1, NoStandIn), restart(m, 1))
	require.ErrorContains(t, err, "was not distributed")
	require.ErrorContains(t, err, FinishRestart)
	pending, err := o.Store.Pending()
	require.NoError(t, err)
	require.NotNil(t, pending)
	n, err := o.Store.Restarting()
	require.NoError(t, err)
	require.NotNil(t, n, "pending --finish would promote the stand-in, and nobody would know what for")

	m.before = nil
	require.NoError(t, o.FinishRestart(t.Context(), *n, time.Minute))
	require.Equal(t, ids(4), m.marked())
}

// cutOff is a restart that has failed with its stand-in promoted.
func cutOff(t *testing.T) (*model, *Operator, Restarting) {
	m := small()
	o := operator(t, m)
	r := restart(m, 1)
	r.Do = func(context.Context) error { return errors.New("unit not found") }
	require.Error(t, o.Restart(t.Context(), planned(t, o, 1, NoStandIn), r))
	require.Empty(t, m.marked())
	m.start(1)
	n, err := o.Store.Restarting()
	require.NoError(t, err)
	require.NotNil(t, n)
	return m, o, *n
}

func TestAStandInThatSomebodyDemotedAndPromotedIsNotTheRestartsAnyMore(t *testing.T) {
	m, o, n := cutOff(t)
	_, err := o.Demote(t.Context(), PlanDemotion(view(t, o), 4, true), time.Minute)
	require.NoError(t, err)
	_, err = o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Minute)
	require.NoError(t, err)
	require.Error(t, o.FinishRestart(t.Context(), n, time.Minute))
	require.Empty(t, m.marked(), "a person's promotion")
}

// The tool is killed before the first file, and a person promotes the same observer.
func TestAPromotionAfterARestartThatPromotedNobodyIsThePersons(t *testing.T) {
	m := small()
	o := operator(t, m)
	n := Restarting{Broker: 1, StandIn: 4, Since: o.Now(), Who: "test"}
	require.NoError(t, o.Store.save(restartFile, n))
	_, err := o.Promote(t.Context(), PlanPromotion(view(t, o), 4), time.Minute)
	require.NoError(t, err)
	require.Error(t, o.FinishRestart(t.Context(), n, time.Minute))
	require.Empty(t, m.marked())
}

// --finish asks a person first; the restart may be another one by the answer.
func TestOnlyTheRestartThatWasShownIsFinished(t *testing.T) {
	m, o, n := cutOff(t)
	other := n
	other.Since = n.Since.Add(time.Second)
	require.NoError(t, o.Store.save(restartFile, other))
	err := o.FinishRestart(t.Context(), n, time.Minute)
	require.ErrorContains(t, err, FinishRestart)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.Empty(t, m.marked())
}

// A topic that is made meanwhile and is hidden might stop as well as one that was there.
func TestAHiddenTopicThatAppearsMeanwhileStopsTheRestart(t *testing.T) {
	m := small()
	o := operator(t, m)
	m.before = func(string) error {
		m.hidden = []observer.Partition{{Topic: "secret", ID: 7, Replicas: ids(1)}}
		return nil
	}
	err := o.Restart(t.Context(), planned(t, o, 1, NoStandIn), restart(m, 1))
	require.ErrorContains(t, err, "right before the restart")
	require.ErrorContains(t, err, "secret-7")
	require.NotContains(t, m.events, "restart broker 1 now")
}
