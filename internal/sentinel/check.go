package sentinel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/anchor"
	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
)

// Checker takes targets through the steps.
type Checker struct {
	Catalog *anchor.Catalog
	Outputs bundle.Outputs
	Steps   []Step
	// Open gives a release's sources, checked against the lock.
	Open func(context.Context, release.Release) (*source.Tree, error)
	// Prepare adds artifacts and compilers to what a bundle is made from.
	Prepare func(context.Context, *bundle.Spec) error
	// Tool is the version of observer-patch.
	Tool string
	// Work is a folder for bundles, each removed when it was judged.
	Work string
	// Getenv is os.Getenv, Now time.Now.
	Getenv func(string) string
	Now    func() time.Time
}

func (c *Checker) wants(s Step) bool { return slices.Contains(c.Steps, s) }

// Release takes the targets of one release through the steps; done is told of each.
func (c *Checker) Release(ctx context.Context, targets []release.Target, done func(Result) error) (err error) {
	begin := c.Now()
	tree, oerr := c.Open(ctx, targets[0].Release)
	opened := StepResult{Step: Source, Status: statusOf(oerr), Seconds: c.Now().Sub(begin).Seconds()}
	if oerr != nil {
		opened.Detail = oerr.Error()
	} else if tree.Close != nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
	}
	for _, t := range targets {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Result{Target: t.String(), Release: t.Release.String(), Mode: t.Mode, Scala: t.Scala, Set: t.Set, Steps: []StepResult{opened}}
		if oerr == nil {
			c.target(ctx, t, tree, &r)
		}
		if err := ctx.Err(); err != nil {
			return err // what was interrupted says nothing
		}
		for _, s := range c.Steps {
			if _, reached := r.Step(s); !reached {
				r.Steps = append(r.Steps, StepResult{Step: s, Status: Skipped, Detail: "not reached: " + r.stopped()})
			}
		}
		opened.Seconds = 0 // counted once
		if err := done(r); err != nil {
			return err
		}
	}
	return nil
}

// stopped names the step that went wrong.
func (r Result) stopped() string {
	for _, s := range r.Steps {
		if s.Status != Passed && s.Status != Skipped {
			return string(s.Step)
		}
	}
	return ""
}

// run does a step and tells whether to go on.
func (c *Checker) run(r *Result, s Step, do func() (detail string, err error)) bool {
	if !c.wants(s) {
		return true
	}
	begin := c.Now()
	detail, err := do()
	out := StepResult{Step: s, Status: statusOf(err), Detail: detail}
	var skip *skipped
	switch {
	case errors.As(err, &skip):
		out.Status, out.Detail = Skipped, skip.why
	case err != nil:
		out.Detail = err.Error()
	}
	out.Seconds = c.Now().Sub(begin).Seconds()
	r.Steps = append(r.Steps, out)
	return out.Status == Passed || out.Status == Skipped
}

// skipped is the error of a step that had nothing to do.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

func (c *Checker) target(ctx context.Context, t release.Target, tree *source.Tree, r *Result) {
	var plan *patch.Plan
	var diff []byte
	ok := c.run(r, Check, func() (string, error) {
		var err error
		if plan, err = patch.Make(tree.FS, c.Catalog, t); err != nil {
			return "", err
		}
		r.Misses = plan.Misses
		return fmt.Sprintf("%d places", len(plan.Located)), plan.Err()
	}) && c.run(r, Generate, func() (string, error) {
		var err error
		if diff, err = plan.Tree.Diff(); err != nil {
			return "", err
		}
		sum := sha256.Sum256(diff)
		r.Diff = hex.EncodeToString(sum[:])
		return "", nil
	})
	if !ok || !c.wants(Build) {
		return
	}
	c.build(ctx, t, tree, plan, diff, r)
}

// build makes the bundle in a folder of its own and judges it.
func (c *Checker) build(ctx context.Context, t release.Target, tree *source.Tree, plan *patch.Plan, diff []byte, r *Result) {
	dir := filepath.Join(c.Work, t.String())
	s := bundle.Spec{Target: t, Tree: plan.Tree, Origin: tree.Origin, Upstream: tree.FS, NoProof: !c.wants(Proof), Tool: c.Tool, Getenv: c.Getenv,
		Diff: append([]byte(plan.Tree.Header(t, c.Tool)), diff...)}
	var made *bundle.Bundle
	var unproven error
	ok := c.run(r, Build, func() (string, error) {
		err := c.Prepare(ctx, &s)
		if err == nil {
			made, err = bundle.Make(ctx, s, dir)
		}
		// Build and proof are one call: a proof that does not hold is the proof's step.
		if c.wants(Proof) && exit.Code(err) == exit.Proof && s.JDK.Home != "" && len(s.Inputs.Classpath) > 0 {
			unproven, err = err, nil
		}
		return "", err
	}) && c.run(r, Proof, func() (string, error) {
		if unproven != nil {
			return "", unproven
		}
		r.Level = made.Verdict.Level.String()
		return r.Level, nil
	})
	if !ok || made == nil {
		return
	}
	r.Jars = made.Locked.Jars
	if c.run(r, Outputs, func() (string, error) { return "", c.outputs(t.String(), made.Locked) }) {
		c.run(r, Whole, func() (string, error) {
			n, err := bundle.Whole(ctx, s, tree.FS, dir)
			return fmt.Sprintf("%d classes agree", n), err
		})
	}
	if err := os.RemoveAll(dir); err != nil {
		r.Steps = append(r.Steps, StepResult{Step: Build, Status: Failed, Detail: err.Error()})
	}
}

// outputs holds a result against the lock. Nothing locked is nothing compared, and said so.
func (c *Checker) outputs(target string, got bundle.LockedOutput) error {
	want, ok := c.Outputs.Targets[target]
	switch {
	case !ok:
		return &skipped{target + " is not in " + bundle.OutputsFile}
	case want.Generation != got.Generation:
		return &skipped{fmt.Sprintf("%s has generation %d, this is %d", bundle.OutputsFile, want.Generation, got.Generation)}
	case want.Diff != got.Diff:
		return exit.With(exit.Proof, fmt.Errorf("%s: %s has the diff %s, found %s: the hooks or upstream's files changed since it was locked; 'make matrix' locks anew", target, bundle.OutputsFile, short(want.Diff), short(got.Diff)))
	}
	return c.Outputs.Check(target, got)
}

func short(digest string) string { return digest[:min(len(digest), 16)] }

// firstLine gives the first line of a message.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
