package promoter

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

func every(observer.Partition) bool { return true }

func ballot(t *testing.T, o *Operator, accept bool) Ballot {
	t.Helper()
	b, err := o.Ballot(t.Context(), every, accept)
	require.NoError(t, err)
	return b
}

// rescue is a cluster whose sync replicas are all dead; 4 is promoted already.
func rescue() *model {
	m := newModel(ids(1, 2, 3, 4), nil, part("t", 1, ids(1, 2, 3, 4), ids(1)))
	m.at(m.parts[0], 1, 3, 120)
	m.at(m.parts[0], 2, 2, 60)
	m.at(m.parts[0], 3, 3, 90)
	m.at(m.parts[0], 4, 3, 100)
	m.kill(1, 2, 3)
	m.settle()
	m.hw[m.parts[0].String()] = 1000 // nobody joins by itself
	return m
}

func TestRescueAsksForTheWordThenElectsThePromotedReplica(t *testing.T) {
	m := rescue()
	o := operator(t, m)
	require.NoError(t, o.Store.Record(observer.View{Partitions: []observer.Partition{part("t", 1, ids(1, 2, 3, 4), ids(1))}}, ids(4),
		Positions{Watermarks: map[string]int64{"t-0": 110}, Replicas: map[string]map[int32]observer.Position{"t-0": {4: {Broker: 4, End: 70}}}}, m.now.Add(-10*time.Second)))
	b := ballot(t, o, false)
	_, err := o.Elect(t.Context(), b, time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, "--accept-data-loss")
	require.Empty(t, m.events)

	b = ballot(t, o, true)
	require.Equal(t, int64(10), b.Votes[0].Bound.Records, "110 were committed, 4 has 100")
	require.Len(t, b.Lossy(), 1)
	b, err = o.Elect(t.Context(), b, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"elect preferred t-0", "elect unclean t-0"}, m.events, "preferred first")
	require.Equal(t, int32(4), m.parts[0].Leader)
	require.Equal(t, "led by 4", b.Votes[0].Outcome)
	require.Empty(t, kept(t, o, beforeElection))
}

func TestALiveMemberOfTheISRIsElectedWithoutLoss(t *testing.T) {
	m := rescue()
	m.start(1)
	o := operator(t, m)
	b := ballot(t, o, false)
	require.NoError(t, b.Refuse())
	b, err := o.Elect(t.Context(), b, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"elect preferred t-0"}, m.events)
	require.Contains(t, b.Votes[0].Outcome, "led by 1")
}

func TestAPartitionThatIsGoneAfterItsElectionIsNotCalledLed(t *testing.T) {
	m := usual()
	o := operator(t, m)
	parts := m.parts
	m.before = func(string) error { m.parts = m.parts[:1]; return nil }
	after, err := o.ElectPreferred(t.Context(), parts, time.Second)
	require.ErrorContains(t, err, "who leads u-0 is not known")
	require.Equal(t, int32(1), after["t-0"])
}

func TestAStaleReplicaThatIsAliveAlreadyIsPutBehind(t *testing.T) {
	m := rescue()
	m.start(2)
	o := operator(t, m)
	var said bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&said, nil))
	_, err := o.Elect(t.Context(), ballot(t, o, true), time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"elect preferred t-0", "reorder t-0 [4 1 2 3]", "elect unclean t-0"}, m.events)
	require.Equal(t, int32(4), m.parts[0].Leader)
	files := kept(t, o, beforeElection)
	require.Len(t, files, 1)
	require.Contains(t, said.String(), files[0])
	require.NotContains(t, said.String(), "--throttle", "no copy without a bound, whatever somebody has moved since")
	require.Equal(t, []placement.Partition{{Topic: "t", Replicas: ids(1, 2, 3, 4), Leader: -1}}, assignments(t, files[0]))
}

// The stale broker 2 comes first in the assignment: had the election gone on, it would have won
// and 40 records would be gone.
func TestAStaleBrokerThatReturnsBetweenCheckAndElectionIsNotElected(t *testing.T) {
	for _, when := range []string{"before the command's look again", "after the preferred election"} {
		t.Run(when, func(t *testing.T) {
			m := rescue()
			o := operator(t, m)
			b := ballot(t, o, true)
			if when == "after the preferred election" {
				m.before = func(e string) error {
					if strings.HasPrefix(e, "elect preferred") {
						m.start(2)
					}
					return nil
				}
			} else {
				m.start(2)
			}
			b, err := o.Elect(t.Context(), b, time.Minute)
			require.Equal(t, exit.Refused, exit.Code(err))
			require.ErrorContains(t, err, observer.RuleChanged)
			require.Equal(t, []string{"elect preferred t-0"}, m.events)
			require.Equal(t, observer.NoLeader, m.parts[0].Leader)
			require.Equal(t, "refused", b.Votes[0].Outcome)
			// The command run again sees it, and puts it behind.
			m.before = nil
			_, err = o.Elect(t.Context(), ballot(t, o, true), time.Minute)
			require.NoError(t, err)
			require.Equal(t, int32(4), m.parts[0].Leader)
		})
	}
}

func TestAnElectionOnAListThatDiffersIsRefused(t *testing.T) {
	m := rescue()
	m.content[102] = observer.RenderFile(ids(4), false)
	o := operator(t, m)
	_, err := o.Elect(t.Context(), ballot(t, o, true), time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err))
	require.ErrorContains(t, err, observer.RuleDiffer)
	require.Empty(t, m.events)
}

func TestOnePartitionThatIsRefusedDoesNotHoldUpTheOthers(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4), nil, part("a", 1, ids(1, 4), ids(1)), part("b", 2, ids(2, 3), ids(2)), part("c", 1, ids(1, 4), ids(1)))
	m.kill(1, 2, 3)
	for _, p := range m.parts {
		m.hw[p.String()] = 1000
	}
	o := operator(t, m)
	b, err := o.Elect(t.Context(), ballot(t, o, true), time.Minute)
	require.Equal(t, exit.Refused, exit.Code(err), "also when the others worked")
	require.ErrorContains(t, err, "b-0")
	var outcomes []string
	for _, v := range b.Votes {
		outcomes = append(outcomes, fmt.Sprintf("%s: %s", v.Partition, v.Outcome))
	}
	require.Equal(t, []string{"a-0: led by 4", "b-0: refused", "c-0: led by 4"}, outcomes)
}

func TestPositionsOfObserversThatDoNotAnswerAreKept(t *testing.T) {
	store, err := OpenStore(t.TempDir(), "c")
	require.NoError(t, err)
	v := observer.View{Partitions: []observer.Partition{part("t", 1, ids(1, 4), ids(1))}}
	zero := time.Unix(1000, 0)
	note := func(second int, hw int64, end int64) {
		p := Positions{Watermarks: map[string]int64{"t-0": hw}, Replicas: map[string]map[int32]observer.Position{"t-0": {}}}
		if end >= 0 {
			p.Replicas["t-0"][4] = observer.Position{Broker: 4, End: end}
		}
		require.NoError(t, store.Record(v, ids(4), p, zero.Add(time.Duration(second)*time.Second)))
	}
	note(0, 10, 10)
	note(10, 20, -1)
	note(20, 30, -1)
	all, err := store.Recordings()
	require.NoError(t, err)
	b := all["t-0"].Bound(10, zero.Add(20*time.Second))
	require.Equal(t, int64(20), b.Records)
	require.Equal(t, 20.0, b.Seconds, "the observer's silence is not taken for its having caught up")
	v.Partitions[0].Leader = observer.NoLeader
	note(25, 0, 10)
	all, err = store.Recordings()
	require.NoError(t, err)
	require.Equal(t, 25.0, all["t-0"].Bound(10, zero.Add(time.Hour)).Seconds)
}
