package witness

import (
	"fmt"
	"math"
	"slices"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// The rules of Late.
const (
	PromotedInTime = "where a partition is under its minimum and an observer lives that lacks nothing, one is promoted within the bound"
	DemotedInTime  = "who is no longer needed is demoted within the bound"
)

// Took is how long something was due until auto's log said that it was done, in milliseconds.
type Took struct {
	Broker int32   `json:"broker"`
	At     float64 `json:"at_ms"`
	MS     float64 `json:"ms"`
	Bound  float64 `json:"bound_ms"`
}

// Late asks whether something that was due was not done in time, and gives how long what was done
// took.
func (s Story) Late() (findings []check.Finding, promotions, demotions []Took) {
	all := s.Changes()
	p, promotions := s.promoted(all)
	d, demotions := s.demoted(all)
	return []check.Finding{p, d}, promotions, demotions
}

// episode is a time in which something was due in every sample.
type episode struct {
	key      string
	broker   int32
	from, to float64
}

// episodes gives the longest times in which keys were due in every sample. Due gives the keys of
// one sample with the broker in question.
func (s Story) episodes(due func(e history.Event) map[string]int32) []episode {
	var done []episode
	open := map[string]*episode{}
	for _, e := range s.views(0, math.Inf(1)) {
		now := due(e)
		for k, o := range open {
			if _, ok := now[k]; !ok {
				done = append(done, *o)
				delete(open, k)
			}
		}
		for k, b := range now {
			if open[k] == nil {
				open[k] = &episode{key: k, broker: b, from: e.At}
			}
			open[k].to = e.At
		}
	}
	for _, o := range open {
		done = append(done, *o)
	}
	return done
}

// bound adds what a silent node may cost.
func (s Story) bound(usual float64, e episode) float64 {
	if slices.ContainsFunc(s.Down, func(d Span) bool { return d.Frozen && d.From <= e.to && d.To+s.Settings.Window >= e.from }) {
		return usual + s.Settings.Silent
	}
	return usual
}

// free tells whether auto could act at the time: it holds the lock, nobody else changes the list or
// a file, and no controller has just been lost.
func (s Story) free(at float64) bool {
	return slices.ContainsFunc(s.Able, func(a Span) bool { return a.From <= at && at <= a.To }) &&
		!slices.ContainsFunc(s.Hands, func(h Hand) bool { return h.From <= at && at <= h.To+s.Settings.Window }) &&
		!slices.ContainsFunc(s.Down, func(d Span) bool {
			return d.Node >= firstController && d.From <= at && at <= min(d.To, d.From+s.Settings.Silent)
		})
}

// firstController is the least id of a separate controller (package cluster).
const firstController = 101

// barred tells whether the cooldown or a person's change keeps auto from the broker.
func (s Story) barred(all []Change, broker int32, at float64) bool {
	return slices.ContainsFunc(all, func(c Change) bool {
		switch {
		case c.Broker != broker || c.From > at:
			return false
		case c.By == ByAuto:
			return c.Kind == observer.Promote && at < c.From+s.Settings.Cooldown
		}
		return at < c.To+s.Settings.Hold+s.Settings.Window
	})
}

func (s Story) promoted(all []Change) (check.Finding, []Took) {
	episodes := s.episodes(func(e history.Event) map[string]int32 { return s.asking(all, e) })
	return s.inTime(PromotedInTime, episodes, s.Settings.Promote, func(e episode) string { return fmt.Sprintf("%s: broker %d was fit", e.key, e.broker) }),
		s.took(episodes, promoter.AuditPromote, s.Settings.Promote)
}

// inTime asks that no episode lasted longer than its bound; say names one.
func (s Story) inTime(rule string, episodes []episode, usual float64, say func(episode) string) check.Finding {
	t := tally{rule: rule, looked: len(episodes)}
	for _, e := range episodes {
		if bound := s.bound(usual, e); e.to-e.from > bound {
			t.add("%s from %.0f ms on for %.1f s, the bound is %.1f s", say(e), e.from, (e.to-e.from)/1000, bound/1000)
		}
	}
	return t.finding("times in which one was due")
}

// asking gives the partitions that are under their minimum and have a fit observer, or one whose
// promotion is under way. It counts from when the cluster knows who is gone: until a broker is fenced
// it may be what answers for the lock.
func (s Story) asking(all []Change, e history.Event) map[string]int32 {
	out := map[string]int32{}
	if !s.free(e.At) || s.busy(observer.Demote, e.At, s.Settings.Observers...) {
		return out
	}
	if slices.ContainsFunc(e.View.Brokers, func(b int32) bool { return s.gone(b, e.At) }) {
		return out
	}
	some, marked := s.marks(e.At)
	for _, p := range e.View.Partitions {
		if !s.under(p, some) || !slices.Contains(e.View.Brokers, p.Leader) {
			continue
		}
		for _, b := range s.Settings.Observers {
			if !slices.Contains(p.Replicas, b) || !s.lives(e, b) {
				continue
			}
			if s.busy(observer.Promote, e.At, b) || slices.Contains(marked, b) && s.fit(e, b, some) && !s.barred(all, b, e.At) {
				out[fmt.Sprintf("%s-%d", p.Topic, p.ID)] = b
			}
		}
	}
	return out
}

// lives tells whether the broker was listed, and not taken down by the lab.
func (s Story) lives(e history.Event, broker int32) bool {
	return slices.Contains(e.View.Brokers, broker) && !s.down(broker, e.At)
}

// fit tells whether the broker has all of every partition that asks for it, as far as a sample can
// show that. A leader that was elected while its watermark trailed cannot tell it as long as the
// partition is under its minimum; its log end is no less.
func (s Story) fit(e history.Event, broker int32, marked []int32) bool {
	return !slices.ContainsFunc(e.View.Partitions, func(p history.Partition) bool {
		if !slices.Contains(p.Replicas, broker) || !s.under(p, marked) {
			return false
		}
		committed, known := p.HW, p.HW >= 0
		if !known {
			committed, known = p.LEO[p.Leader]
		}
		end, ok := p.LEO[broker]
		return !ok || !known || end < committed
	})
}

func (s Story) demoted(all []Change) (check.Finding, []Took) {
	episodes := s.episodes(func(e history.Event) map[string]int32 { return s.spare(all, e) })
	return s.inTime(DemotedInTime, episodes, s.Settings.Demote, func(e episode) string { return fmt.Sprintf("broker %d could be spared", e.broker) }),
		s.took(episodes, promoter.AuditDemote, s.Settings.Demote)
}

// spare gives the brokers that auto has promoted and that are not needed.
func (s Story) spare(all []Change, e history.Event) map[string]int32 {
	out := map[string]int32{}
	if !s.free(e.At) || s.busy(observer.Promote, e.At, s.Settings.Observers...) {
		return out
	}
	some, _ := s.marks(e.At)
	for _, b := range s.Settings.Observers {
		marked := observer.With(some, b)
		well := !slices.ContainsFunc(e.View.Partitions, func(p history.Partition) bool {
			return slices.Contains(p.Replicas, b) && (p.Leader < 0 || syncs(e.View, p, marked) < min(s.Settings.MinISR, len(p.Replicas)))
		})
		if well && s.owned(all, b, e.At) {
			out[fmt.Sprint(b)] = b
		}
	}
	return out
}

// owned tells whether auto has promoted the broker and nobody has taken a file of it back.
func (s Story) owned(all []Change, broker int32, at float64) bool {
	own := false
	for _, c := range all {
		if c.Broker != broker || c.From > at {
			continue
		}
		switch {
		case c.Kind == observer.Promote:
			own = c.By == ByAuto && !c.Undone && c.To <= at
		case !c.Undone && c.To <= at:
			own = false
		}
	}
	return own
}

// took pairs episodes with the log's lines: the first line of the event for the broker that comes
// within or right after one. Several episodes that one line ends count from the earliest.
func (s Story) took(episodes []episode, event string, usual float64) []Took {
	var out []Took
	for _, l := range s.Audit {
		if l.Event != event {
			continue
		}
		var first *episode
		for i, e := range episodes {
			if e.from <= l.At && l.At <= e.to+s.Settings.Window && (event == promoter.AuditPromote || e.broker == l.Broker) && (first == nil || e.from < first.from) {
				first = &episodes[i]
			}
		}
		if first != nil {
			out = append(out, Took{Broker: l.Broker, At: l.At, MS: l.At - first.from, Bound: s.bound(usual, *first)})
		}
	}
	return out
}
