// Package campaign runs scenarios of one leg (release, mode, jars) one after the other, on as few
// clusters as it can, and stores every run.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/evidence"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/scenario"
	"observer-patch/internal/release"
)

// Campaign is what to run on which jars.
type Campaign struct {
	Release string
	Mode    release.Mode
	Set     release.Set
	// Unpatched runs on upstream's jars; scenarios that have nothing to compare are left out.
	Unpatched bool
	Scenarios []scenario.Scenario
	// Classpath are the jars of every node, Patched those among them that a bundle replaced.
	Classpath []string
	Patched   []string
	// Others are the class paths that Needs named.
	Others map[string][]string
	// Seed and Seconds are for random faults.
	Seed    uint64
	Seconds int
	Java    string
	// JavaVersion and Machine are recorded with every run.
	JavaVersion, Machine string
	// Out takes <leg>/<scenario>/; Work takes the clusters' files.
	Out, Work string
	// Keep leaves the clusters' files also when everything passed.
	Keep bool
	Log  *slog.Logger
}

// Result is one line of a campaign.
type Result struct {
	Leg      string           `json:"leg"`
	Scenario string           `json:"scenario"`
	Verdict  string           `json:"verdict"`
	Reason   string           `json:"reason,omitempty"`
	Dir      string           `json:"dir,omitempty"`
	Took     time.Duration    `json:"took_ns"`
	Outcome  scenario.Outcome `json:"-"`
}

// NotApplicable is the verdict of a scenario that makes no sense on a leg; the reason says why.
const NotApplicable = "not applicable"

// current is the cluster in use and what it was made for.
type current struct {
	c      *cluster.Cluster
	layout scenario.Layout
	keep   bool
}

// Run runs the scenarios in order and calls each with every result. It stops early only when ctx
// ends or something outside of the scenarios fails, e.g. a cluster that does not come up.
func (c Campaign) Run(ctx context.Context, each func(Result)) (err error) {
	leg := filepath.Join(c.Out, evidence.Leg(c.plan(scenario.Scenario{}, "")))
	if err := os.MkdirAll(leg, 0o755); err != nil {
		return fmt.Errorf("folder for evidence: %w", err)
	}
	jars, err := evidence.Digests(c.Classpath)
	if err != nil {
		return err
	}
	list, err := evidence.WriteJars(leg, "", jars)
	if err != nil {
		return err
	}
	others := map[string]string{}
	for name, classpath := range c.Others {
		jars, err := evidence.Digests(classpath)
		if err != nil {
			return err
		}
		if others[name], err = evidence.WriteJars(leg, name, jars); err != nil {
			return err
		}
	}
	var now current
	defer func() { err = errors.Join(err, c.end(&now)) }()
	for _, s := range c.grouped() {
		if reason := c.reason(s); reason != "" {
			each(Result{Leg: filepath.Base(leg), Scenario: s.ID, Verdict: NotApplicable, Reason: reason})
			continue
		}
		p := c.plan(s, list)
		for _, name := range append(slices.Collect(maps.Values(p.NodeJars)), s.Needs...) {
			if p.OtherJars == nil {
				p.OtherJars = map[string]string{}
			}
			p.OtherJars[name] = others[name]
		}
		for _, j := range jars {
			if slices.Contains(c.Patched, j.Name) {
				if p.Jars == nil {
					p.Jars = map[string]string{}
				}
				p.Jars[j.Name] = j.SHA256
			}
		}
		if err := c.cluster(ctx, p, &now); err != nil {
			return err
		}
		r, err := c.one(ctx, s, p, &now, filepath.Join(leg, s.ID))
		if err != nil {
			return err
		}
		each(r)
	}
	return nil
}

// cluster makes sure that a healthy cluster of the kind that the scenario needs is running.
func (c Campaign) cluster(ctx context.Context, p scenario.Plan, now *current) error {
	if now.c != nil && reflect.DeepEqual(now.layout, p.Layout) {
		return nil
	}
	if err := c.end(now); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Work, "cluster-")
	if err != nil {
		return fmt.Errorf("folder for a cluster: %w", err)
	}
	// The usual list, also for scenarios with another one: those edit the files as an operator would.
	spec := cluster.Spec{Mode: c.Mode, Brokers: p.Brokers, Controllers: p.Controllers, Observers: []int32{scenario.Observer},
		Features: p.Features, Classpath: c.Classpath, Jars: c.Others, NodeJars: p.NodeJars, First: p.First, Eligible: p.Eligible, Java: c.Java}
	if p.Linked != 0 {
		if err := cluster.CanLink(); err != nil {
			c.Log.Info("no link that can be cut on this machine", "cause", err)
		} else {
			spec.Linked = p.Linked
		}
	}
	if c.Unpatched {
		spec.Observers = nil
	}
	started, err := cluster.Start(ctx, spec, dir, c.Log)
	if err != nil {
		return fmt.Errorf("%w; its files are kept in %s", err, dir)
	}
	*now = current{c: started, layout: p.Layout, keep: c.Keep}
	return nil
}

// end closes the cluster and removes its files, unless a run on it did not pass.
func (c Campaign) end(now *current) error {
	if now.c == nil {
		return nil
	}
	err := now.c.Close()
	if now.keep {
		c.Log.Info("the cluster's files are kept", "dir", now.c.Dir)
	} else {
		err = errors.Join(err, now.c.Remove())
	}
	*now = current{}
	return err
}

// one runs one scenario and stores it. Whatever was in its folder is replaced.
func (c Campaign) one(ctx context.Context, s scenario.Scenario, p scenario.Plan, now *current, dir string) (Result, error) {
	began := time.Now()
	if err := os.RemoveAll(dir); err != nil {
		return Result{}, fmt.Errorf("old evidence: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("folder for evidence: %w", err)
	}
	sum, err := evidence.WritePlan(dir, p)
	if err != nil {
		return Result{}, err
	}
	since, err := evidence.LogEnds(now.c)
	if err != nil {
		return Result{}, err
	}
	rec, err := history.NewRecorder(filepath.Join(dir, evidence.EventsFile))
	if err != nil {
		return Result{}, err
	}
	rec.Mark(evidence.PlanMark, 0, sum)
	c.Log.Info("scenario", "id", s.ID, "leg", evidence.Leg(p), "title", s.Title)
	whole, err := s.Execute(ctx, p, now.c, rec, c.Log)
	if err := errors.Join(err, rec.Close()); err != nil {
		now.keep = true
		return Result{}, err
	}
	lines, err := evidence.Lines(now.c, since)
	if err != nil {
		return Result{}, err
	}
	// Judged from what was stored, so that recheck cannot come to another verdict for lack of a digit.
	h, err := history.Load(filepath.Join(dir, evidence.EventsFile))
	if err != nil {
		return Result{}, err
	}
	r := evidence.Run{Dir: dir, Plan: p, Outcome: s.JudgeRun(h, p)}
	if err := evidence.WriteOutcome(r, lines); err != nil {
		return Result{}, err
	}
	if r.Outcome.Verdict != scenario.Pass {
		now.keep = true
	}
	if !whole {
		if err := c.end(now); err != nil {
			return Result{}, err
		}
	}
	return Result{Leg: evidence.Leg(p), Scenario: s.ID, Verdict: r.Outcome.Verdict, Reason: firstBad(r.Outcome), Dir: dir,
		Took: time.Since(began), Outcome: r.Outcome}, nil
}

// firstBad gives why a run did not pass: what made it void, or the first finding or precondition
// that does not hold.
func firstBad(o scenario.Outcome) string {
	if o.Void != "" {
		return o.Void
	}
	for _, f := range append(slices.Clone(o.Findings), o.Preconditions...) {
		if !f.OK {
			return f.Rule + ": " + f.Detail
		}
	}
	return ""
}
