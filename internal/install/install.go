package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"observer-patch/internal/exit"
)

// Options are what install and rollback are told.
type Options struct {
	// Home is the Kafka home.
	Home string
	// Dist is the bundle to install.
	Dist string
	// WhileRunning accepts that a JVM runs from the home.
	WhileRunning bool
	// DryRun looks and changes nothing.
	DryRun bool
	// Proc is where the kernel shows its processes: /proc.
	Proc string
	// Log is told what is done beside the result.
	Log *slog.Logger
	// Step is called before every change, with what comes; an error ends the run there. Nil
	// for nothing. Tests end the process in it.
	Step func(what string) error
}

// Jar is what became of one jar.
type Jar struct {
	Name string `json:"jar"`
	// Action is what was done, or would be done in a dry run.
	Action string `json:"action"`
	// Was and Is are SHA-256 before and after.
	Was string `json:"was"`
	Is  string `json:"is"`
	// Mode and Owner are kept; Owner is uid:gid.
	Mode  string `json:"mode"`
	Owner string `json:"owner"`
	// Original is where the release's own jar is kept.
	Original string `json:"original,omitempty"`
}

// run is one install or rollback on a locked home.
type run struct {
	Options
	home *Home
	ctx  context.Context
}

// begin opens and locks a home.
func begin(ctx context.Context, o Options) (*run, func() error, error) {
	h, err := OpenHome(o.Home)
	if err != nil {
		return nil, nil, err
	}
	release, err := h.lock(ctx, func() { o.Log.Info("waiting for another run on this Kafka home", "home", h.Dir) })
	if err != nil {
		return nil, nil, err
	}
	// What was seen before the lock may have changed.
	if h, err = OpenHome(o.Home); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	if h.Outside {
		o.Log.Warn("libs is a link to a folder outside the Kafka home; other homes may share it", "libs", h.Libs)
	}
	return &run{Options: o, home: h, ctx: ctx}, release, nil
}

func (r *run) step(what string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.Step != nil {
		return r.Step(what)
	}
	return nil
}

// Install puts the changed jars of a bundle in the place of the release's own. What does not
// fit is refused (exit code 5) before anything changes; what fails on the way is undone.
func Install(ctx context.Context, o Options) (jars []Jar, err error) {
	d, err := readDist(o.Dist)
	if err != nil {
		return nil, err
	}
	r, release, err := begin(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	old, err := r.home.readState()
	if err != nil {
		return nil, err
	}
	if old != nil && old.Phase == installed {
		return r.again(d, old)
	}
	if old != nil {
		if r.DryRun {
			return nil, refused("an interrupted run was found (phase %s, of %s); a dry run cannot undo it first: run 'observer-patch rollback'", old.Phase, old.Bundle)
		}
		r.Log.Warn("an interrupted run was found; undoing it first", "phase", old.Phase, "bundle", old.Bundle)
		if _, err := r.undo(old); err != nil {
			return nil, fmt.Errorf("undo the interrupted run: %w", err)
		}
		if r.home, err = OpenHome(o.Home); err != nil {
			return nil, err
		}
	}
	s, err := r.plan(d)
	if err != nil {
		return nil, err
	}
	action := "would be swapped"
	if !r.DryRun {
		action = "swapped"
		if err := r.swap(d, s); err != nil {
			return nil, err
		}
	}
	return r.report(s, func(j stateJar) Jar { return Jar{Action: action, Was: j.Original, Is: j.Changed} }, true), nil
}

func (r *run) report(s *state, say func(stateJar) Jar, kept bool) []Jar {
	var out []Jar
	for _, j := range s.Jars {
		row := say(j)
		row.Name, row.Mode, row.Owner = j.Name, j.Mode.String(), fmt.Sprintf("%d:%d", j.UID, j.GID)
		if kept {
			row.Original = r.home.originalPath(j.Name)
		}
		out = append(out, row)
	}
	return out
}

// again is an install where one is: nothing to do for the same bundle, else refused.
func (r *run) again(d *dist, s *state) ([]Jar, error) {
	same := len(d.jars) == len(s.Jars)
	for i := range s.Jars {
		same = same && d.jars[i].name == s.Jars[i].Name && d.jars[i].sha256 == s.Jars[i].Changed
	}
	if !same {
		return nil, refused("%s is patched already: %s is installed; run 'observer-patch rollback --kafka-home %s' first", r.home.Dir, s.Bundle, r.home.Dir)
	}
	for _, j := range s.Jars {
		sum, err := digestFile(r.home.jarPath(j.Name))
		if err != nil {
			return nil, err
		}
		if sum != j.Changed {
			return nil, refused("%s was changed since it was installed: expected SHA-256 %s, found %s; 'observer-patch doctor' says more", r.home.jarPath(j.Name), j.Changed, orMissing(sum))
		}
	}
	r.Log.Info("this bundle is installed already; nothing to do", "bundle", s.Bundle)
	return r.report(s, func(j stateJar) Jar { return Jar{Action: "installed already", Was: j.Changed, Is: j.Changed} }, true), nil
}

func orMissing(sum string) string {
	if sum == "" {
		return "no file"
	}
	return sum
}

// plan checks that the bundle fits the home, and says what will be done.
func (r *run) plan(d *dist) (*state, error) {
	s := &state{Version: stateVersion, Phase: installing, Bundle: d.String()}
	var problems []error
	for i := range d.jars {
		j, err := r.planJar(d, &d.jars[i])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.Jars = append(s.Jars, j)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if err := r.free(s); err != nil {
		return nil, err
	}
	return s, nil
}

// free refuses a home that a process runs from, unless that was accepted. Where processes do
// not show, it warns.
func (r *run) free(s *state) error {
	var names []string
	for _, j := range s.Jars {
		names = append(names, j.Name)
	}
	found, seen := r.home.running(r.Proc, names)
	switch {
	case !seen:
		r.Log.Warn("cannot see whether a broker runs from this home: no " + r.Proc)
	case len(found) > 0 && !r.WhileRunning:
		return refused("process %d (%s) runs from %s; stop it, or say --while-running: it keeps the jars that it opened until it is restarted", found[0].PID, found[0].Main, r.home.Dir)
	case len(found) > 0:
		r.Log.Warn("a process runs from this home and keeps the jars that it opened until it is restarted", "pid", found[0].PID, "runs", found[0].Main)
	}
	return nil
}

// planJar checks one jar. Errors have exit code 5.
func (r *run) planJar(d *dist, j *distJar) (stateJar, error) {
	path := r.home.jarPath(j.name)
	copies := r.home.with(j.classes()...)
	i := slices.IndexFunc(copies, func(f File) bool { return f.Name == j.name })
	for _, f := range copies {
		if f.Patch != nil {
			return stateJar{}, refused("%s is patched already: %s; it was not installed by this tool here, put the release's own jar in its place first", r.home.jarPath(f.Name), f.Patch)
		}
	}
	switch {
	case len(copies) > 1:
		return stateJar{}, refused("%s has %d files with the classes of %s: %s; which one a JVM takes is luck: move all but the release's own out of libs (bin/kafka-run-class.sh takes every file there, whatever its name ends with)", r.home.Libs, len(copies), j.name, fileNames(copies))
	case i < 0 && len(copies) == 1:
		return stateJar{}, refused("%s: expected %s (the bundle is for %s), found %s: another release or Scala version", r.home.Libs, j.name, d, copies[0].Name)
	case i < 0:
		return stateJar{}, refused("%s: expected %s (the bundle is for %s), found no such jar", r.home.Libs, j.name, d)
	case copies[i].Link:
		return stateJar{}, refused("%s is a symbolic link; a rename would replace the link: put the jar itself there", path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return stateJar{}, err
	}
	sum, err := digestFile(path)
	if err != nil {
		return stateJar{}, err
	}
	if sum != j.release {
		if err := r.compare(j, path); err != nil {
			return stateJar{}, err
		}
	}
	out := stateJar{Name: j.name, Original: sum, Changed: j.sha256, Mode: info.Mode().Perm(), ModTime: info.ModTime()}
	out.UID, out.GID = owner(info)
	return out, nil
}

// compare holds a jar that is not the published one, byte for byte, against it by content.
func (r *run) compare(j *distJar, path string) error {
	if j.entries == nil {
		return refused("%s is not the published jar byte for byte (SHA-256 %s), and this bundle has no proof to compare its content with; build one without --no-proof", path, orMissing(j.release))
	}
	present, err := entrySums(path)
	if err != nil {
		return exit.With(exit.Refused, err)
	}
	notes, problems := unlike(present, j.sums, j.entries)
	if len(problems) > 0 {
		return refused("%s is not the release's jar: %s", path, some(problems))
	}
	r.Log.Info("the jar is the release's by content, packed in another way", "jar", path, "notes", some(notes))
	return nil
}
