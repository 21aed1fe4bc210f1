package campaign

import (
	"reflect"
	"slices"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/scenario"
)

// Needs gives the names of the jars beside the leg's own that its scenarios start nodes on.
func (c Campaign) Needs() []string {
	var out []string
	for _, s := range c.Scenarios {
		if c.reason(s) == "" {
			out = append(out, s.Needs...)
			for _, name := range c.plan(s, "").NodeJars {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// grouped gives the scenarios so that those with equal clusters come one after the other.
func (c Campaign) grouped() []scenario.Scenario {
	var layouts []scenario.Layout
	groups := map[int][]scenario.Scenario{}
	for _, s := range c.Scenarios {
		l := c.plan(s, "").Layout
		i := slices.IndexFunc(layouts, func(o scenario.Layout) bool { return reflect.DeepEqual(o, l) })
		if i < 0 {
			i = len(layouts)
			layouts = append(layouts, l)
		}
		groups[i] = append(groups[i], s)
	}
	var out []scenario.Scenario
	for i := range layouts {
		out = append(out, groups[i]...)
	}
	return out
}

func (c Campaign) reason(s scenario.Scenario) string {
	if c.Unpatched && !s.Compare {
		return "upstream has no observers to compare with"
	}
	if s.Applies != nil {
		return s.Applies(c.plan(s, ""))
	}
	return ""
}

func (c Campaign) plan(s scenario.Scenario, jarList string) scenario.Plan {
	p := s.NewPlan(c.Release, c.Mode, c.Set, c.Unpatched, cluster.Settings())
	p.Java, p.Machine, p.JarList = c.JavaVersion, c.Machine, jarList
	if s.Random {
		p.Seed, p.Seconds = c.Seed, c.Seconds
	}
	return p
}
