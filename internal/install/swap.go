package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// swap does what plan says. The journal comes first; what fails is undone.
func (r *run) swap(d *dist, s *state) error {
	err := r.swapSteps(d, s)
	if err == nil {
		return nil
	}
	kept := errors.New("nothing was changed")
	// The undoing must not end because this run was told to.
	back := &run{Options: Options{Log: r.Log}, home: r.home, ctx: context.WithoutCancel(r.ctx)}
	if _, uerr := back.undo(s); uerr != nil {
		kept = fmt.Errorf("undoing it failed as well, run 'observer-patch rollback': %w", uerr)
	}
	return fmt.Errorf("install into %s: %w; %w", r.home.Libs, err, kept)
}

func (r *run) swapSteps(d *dist, s *state) error {
	h := r.home
	originals := filepath.Join(h.Dir, stateDir, originalsDir)
	type action struct {
		what string
		do   func() error
	}
	steps := []action{
		{"make " + stateDir, func() error { return os.MkdirAll(originals, 0o755) }},
		{"write the journal", func() error { return errors.Join(h.writeState(s), syncDir(h.Dir)) }},
	}
	for _, j := range s.Jars {
		steps = append(steps, action{"keep " + j.Name, func() error {
			return stage(h.jarPath(j.Name), h.originalPath(j.Name), j.Original, j)
		}})
	}
	steps = append(steps, action{"sync the originals", func() error { return syncDir(originals) }})
	for _, j := range s.Jars {
		as := j
		as.ModTime = time.Time{} // the changed jar's own time, so that tools which compare times notice
		steps = append(steps, action{"stage " + j.Name, func() error {
			return stage(filepath.Join(d.dir, j.Name), h.stagedPath(j.Name), j.Changed, as)
		}})
	}
	for _, j := range s.Jars {
		steps = append(steps, action{"swap " + j.Name, func() error {
			return errors.Join(os.Rename(h.stagedPath(j.Name), h.jarPath(j.Name)), syncDir(h.Libs))
		}})
	}
	steps = append(steps, action{"close the journal", func() error {
		done := *s
		done.Phase = installed
		return h.writeState(&done)
	}})
	for _, a := range steps {
		if err := r.step(a.what); err != nil {
			return err
		}
		if err := a.do(); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
	}
	return nil
}
