// Package evidence stores runs so that others can judge them again: plan, events, log lines, verdict
// and a page to read, and joins many runs into one report.
package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/scenario"
)

// The files of a run's folder, and the list of jars in the folder of its leg.
const (
	PlanFile   = "plan.json"
	EventsFile = "events.jsonl.gz"
	LinesFile  = "log.txt"
	ResultFile = "result.json"
	PageFile   = "README.md"
	JarsFile   = "jars.json"
)

// Run is a stored run.
type Run struct {
	// Dir is the run's folder.
	Dir     string
	Plan    scenario.Plan
	Outcome scenario.Outcome
}

// Leg names the release, mode, set and jars of a run; it is the name of the folder above its own.
func Leg(p scenario.Plan) string {
	s := p.Release + "-" + string(p.Mode)
	if p.Unpatched {
		return s + "-unpatched"
	}
	return s + "-" + string(p.Set)
}

// WritePlan stores what a run is going to do, before it begins, and gives its SHA-256, which has to
// be recorded with the events under the mark PlanMark: it ties the two files together.
func WritePlan(dir string, p scenario.Plan) (string, error) {
	path := filepath.Join(dir, PlanFile)
	if err := writeJSON(path, p); err != nil {
		return "", err
	}
	return digest(path)
}

// PlanMark is the name of the mark with the plan's SHA-256.
const PlanMark = "plan"

// ErrPlan says that the events belong to another plan than the one beside them.
var ErrPlan = errors.New("not the plan of these events")

// planned asks that the events were recorded for the plan file as it is now.
func planned(dir string, h history.History) error {
	now, err := digest(filepath.Join(dir, PlanFile))
	if err != nil {
		return err
	}
	mark, ok := h.Mark(PlanMark)
	if !ok {
		return fmt.Errorf("%s: %w: the events do not name the plan they were recorded for; run it again", dir, ErrPlan)
	}
	if mark.Mark.Text != now {
		return fmt.Errorf("%s: %w: SHA-256 of %s is %.12s, the events were recorded for %.12s", dir, ErrPlan, PlanFile, now, mark.Mark.Text)
	}
	return nil
}

// WriteOutcome stores the verdict, the cited log lines and the page.
func WriteOutcome(r Run, lines []string) error {
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	if err := write(filepath.Join(r.Dir, LinesFile), []byte(text)); err != nil {
		return err
	}
	return Rewrite(r)
}

// Rewrite stores the verdict and the page anew.
func Rewrite(r Run) error {
	s, err := scenario.Find(r.Plan.Scenario)
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(r.Dir, ResultFile), r.Outcome); err != nil {
		return err
	}
	return write(filepath.Join(r.Dir, PageFile), []byte(Page(r, s)))
}

// Load reads a run's plan and outcome.
func Load(dir string) (Run, error) {
	r := Run{Dir: dir}
	if err := readJSON(filepath.Join(dir, PlanFile), &r.Plan); err != nil {
		return r, err
	}
	return r, readJSON(filepath.Join(dir, ResultFile), &r.Outcome)
}

// Rejudge computes the outcome of a stored run anew, from its events and its plan alone.
func Rejudge(dir string) (scenario.Plan, scenario.Outcome, error) {
	var p scenario.Plan
	if err := readJSON(filepath.Join(dir, PlanFile), &p); err != nil {
		return p, scenario.Outcome{}, err
	}
	s, err := scenario.Find(p.Scenario)
	if err != nil {
		return p, scenario.Outcome{}, err
	}
	h, err := history.Load(filepath.Join(dir, EventsFile))
	if err != nil {
		return p, scenario.Outcome{}, err
	}
	if err := planned(dir, h); err != nil {
		return p, scenario.Outcome{}, err
	}
	return p, s.JudgeRun(h, p), nil
}

// Find gives the folders of all runs below root, sorted.
func Find(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == PlanFile {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", err)
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("no run below %s: expected folders with %s", root, PlanFile)
	}
	slices.Sort(dirs)
	return dirs, nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return write(path, append(data, '\n'))
}

func write(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s in %s: the run was not finished, or this is no run", filepath.Base(path), filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("read evidence: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
