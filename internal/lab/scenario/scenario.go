// Package scenario holds the fault matrix: what is done to a cluster, and how the recorded history
// is judged. A scenario is one file; its Judge is a pure function of the history and the plan.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// Plan is what a run was going to do; it is stored with the run.
type Plan struct {
	Scenario  string       `json:"scenario"`
	Release   string       `json:"release"`
	Mode      release.Mode `json:"mode"`
	Set       release.Set  `json:"set"`
	Unpatched bool         `json:"unpatched"`
	// Topic has one partition per entry of Assignment, each a list of broker ids.
	Topic      string    `json:"topic"`
	Assignment [][]int32 `json:"assignment"`
	// Observers are the ids in every identity file when the run begins.
	Observers []int32 `json:"observers"`
	// Eligible says that the cluster has eligible leader replicas (KIP-966).
	Eligible bool `json:"eligible,omitempty"`
	// Seed and Seconds belong to random faults.
	Seed    uint64 `json:"seed,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
	Layout
	// Settings are the properties that differ from upstream's defaults and decide about time.
	Settings map[string]string `json:"settings"`
	// Machine says where times were taken: cores, load average at the start, JVM.
	Machine string `json:"machine"`
	Java    string `json:"java"`
	// Jars are the bundle's jars that took the place of the release's own, with their SHA-256; all
	// jars of the class path are in jars.json of the leg, whose SHA-256 is JarList.
	Jars    map[string]string `json:"jars,omitempty"`
	JarList string            `json:"jar_list"`
	// OtherJars are the lists of the other jars that some nodes run, by name: the SHA-256 of
	// jars-<name>.json of the leg.
	OtherJars map[string]string `json:"other_jars,omitempty"`
}

// Verdicts of a run.
const (
	Pass         = "pass"
	Fail         = "fail"
	Inconclusive = "inconclusive" // a precondition was not met: nothing was shown
)

// Measure is a time with the two events between which it was taken.
type Measure struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
	From string  `json:"from"`
	To   string  `json:"to"`
	// Max is the bound it is judged by, 0 for a time that is only reported.
	Max float64 `json:"max,omitempty"`
}

// Outcome is what a history says.
type Outcome struct {
	Verdict       string          `json:"verdict"`
	Preconditions []check.Finding `json:"preconditions"`
	Findings      []check.Finding `json:"findings"`
	Measures      []Measure       `json:"measures"`
	// Void says why the fault that was injected is not the one that was planned, empty when it is.
	// Whatever the rules found then, the run is inconclusive.
	Void string `json:"void,omitempty"`
	// Notes are observations that no rule judges.
	Notes []string `json:"notes,omitempty"`
}

// Scenario is one row of the fault matrix.
type Scenario struct {
	ID     string
	Title  string
	Expect string
	// Compare says that --unpatched runs the same fault on upstream's jars.
	Compare bool
	// Base is what is expected with set base, where that differs: the trap that set full avoids.
	Base string
	// BaseBreaks are the common rules that set base breaks by that; they are noted, not judged.
	BaseBreaks []string
	// Breaks are those that are broken with either set, for the lack of hooks that is shown.
	Breaks []string
	// Limit bounds the run, 0 for the usual limit.
	Limit time.Duration
	// Layout is the cluster that the scenario needs, nil for the usual one.
	Layout func(p Plan) Layout
	// Assignment replaces the usual three partitions.
	Assignment [][]int32
	// Observers replaces the usual {4}.
	Observers []int32
	// Applies tells why the scenario makes no sense with a plan's release, mode and jars; empty when
	// it does.
	Applies func(p Plan) string
	// Needs names the jars beside the leg's own that nodes are started on later.
	Needs []string
	// Random says that the plan's seed and duration decide what is done.
	Random bool
	// MinAcked is how many acknowledged records make the run say something; 0 stands for 500.
	MinAcked int
	Run      func(ctx context.Context, l *Lab) error
	// Judge adds the scenario's own preconditions, findings and measures to the common ones.
	Judge func(h history.History, p Plan, o *Outcome)
}

// All gives every scenario in the order of the matrix.
func All() []Scenario {
	return []Scenario{s0(), s1(), s2(), s3(), s4(), s4Load(), s4NoELR(), s5(), s6(), s7(), s8(), s9(), s10(), s11(), s12(), s13(), s13Upgrade(), s14(), s15Controllers(), s15Brokers(), s15ZK(), s16(), s17(), s18(), s19(), p1(), p2(), t1()}
}

// Find gives the scenario with the id, in any case of letters.
func Find(id string) (Scenario, error) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return strings.EqualFold(s.ID, id) })
	if i < 0 {
		var ids []string
		for _, s := range all {
			ids = append(ids, s.ID)
		}
		return Scenario{}, fmt.Errorf("unknown scenario %q: expected one of %s", id, strings.Join(ids, ", "))
	}
	return all[i], nil
}

func usualAssignment(unpatched bool) [][]int32 {
	if unpatched {
		return [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}
	}
	return [][]int32{{1, 2, 3, 4}, {2, 3, 1, 4}, {3, 1, 2, 4}}
}

// Expected is what the scenario expects of a plan's jars.
func (s Scenario) Expected(p Plan) string {
	if p.Set == release.Base && s.Base != "" {
		return s.Base
	}
	return s.Expect
}

// NewPlan gives the plan of the scenario on a release; machine facts are the caller's.
func (s Scenario) NewPlan(version string, mode release.Mode, set release.Set, unpatched bool, settings map[string]string) Plan {
	p := Plan{Scenario: s.ID, Release: version, Mode: mode, Set: set, Unpatched: unpatched,
		Topic: strings.ToLower(s.ID), Assignment: usualAssignment(unpatched), Observers: []int32{Observer},
		Settings: settings}
	if s.Layout != nil {
		p.Layout = s.Layout(p)
	}
	p.complete()
	if s.Assignment != nil {
		p.Assignment = s.Assignment
	}
	if s.Observers != nil {
		p.Observers = s.Observers
	}
	if unpatched {
		p.Set, p.Observers = "", nil
		p.Assignment = slices.Clone(p.Assignment)
		for i, a := range p.Assignment {
			p.Assignment[i] = slices.DeleteFunc(slices.Clone(a), func(id int32) bool { return id == Observer })
		}
	}
	return p
}
