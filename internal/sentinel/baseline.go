package sentinel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Changes are what a report says that an earlier one did not.
type Changes struct {
	// Baseline is when the earlier run started.
	Baseline string `json:"baseline"`
	// Lines are for people, one change each, in the order of the targets; empty when nothing changed.
	Lines []string `json:"lines"`
	// Broken and Repaired are the targets and newcomers whose status got worse or passed again.
	Broken   []string `json:"broken"`
	Repaired []string `json:"repaired"`
}

// ReadReport reads a report in its JSON form; name is what errors call it.
func ReadReport(text []byte, name string) (Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w; expected a report.json of the sentinel", name, err)
	}
	if r.Worst == "" || r.Started == "" {
		return r, fmt.Errorf("%s: expected a report.json of the sentinel", name)
	}
	return r, nil
}

// Since gives what changed since the baseline. Only targets that both have are compared, since
// a shard's report has a part of them; figures are compared where both have them.
func (r Report) Since(base Report) *Changes {
	c := &Changes{Baseline: base.Started, Lines: []string{}, Broken: []string{}, Repaired: []string{}}
	before := map[string]Result{}
	for _, t := range base.Targets {
		before[t.Target] = t
	}
	for _, t := range r.Targets {
		old, ok := before[t.Target]
		if !ok {
			c.Lines = append(c.Lines, t.Target+": new in this report")
			continue
		}
		delete(before, t.Target)
		c.status(t.Target, old.Status(), t.Status())
		c.figure(t.Target, "diff", short(old.Diff), short(t.Diff))
		c.figure(t.Target, "proof", old.Level, t.Level)
		for _, name := range slices.Sorted(maps.Keys(t.Jars)) {
			c.figure(t.Target, name, short(old.Jars[name]), short(t.Jars[name]))
		}
		for _, m := range t.Misses {
			if !slices.ContainsFunc(old.Misses, func(o anchorMiss) bool { return o.Pos == m.Pos && o.Cause == m.Cause }) {
				c.Lines = append(c.Lines, fmt.Sprintf("%s: hook %s is now %s (%s)", t.Target, m.Hook, m.Cause, m.Pos))
			}
		}
	}
	for _, t := range base.Targets {
		if _, left := before[t.Target]; left && r.Shard == base.Shard {
			c.Lines = append(c.Lines, t.Target+": no longer in this report")
		}
	}
	c.newcomers(base.Newcomers, r.Newcomers)
	return c
}

func (c *Changes) newcomers(before, now []Newcomer) {
	for _, n := range now {
		i := slices.IndexFunc(before, func(o Newcomer) bool { return o.Name == n.Name })
		if i < 0 {
			c.Lines = append(c.Lines, fmt.Sprintf("upstream's %s is new: %s", n.Name, n.Verdict))
			continue
		}
		c.status(n.Name, before[i].Status, n.Status)
		c.figure(n.Name, "verdict", before[i].Verdict, n.Verdict)
		c.figure(n.Name, "commit", short(before[i].Commit), short(n.Commit))
	}
}

func (c *Changes) status(what string, before, now Status) {
	if before == now {
		return
	}
	c.Lines = append(c.Lines, fmt.Sprintf("%s: was %s, is %s", what, before, now))
	if now == Passed || now == Skipped {
		c.Repaired = append(c.Repaired, what)
	} else {
		c.Broken = append(c.Broken, what)
	}
}

func (c *Changes) figure(what, name, before, now string) {
	if before != now && before != "" && now != "" {
		c.Lines = append(c.Lines, fmt.Sprintf("%s: %s was %s, is %s", what, name, before, now))
	}
}
