package promoter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/observer"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func enabled() Rules {
	r := DefaultRules()
	r.Enabled = true
	return r
}

// scan looks at the model: locked, with the positions of observers.
func scan(t *testing.T, m *model, at time.Time) Scan {
	t.Helper()
	v, err := m.Look(t.Context())
	require.NoError(t, err)
	v.Nodes = m.Read(t.Context())
	p, err := m.Positions(t.Context(), v.Partitions, false)
	require.NoError(t, err)
	return Scan{At: at, View: v, Positions: p, Locked: true}
}

// fallen is the usual cluster after 2 and 3 have died: the ISR is 1 alone.
func fallen() *model {
	m := usual()
	m.kill(2, 3)
	m.settle()
	return m
}

func skipped(skips []Skip) []string {
	out := []string{}
	for _, s := range skips {
		out = append(out, s.Rule)
	}
	return out
}

func TestAPartitionUnderItsMinimumGetsItsObserver(t *testing.T) {
	s, a, _ := enabled().Step(State{}, scan(t, fallen(), noon))
	require.NotNil(t, a)
	assert.Equal(t, observer.Promote, a.Change)
	assert.Equal(t, int32(4), a.Broker)
	assert.Equal(t, []string{"t-0", "u-0"}, a.Partitions)
	assert.Equal(t, []string{"t", "u"}, a.Topics, "the whole broker is promoted")
	_, a, skips := enabled().Step(s, scan(t, usual(), noon.Add(10*time.Second)))
	assert.Nil(t, a)
	assert.Empty(t, skips)
}

// Every reason not to promote, one row each.
func TestReasonsNotToPromote(t *testing.T) {
	held := State{Held: map[int32]time.Time{4: noon.Add(time.Minute)}}
	cool := State{Last: map[int32]time.Time{4: noon.Add(-299 * time.Second)}}
	for name, c := range map[string]struct {
		rules func(*Rules)
		scan  func(*Scan)
		model func(*model)
		state State
		want  string
	}{
		"off unless enabled":         {rules: func(r *Rules) { r.Enabled = false }, want: SkipDisabled},
		"no lock":                    {scan: func(s *Scan) { s.Locked = false }, want: SkipNoLock},
		"no controller majority":     {model: func(m *model) { m.majority = false }, want: observer.RuleNoMajority},
		"a distribution was cut off": {scan: func(s *Scan) { s.Pending = &Pending{} }, want: SkipPending},
		"lists differ":               {model: func(m *model) { m.content[1] = nil }, want: observer.RuleDiffer},
		"a file cannot be read":      {model: func(m *model) { m.down[1] = true }, want: observer.RuleUnknown},
		"one record behind":          {model: func(m *model) { m.at(m.parts[0], 4, 1, 99) }, want: SkipLag},
		"its position is not known":  {scan: func(s *Scan) { delete(s.Positions.Replicas["t-0"], 4) }, want: SkipLag},
		"the watermark is not known": {scan: func(s *Scan) { delete(s.Positions.Watermarks, "t-0") }, want: SkipLag},
		"one record behind the end of a leader that cannot tell its watermark": {scan: func(s *Scan) {
			delete(s.Positions.Watermarks, "t-0")
			s.Positions.Bounds = map[string]int64{"t-0": 101}
		}, want: SkipLag},
		"for how long it lags is not known": {rules: func(r *Rules) { r.MaxLagRecords, r.MaxLag = -1, time.Second }, want: SkipLag},
		"it lags too long": {rules: func(r *Rules) { r.MaxLagRecords, r.MaxLag = -1, time.Second }, scan: func(s *Scan) {
			s.Lags = map[string]map[int32]time.Duration{"t-0": {4: 2 * time.Second}, "u-0": {4: 0}}
		}, want: SkipLag},
		"cooldown":                        {state: cool, want: SkipCooldown},
		"a person has precedence":         {state: held, want: SkipPerson},
		"the observer is dead":            {model: func(m *model) { m.kill(4) }, want: SkipNoObserver},
		"no leader":                       {model: func(m *model) { m.kill(1) }, want: SkipLeaderless},
		"the broker carries other topics": {rules: func(r *Rules) { r.Policy, r.Topics = Never, map[string]Policy{"t": UnderMinISR} }, want: SkipOtherTopic},
	} {
		m, r := fallen(), enabled()
		if c.model != nil {
			c.model(m)
		}
		if c.rules != nil {
			c.rules(&r)
		}
		sc := scan(t, m, noon)
		if c.scan != nil {
			c.scan(&sc)
		}
		_, a, skips := r.Step(c.state, sc)
		assert.Nil(t, a, name)
		assert.Contains(t, skipped(skips), c.want, name)
	}
}

func TestGatesThatArePassed(t *testing.T) {
	m := fallen()
	m.at(m.parts[0], 4, 1, 90)
	r := enabled()
	r.MaxLagRecords = 10
	_, a, _ := r.Step(State{}, scan(t, m, noon))
	assert.NotNil(t, a, "10 records are allowed")
	sc := scan(t, fallen(), noon)
	delete(sc.Positions.Watermarks, "t-0")
	sc.Positions.Bounds = map[string]int64{"t-0": 100}
	_, a, _ = enabled().Step(State{}, sc)
	assert.NotNil(t, a, "the leader was just elected and cannot tell its watermark, the observer has all of its log")
	r.MaxLagRecords, r.MaxLag = -1, time.Second
	sc = scan(t, m, noon)
	sc.Lags = map[string]map[int32]time.Duration{"t-0": {4: time.Second}, "u-0": {4: 0}}
	_, a, _ = r.Step(State{}, sc)
	assert.NotNil(t, a, "one second is allowed")
	_, a, _ = enabled().Step(State{Last: map[int32]time.Time{4: noon.Add(-300 * time.Second)}}, scan(t, fallen(), noon))
	assert.NotNil(t, a, "the cooldown is over")
	r = enabled()
	r.Policy, r.Topics = Never, map[string]Policy{"t": UnderMinISR, "u": UnderMinISR}
	_, a, _ = r.Step(State{}, scan(t, fallen(), noon))
	assert.NotNil(t, a, "every topic of the broker has the policy")
	r = enabled()
	r.Policy, r.Placed = Never, []Placed{{"t*", UnderMinISR}, {"*", UnderMinISR}}
	_, a, _ = r.Step(State{}, scan(t, fallen(), noon))
	assert.NotNil(t, a, "the placements' policies count")
}

func TestPolicies(t *testing.T) {
	one := usual()
	one.kill(3)
	led := newModel(ids(1, 2, 4), ids(4), part("t", 4, ids(1, 2, 4), ids(4)))
	led.hw["t-0"] = 1000 // nobody joins
	for name, c := range map[string]struct {
		m      *model
		policy Policy
		acts   bool
	}{
		"one missing is not under the minimum": {one, UnderMinISR, false},
		"one missing is under-replicated":      {one, UnderReplicated, true},
		"a marked leader":                      {led, LeaderIsObserver, true},
		"an unmarked leader":                   {fallen(), LeaderIsObserver, false},
		"never":                                {fallen(), Never, false},
	} {
		r := enabled()
		r.Policy = c.policy
		_, a, _ := r.Step(State{}, scan(t, c.m, noon))
		assert.Equal(t, c.acts, a != nil, name)
	}
	_, err := ParsePolicy("always")
	assert.ErrorContains(t, err, "always")
}

func TestOfTwoObserversTheOneWithLessLagAndOneAScan(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4, 5), ids(4, 5), part("t", 1, ids(1, 2, 3, 4, 5), ids(1, 2, 3)))
	m.kill(2, 3)
	m.at(m.parts[0], 4, 1, 95)
	m.at(m.parts[0], 5, 1, 98)
	r := enabled()
	r.MaxLagRecords = 10
	_, a, skips := r.Step(State{}, scan(t, m, noon))
	require.NotNil(t, a)
	assert.Equal(t, int32(5), a.Broker)
	assert.Equal(t, []string{SkipWaiting}, skipped(skips))
	r.MaxLagRecords = 2
	_, a, skips = r.Step(State{}, scan(t, m, noon))
	require.NotNil(t, a)
	assert.Equal(t, []string{SkipLag}, skipped(skips), "the lagging one is skipped")
}

// promoted is the cluster after automatic promotion of 4.
func promoted(t *testing.T, m *model) State {
	t.Helper()
	s, a, _ := enabled().Step(State{}, scan(t, m, noon))
	require.NotNil(t, a)
	s = s.Began(*a)
	for id := range m.content {
		m.content[id] = observer.RenderFile(nil, false)
	}
	return s.Ended(*a, true)
}

func TestDemotionNeedsTwoChecksAndDoesNotWaitForTheCooldown(t *testing.T) {
	m := fallen()
	s := promoted(t, m)
	r := enabled()
	s, a, skips := r.Step(s, scan(t, m, noon.Add(10*time.Second)))
	require.Nil(t, a, "still needed")
	require.Equal(t, []string{SkipNotYet}, skipped(skips))
	m.start(2, 3)
	s, a, _ = r.Step(s, scan(t, m, noon.Add(20*time.Second)))
	require.Nil(t, a, "the first check")
	require.Equal(t, 5*time.Second, r.Next(s, 10*time.Second), "the second is made soon")
	s2, a, _ := r.Step(s, scan(t, m, noon.Add(24*time.Second)))
	require.Nil(t, a, "too soon")
	_, a, _ = r.Step(s2, scan(t, m, noon.Add(25*time.Second)))
	require.NotNil(t, a)
	require.Equal(t, observer.Demote, a.Change)
	require.Equal(t, int32(4), a.Broker)

	m.kill(2, 3)
	s, a, _ = r.Step(s, scan(t, m, noon.Add(25*time.Second)))
	require.Nil(t, a, "between the checks it was needed again")
	m.start(2, 3)
	_, a, _ = r.Step(s, scan(t, m, noon.Add(35*time.Second)))
	require.Nil(t, a, "so there have to be two checks again")
}

func TestAScanThatCannotSeeBreaksTheRowOfChecks(t *testing.T) {
	m := fallen()
	s := promoted(t, m)
	m.start(2, 3)
	s, _, _ = enabled().Step(s, scan(t, m, noon.Add(20*time.Second)))
	require.Len(t, s.Checked, 1)
	blind := scan(t, m, noon.Add(30*time.Second))
	blind.Locked = false
	s, _, _ = enabled().Step(s, blind)
	require.Empty(t, s.Checked)
}

func TestItDemotesOnlyWhatItPromoted(t *testing.T) {
	m := newModel(ids(1, 2, 3, 4), nil, part("t", 1, ids(1, 2, 3, 4), ids(1, 2, 3, 4)))
	s, a, _ := enabled().Step(State{}, scan(t, m, noon))
	require.Nil(t, a)
	_, a, _ = enabled().Step(s, scan(t, m, noon.Add(time.Hour)))
	require.Nil(t, a, "4 may have been an observer once; whoever took its mark away was somebody else")
}

func TestAPersonsChangeIsLeftAlone(t *testing.T) {
	m := fallen()
	s := promoted(t, m)
	s, _, _ = enabled().Step(s, scan(t, m, noon.Add(10*time.Second)))
	// A person puts 4 back among the observers although t is under its minimum.
	for id := range m.content {
		m.content[id] = observer.RenderFile(ids(4), false)
	}
	s, a, skips := enabled().Step(s, scan(t, m, noon.Add(400*time.Second)))
	require.Nil(t, a)
	require.Contains(t, skipped(skips), SkipPerson)
	require.Empty(t, s.Promoted)
	s, a, _ = enabled().Step(s, scan(t, m, noon.Add(410*time.Second)))
	require.Nil(t, a, "and stays alone")
	// The person promotes it again: not ours to demote.
	for id := range m.content {
		m.content[id] = observer.RenderFile(nil, false)
	}
	m.start(2, 3)
	for i := range 5 {
		s, a, _ = enabled().Step(s, scan(t, m, noon.Add(time.Duration(500+10*i)*time.Second)))
		require.Nil(t, a)
	}
}

func TestAKillInTheMiddleIsSettledByTheFiles(t *testing.T) {
	m := fallen()
	s, a, _ := enabled().Step(State{}, scan(t, m, noon))
	require.NotNil(t, a)
	began := s.Began(*a)
	began.Doing.Writing = true
	t.Run("before the first file", func(t *testing.T) {
		s, again, _ := enabled().Step(began, scan(t, m, noon.Add(10*time.Second)))
		require.Empty(t, s.Promoted)
		require.NotNil(t, again, "it is still needed, and no cooldown stands for something that did not happen")
	})
	t.Run("after the last", func(t *testing.T) {
		for id := range m.content {
			m.content[id] = observer.RenderFile(nil, false)
		}
		s, again, _ := enabled().Step(began, scan(t, m, noon.Add(10*time.Second)))
		require.Nil(t, again)
		require.Contains(t, s.Promoted, int32(4), "ours, so it will be demoted")
		require.Empty(t, s.Held, "and nobody takes it for a person's")
	})
}
