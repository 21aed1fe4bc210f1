// Package sentinel watches whether the patch still fits: it takes the matrix of targets through
// check, build and proof, tries upstream's new releases and branches with the newest rules, and
// reports in the forms that people and CI engines read.
package sentinel

import (
	"fmt"
	"slices"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Step is one thing that is done with a target.
type Step string

// The steps, in the order in which they are done. Each needs those before it.
const (
	// Source brings upstream's files and holds them against versions.lock.
	Source Step = "source"
	// Check finds every hook's place exactly once.
	Check Step = "check"
	// Generate makes the patched files and their diff.
	Generate Step = "generate"
	// Build compiles the hooked files and makes the jars.
	Build Step = "build"
	// Proof shows that nothing else changed.
	Proof Step = "proof"
	// Outputs holds diff and jars against outputs.lock.
	Outputs Step = "outputs"
	// Whole compiles whole modules and compares every class (minutes).
	Whole Step = "whole"
)

// AllSteps are the steps in their order.
func AllSteps() []Step { return []Step{Source, Check, Generate, Build, Proof, Outputs, Whole} }

// ParseSteps reads the names of steps and gives them in their order, with those that they need.
// Proof and outputs are asked for by name, since a build can do without.
func ParseSteps(names []string) ([]Step, error) {
	asked := map[Step]bool{Source: true, Check: true}
	for _, n := range names {
		s := Step(n)
		if !slices.Contains(AllSteps(), s) {
			return nil, exit.With(exit.Usage, fmt.Errorf("step %q: expected some of %v", n, AllSteps()))
		}
		asked[s] = true
		switch s {
		case Build, Proof, Outputs, Whole:
			asked[Generate], asked[Build] = true, true
		}
	}
	return slices.DeleteFunc(AllSteps(), func(s Step) bool { return !asked[s] }), nil
}

// Status is what came of a step.
type Status string

const (
	// Passed: done, and as it should be.
	Passed Status = "passed"
	// Skipped: not done; the detail says why.
	Skipped Status = "skipped"
	// Drifted: an anchor does not match exactly once (exit code 3).
	Drifted Status = "drift"
	// Unproven: a proof or a digest does not hold (exit code 4).
	Unproven Status = "proof"
	// Failed: anything else (exit code 1).
	Failed Status = "failed"
)

// statusOf gives the status that an error stands for.
func statusOf(err error) Status {
	switch exit.Code(err) {
	case exit.Done:
		return Passed
	case exit.Drift:
		return Drifted
	case exit.Proof:
		return Unproven
	}
	return Failed
}

// StepResult is one step of one target.
type StepResult struct {
	Step   Step   `json:"step"`
	Status Status `json:"status"`
	// Detail is empty, a figure of merit (the proof's level) or what is wrong.
	Detail  string  `json:"detail,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Result is what came of a target.
type Result struct {
	Target  string       `json:"target"`
	Release string       `json:"release"`
	Mode    release.Mode `json:"mode"`
	Scala   string       `json:"scala"`
	Set     release.Set  `json:"set"`
	Steps   []StepResult `json:"steps"`
	// Misses are the places that were not found exactly once.
	Misses []anchor.Miss `json:"misses,omitempty"`
	// Diff is the SHA-256 of the diff without its header, Jars those of the jars by name.
	Diff string            `json:"diff,omitempty"`
	Jars map[string]string `json:"jars,omitempty"`
	// Level is the proof's.
	Level string `json:"level,omitempty"`
	// Resumed tells that an earlier, interrupted run got this far.
	Resumed bool `json:"resumed,omitempty"`
}

// Status gives the worst of the target's steps.
func (r Result) Status() Status {
	worst := Passed
	for _, s := range r.Steps {
		worst = worse(worst, s.Status)
	}
	return worst
}

// Step gives the result of a step, false when it was not asked for.
func (r Result) Step(s Step) (StepResult, bool) {
	i := slices.IndexFunc(r.Steps, func(x StepResult) bool { return x.Step == s })
	if i < 0 {
		return StepResult{}, false
	}
	return r.Steps[i], true
}

// worse orders what matters: a proof that does not hold before drift, drift before a failure
// that says nothing about the patch; a skipped step is no worse than a passed one.
func worse(a, b Status) Status {
	order := []Status{Skipped, Passed, Failed, Drifted, Unproven}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// Report is one run of the sentinel.
type Report struct {
	// Tool is the version of observer-patch, Generation that of the patch.
	Tool       string `json:"tool"`
	Generation int    `json:"generation"`
	// Started is the time in UTC, RFC 3339.
	Started string `json:"started"`
	Steps   []Step `json:"steps"`
	// Shard is "i/n", empty for the whole.
	Shard string `json:"shard,omitempty"`
	// Targets are in the order of the matrix.
	Targets []Result `json:"targets"`
	// Newcomers are upstream's releases and branches that the matrix does not have.
	Newcomers []Newcomer `json:"newcomers,omitempty"`
	// Changes are the differences from the baseline, nil without one.
	Changes *Changes `json:"changes,omitempty"`
	// Worst is the worst status of all.
	Worst Status `json:"worst"`
}

// Judge sets Worst.
func (r *Report) Judge() {
	r.Worst = Passed
	for _, t := range r.Targets {
		r.Worst = worse(r.Worst, t.Status())
	}
	for _, n := range r.Newcomers {
		r.Worst = worse(r.Worst, n.Status)
	}
}

// Err gives nil when all is well, else an error with the exit code of the worst.
func (r Report) Err() error {
	counts := map[Status]int{}
	for _, t := range r.Targets {
		counts[t.Status()]++
	}
	for _, n := range r.Newcomers {
		counts[n.Status]++
	}
	err := fmt.Errorf("of %d targets and %d newcomers: %d with drift, %d with a proof or digest that does not hold, %d failed otherwise",
		len(r.Targets), len(r.Newcomers), counts[Drifted], counts[Unproven], counts[Failed])
	switch r.Worst {
	case Unproven:
		return exit.With(exit.Proof, err)
	case Drifted:
		return exit.With(exit.Drift, err)
	case Failed:
		return exit.With(exit.Failed, err)
	}
	return nil
}
