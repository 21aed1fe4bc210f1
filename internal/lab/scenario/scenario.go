// Package scenario holds the fault matrix: what is done to a cluster, and how the recorded history
// is judged. A scenario is one file; its Judge is a pure function of the history and the plan.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	Observers   []int32  `json:"observers"`
	Brokers     int      `json:"brokers"`
	Controllers int      `json:"controllers"`
	Features    []string `json:"features,omitempty"`
	// Settings are the properties that differ from upstream's defaults and decide about time.
	Settings map[string]string `json:"settings"`
	// Machine says where times were taken: cores, load average at the start, JVM.
	Machine string `json:"machine"`
	Java    string `json:"java"`
	// Jars are the bundle's jars that took the place of the release's own, with their SHA-256; all
	// jars of the class path are in jars.json of the leg, whose SHA-256 is JarList.
	Jars    map[string]string `json:"jars,omitempty"`
	JarList string            `json:"jar_list"`
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
	// Features are given to the formatting of storage, so the scenario needs a cluster of its own.
	Features []string
	// Assignment replaces the usual three partitions.
	Assignment [][]int32
	// Observers replaces the usual {4}.
	Observers []int32
	// Applies tells why the scenario makes no sense on a release and mode; empty when it does.
	Applies func(version string, mode release.Mode) string
	// MinAcked is how many acknowledged records make the run say something; 0 stands for 500.
	MinAcked int
	Run      func(ctx context.Context, l *Lab) error
	// Judge adds the scenario's own preconditions, findings and measures to the common ones.
	Judge func(h history.History, p Plan, o *Outcome)
}

// All gives every scenario in the order of the matrix.
func All() []Scenario {
	return []Scenario{s0(), s1(), s2(), s3(), s4(), s4Load(), s4NoELR(), s5(), s6(), s7(), s8(), p1()}
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

// The usual cluster: brokers 1 to 3 hold sync replicas, 4 is the observer and comes last.
const (
	Brokers     = 4
	Controllers = 3
	Observer    = int32(4)
)

func usualAssignment(unpatched bool) [][]int32 {
	if unpatched {
		return [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}
	}
	return [][]int32{{1, 2, 3, 4}, {2, 3, 1, 4}, {3, 1, 2, 4}}
}

// NewPlan gives the plan of the scenario on a release; machine facts are the caller's.
func (s Scenario) NewPlan(version string, mode release.Mode, set release.Set, unpatched bool, settings map[string]string) Plan {
	p := Plan{Scenario: s.ID, Release: version, Mode: mode, Set: set, Unpatched: unpatched,
		Topic: strings.ToLower(s.ID), Assignment: usualAssignment(unpatched), Observers: []int32{Observer},
		Brokers: Brokers, Controllers: Controllers, Features: s.Features, Settings: settings}
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
	if mode == release.ZK {
		p.Controllers = 0
	}
	return p
}
