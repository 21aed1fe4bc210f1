package witness

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// teller builds a story: brokers 1 and 2 are sync, 3 and 4 observers of t-0, files lie on nodes 1
// and 101, samples are taken every 200 ms.
type teller struct {
	Story
	isr    []int32
	leader int32
	alive  []int32
	end    map[int32]int64
	hw     int64
	now    float64
}

func tell() *teller {
	t := &teller{isr: ids(1, 2), leader: 1, alive: ids(1, 2, 3, 4), end: map[int32]int64{1: 100, 3: 100, 4: 100}, hw: 100}
	t.Settings = Settings{Observers: ids(3, 4), Nodes: ids(1, 101), MinISR: 2, Cooldown: 8000, Hold: 5000, Window: 3000, Sample: 1000, Promote: 5000, Demote: 9000, Silent: 8000}
	t.Able = []Span{{From: 0, To: math.Inf(1)}}
	return t
}

func ids(ids ...int32) []int32 { return ids }

// goes lets time go by with samples.
func (t *teller) goes(ms float64) *teller {
	for end := t.now + ms; t.now < end; t.now += 200 {
		p := history.Partition{Topic: "t", Leader: t.leader, Replicas: ids(1, 2, 3, 4), ISR: t.isr, HW: t.hw, LEO: map[int32]int64{}}
		for b, end := range t.end {
			p.LEO[b] = end
		}
		t.History = append(t.History, history.Event{At: t.now, View: &history.View{From: t.now - 10, Via: t.alive[0], Brokers: t.alive, Partitions: []history.Partition{p}}})
	}
	return t
}

// is sets leader and ISR from now on.
func (t *teller) is(leader int32, isr ...int32) *teller {
	t.leader, t.isr = leader, isr
	return t
}

// lives sets who is listed from now on.
func (t *teller) lives(alive ...int32) *teller {
	t.alive = alive
	return t
}

// file writes a node's list now.
func (t *teller) file(node int32, list ...int32) *teller {
	t.now++
	t.Files = append(t.Files, File{Node: node, Before: t.now - 1, At: t.now, IDs: list})
	return t
}

// says writes a line of the audit log now.
func (t *teller) says(event string, kind observer.Change, broker int32) *teller {
	t.now++
	t.Audit = append(t.Audit, Line{At: t.now, AuditLine: promoter.AuditLine{Event: event, Rule: string(kind), Broker: broker}})
	return t
}

func (t *teller) promotes(b int32, list ...int32) *teller {
	return t.says(promoter.AuditBegin, observer.Promote, b).file(101, list...).file(1, list...).is(t.leader, append(ids(b), t.isr...)...).goes(400).says(promoter.AuditPromote, observer.Promote, b)
}

func (t *teller) demotes(b int32, list ...int32) *teller {
	return t.says(promoter.AuditBegin, observer.Demote, b).file(1, list...).file(101, list...).goes(400).says(promoter.AuditDemote, observer.Demote, b)
}

// hand has a person at the broker, or the lab at a node, while do is told.
func (t *teller) hand(h Hand, do func()) *teller {
	t.now++
	h.From = t.now
	do()
	h.To = t.now
	t.Hands = append(t.Hands, h)
	return t
}

// good is a story without fault: 2 is lost, 3 helps out and is demoted again.
func good() *teller {
	return tell().goes(2000).is(1, 1).lives(1, 3, 4).goes(1500).promotes(3, 4).goes(3000).
		lives(1, 2, 3, 4).is(1, 1, 2, 3).goes(2000).demotes(3, 3, 4).is(1, 1, 2).goes(2000)
}

func (t *teller) broken() []string {
	late, _, _ := t.Late()
	var out []string
	for _, f := range append(t.Wrong(), late...) {
		if !f.OK {
			out = append(out, f.Rule)
		}
	}
	return out
}

func TestEveryRuleIsBrokenByAStoryOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		told *teller
		want []string
	}{
		"all is well": {good(), nil},
		"a promotion that no log knows": {
			tell().is(1, 1).lives(1, 3, 4).goes(1000).file(101, 4).file(1, 4).is(1, 1, 3).goes(1000), []string{Written}},
		"a log that knows of a promotion that no file shows": {
			tell().goes(1000).says(promoter.AuditBegin, observer.Promote, 3).says(promoter.AuditPromote, observer.Promote, 3).goes(1000), []string{Written}},
		"a promotion while all is well": {
			tell().goes(4000).promotes(3, 4).goes(1000), []string{Reason}},
		"a promotion long after the reason is gone": {
			tell().is(1, 1).goes(1000).is(1, 1, 2).goes(4000).promotes(3, 4).goes(1000), []string{Reason}},
		"a promotion because of what a node that was frozen still knows": {
			func() *teller {
				s := tell().is(1, 1).goes(2000)
				s.Down = append(s.Down, Span{Node: 1, From: 0, To: 1500, Frozen: true})
				return s.is(1, 1, 2).goes(3000).promotes(3, 4).goes(1000)
			}(), []string{Reason}},
		"a promotion right before the sample that shows the reason": {
			tell().goes(4000).says(promoter.AuditBegin, observer.Promote, 3).file(101, 4).file(1, 4).is(1, 1).goes(400).says(promoter.AuditPromote, observer.Promote, 3).goes(400), nil},
		"a promotion of one that lags": {
			func() *teller { s := tell(); s.end[3] = 90; return s.is(1, 1).goes(3000).promotes(3, 4).goes(1000) }(), []string{Reason}},
		"a demotion of a person's promotion": {
			byPerson(observer.Promote, 7000).demotes(3, 3, 4), []string{OwnOnly}},
		"a demotion by a person of a person's promotion": {
			byPerson(observer.Promote, 7000).byHand(observer.Demote, 3), nil},
		"against a person": {
			byPerson(observer.Demote, 500).is(1, 1).lives(1, 3, 4).goes(400).promotes(3, 4).goes(400), []string{Precedence}},
		"a person's change is over for long": {
			byPerson(observer.Demote, 6000).is(1, 1).lives(1, 3, 4).goes(400).promotes(3, 4).goes(400), nil},
		"a promotion while a node's file differs": {
			func() *teller {
				s := tell().goes(1000)
				return s.hand(Hand{Node: 1}, func() {
					s.file(1).is(1, 1).lives(1, 3, 4).goes(4000).says(promoter.AuditBegin, observer.Promote, 3).file(101, 4).goes(400).file(1, 3, 4)
				}).goes(400).
					file(1, 4).is(1, 1, 3).says(promoter.AuditPromote, observer.Promote, 3).goes(400)
			}(), []string{Differing}},
		"a node's file that differs is no promotion": {
			func() *teller {
				s := tell().goes(1000)
				return s.hand(Hand{Node: 1}, func() { s.file(1).goes(4000).file(1, 3, 4) }).goes(400)
			}(), nil},
		"a demotion that was cut off is finished when that is no longer allowed": {
			cutOff().is(1, 1, 3).lives(1, 3, 4).goes(4000).file(101, 3, 4).goes(400), []string{StaysEnough}},
		"a demotion that was cut off is taken back": {
			cutOff().is(1, 1, 3).lives(1, 3, 4).goes(4000).file(1, 4).goes(400), nil},
		"a demotion while the minimum needs him": {
			tell().goes(1000).is(1, 1).lives(1, 3, 4).goes(1000).promotes(3, 4).goes(4000).demotes(3, 3, 4), []string{StaysEnough}},
		"a demotion that counts on one that is away": {
			tell().goes(1000).is(1, 1).lives(1, 3, 4).goes(1000).promotes(3, 4).is(1, 1, 2, 3).goes(4000).demotes(3, 3, 4), []string{StaysEnough}},
		"a demotion of a leader": {
			tell().is(1, 1).goes(1000).promotes(3, 4).is(3, 1, 2, 3).goes(4000).demotes(3, 3, 4), []string{StaysEnough}},
		"two promotions within a cooldown": {
			tell().is(1, 1).lives(1, 3, 4).goes(400).promotes(3, 4).lives(1, 2, 3, 4).is(1, 1, 2, 3).goes(400).demotes(3, 3, 4).is(1, 1).lives(1, 3, 4).goes(400).promotes(3, 4).goes(400), []string{Cooldown}},
		"two brokers have a cooldown each": {
			tell().is(1, 1).lives(1, 3, 4).goes(400).promotes(3, 4).lives(1, 2, 4).is(1, 1).goes(400).promotes(4).goes(400), nil},
		"an observer leads": {
			tell().goes(1000).is(4, 4, 1, 2).goes(1000), []string{NoneLeads}},
		"nobody is promoted": {
			tell().goes(1000).is(1, 1).lives(1, 3, 4).goes(6000), []string{PromotedInTime}},
		"nobody is promoted because the leader cannot tell its watermark": {
			func() *teller { s := tell().goes(1000).is(1, 1).lives(1, 3, 4); s.hw = -1; return s.goes(6000) }(), []string{PromotedInTime}},
		"nobody reaches the log end of a leader that cannot tell its watermark": {
			func() *teller {
				s := tell().goes(1000).is(1, 1).lives(1, 3, 4)
				s.hw, s.end[1] = -1, 101
				return s.goes(6000)
			}(), nil},
		"nobody fit is alive": {
			tell().goes(1000).is(1, 1).lives(1).goes(20000), nil},
		"one that freezes costs more time": {
			func() *teller {
				s := tell().goes(1000).is(1, 1).lives(1, 3, 4)
				s.Down = append(s.Down, Span{Node: 2, From: 900, To: 30000, Frozen: true})
				return s.goes(12000).promotes(3, 4).goes(1000)
			}(), nil},
		"and not any time": {
			func() *teller {
				s := tell().goes(1000).is(1, 1).lives(1, 3, 4)
				s.Down = append(s.Down, Span{Node: 2, From: 900, To: 30000, Frozen: true})
				return s.goes(14000).promotes(3, 4).goes(1000)
			}(), []string{PromotedInTime}},
		"the cluster does not know yet who is gone": {
			func() *teller {
				s := tell().goes(1000).is(1, 1)
				s.Down = append(s.Down, Span{Node: 2, From: 900, To: 30000})
				return s.goes(8000)
			}(), nil},
		"it knows": {
			func() *teller {
				s := tell().goes(1000).is(1, 1)
				s.Down = append(s.Down, Span{Node: 2, From: 900, To: 30000})
				return s.goes(4000).lives(1, 3, 4).goes(6000)
			}(), []string{PromotedInTime}},
		"a promotion that was cut off counts for nothing when auto is there again": {
			tell().goes(1000).is(1, 1).lives(1, 3, 4).says(promoter.AuditBegin, observer.Promote, 3).goes(1000).says(promoter.AuditStart, "", -1).goes(5600), []string{PromotedInTime}},
		"nobody has the lock": {
			func() *teller { s := tell().goes(1000).is(1, 1).lives(1, 3, 4); s.Able = nil; return s.goes(9000) }(), nil},
		"he is not demoted": {
			tell().is(1, 1).goes(1000).promotes(3, 4).is(1, 1, 2, 3).goes(10000), []string{DemotedInTime}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.told.broken(), "%v", c.told.Wrong()) })
	}
}

// byHand has a person change a mark.
func (t *teller) byHand(kind observer.Change, b int32) *teller {
	list := ids(4)
	if kind == observer.Demote {
		list = ids(3, 4)
	}
	return t.hand(Hand{Broker: b}, func() { t.file(101, list...).file(1, list...).goes(400) })
}

// byPerson is a story in which a person has promoted 3, and demoted it too where that is the kind,
// so many milliseconds ago.
func byPerson(kind observer.Change, ago float64) *teller {
	t := tell().goes(1000).byHand(observer.Promote, 3).is(1, 1, 2, 3).goes(400)
	if kind == observer.Demote {
		t.byHand(observer.Demote, 3).is(1, 1, 2)
	}
	return t.goes(ago)
}

// cutOff is a story in which auto was killed after the first file of a demotion.
func cutOff() *teller {
	t := tell().is(1, 1).goes(1000).promotes(3, 4).is(1, 1, 2, 3).goes(2000).says(promoter.AuditBegin, observer.Demote, 3).file(1, 3, 4)
	t.Able[0].To = t.now
	return t
}

func TestChangesAreToldApartByWhoMadeThem(t *testing.T) {
	story := good()
	all := story.Changes()
	require.Len(t, all, 2)
	require.Equal(t, []string{ByAuto, ByAuto}, []string{all[0].By, all[1].By})
	require.Equal(t, observer.Promote, all[0].Kind)
	require.False(t, all[0].Undone)
	_, promotions, demotions := story.Late()
	require.Len(t, promotions, 1)
	require.Len(t, demotions, 1)
	require.InDelta(t, 1900, promotions[0].MS, 300, "from the first sample under the minimum")
	require.InDelta(t, 2400, demotions[0].MS, 300)
	back := cutOff().file(1, 4).Changes()
	require.True(t, back[1].Undone)
	either := tell()
	either.says(promoter.AuditBegin, observer.Promote, 3).byHand(observer.Promote, 3)
	require.Equal(t, ByEither, either.Changes()[0].By)
}

func TestAStoryWithoutSamplesShowsNothing(t *testing.T) {
	require.Contains(t, (&teller{}).broken(), NoneLeads)
}
