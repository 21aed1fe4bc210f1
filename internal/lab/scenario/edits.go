package scenario

import (
	"fmt"
	"slices"

	"observer-patch/internal/lab/history"
)

// change is an edit with what it took out and what it put in, of the files of all nodes.
type change struct {
	began, at   float64
	gone, added []int32
}

// changes gives the edits of all nodes' files in order of time. The first edit of a run gives the nodes the plan's list
// before the topic exists, whether they have had it or not, and is left out.
func changes(h history.History) []change {
	var out []change
	var old *history.Edit
	for _, e := range h {
		if e.Edit == nil {
			continue
		}
		if old != nil {
			c := change{began: e.Edit.Began, at: e.At, gone: less(old.IDs, e.Edit.IDs), added: less(e.Edit.IDs, old.IDs)}
			if len(c.gone) > 0 || len(c.added) > 0 {
				out = append(out, c)
			}
		}
		old = e.Edit
	}
	return out
}

// inForce is the time from which the plan's list has had its effect on every partition: the beginning when the nodes had
// it before, and otherwise what a demotion may take.
func inForce(h history.History) float64 {
	for _, e := range h {
		if e.Edit != nil && !e.Edit.Initial {
			return e.At + DemotionWindow
		}
		if e.Edit != nil {
			break
		}
	}
	return 0
}

// less gives the ids of a that are not in b.
func less(a, b []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(a), func(id int32) bool { return slices.Contains(b, id) })
}

// promotions measures, for every id that an edit took out, the time until it was in the ISR of all
// partitions. With a bound the median is judged by it.
func (o *Outcome) promotions(h history.History, p Plan, bound float64) {
	var times []float64
	for _, c := range changes(h) {
		for _, id := range c.gone {
			at, ok := h.AllParts(p.Topic, c.at, func(s history.Sample) bool { return s.InISR(id) })
			if !ok {
				o.measure(Measure{Name: fmt.Sprintf("promotion of %d", id), From: "edit of the last file", To: "in the ISR of all partitions"}, false)
				continue
			}
			times = append(times, at-c.at)
		}
	}
	o.spread("promotion", times, bound, "edit of the last file", "in the ISR of all partitions, as a broker's metadata says")
}

// demotions measures, for every id that an edit put in, the time until it had left all ISRs.
func (o *Outcome) demotions(h history.History, p Plan) {
	var times []float64
	for _, c := range changes(h) {
		for _, id := range c.added {
			at, ok := h.AllParts(p.Topic, c.at, func(s history.Sample) bool { return !s.InISR(id) })
			if !ok {
				o.measure(Measure{Name: fmt.Sprintf("demotion of %d", id), From: "edit of the last file", To: "out of all ISRs"}, false)
				continue
			}
			times = append(times, at-c.at)
		}
	}
	if len(times) > 0 {
		slices.Sort(times)
		o.measure(Measure{Name: "demotion, longest", MS: times[len(times)-1], Max: DemotionWindow,
			From: "edit of the last file", To: "out of all ISRs, as a broker's metadata says"}, true)
	}
}

// spread adds the median, the 95th percentile and the number of times.
func (o *Outcome) spread(name string, times []float64, bound float64, from, to string) {
	if len(times) == 0 {
		o.measure(Measure{Name: name, From: from, To: to}, false)
		return
	}
	slices.Sort(times)
	if len(times) == 1 {
		o.measure(Measure{Name: name, MS: times[0], Max: bound, From: from, To: to}, true)
		return
	}
	o.measure(Measure{Name: name + " p50", MS: quantile(times, 0.5), Max: bound, From: from, To: to}, true)
	o.measure(Measure{Name: name + " p95", MS: quantile(times, 0.95), From: from, To: to}, true)
	o.Notes = append(o.Notes, fmt.Sprintf("%s: %d times, %.0f to %.0f ms", name, len(times), times[0], times[len(times)-1]))
}
