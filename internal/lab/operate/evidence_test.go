//go:build cluster

package operate

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/renameio/v2"
)

// evidence names the folder for operate.json and operate.md; without it nothing is written.
var evidence = flag.String("evidence", "", "write operate.json and operate.md of this run to the folder")

// finding is one thing that a test has asked of the cluster, and what it saw.
type finding struct {
	Asked string `json:"asked"`
	Saw   string `json:"saw"`
	// Seconds and Bound are of what was timed; a bound of 0 is none.
	Seconds float64 `json:"seconds,omitempty"`
	Bound   float64 `json:"bound,omitempty"`
	Holds   bool    `json:"holds"`
}

// part is what one test has found, in the order in which it looked.
type part struct {
	Test     string    `json:"test"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	Passed   bool      `json:"passed"`
	Findings []finding `json:"findings"`
}

// pageData is the whole run.
type pageData struct {
	Release string `json:"release"`
	CPUs    int    `json:"cpus"`
	Parts   []part `json:"parts"`
}

// notes are what the tests of this run have found so far.
var notes struct {
	sync.Mutex
	parts []*part
}

// report begins the findings of a test; its verdict is that of the test itself.
func report(t *testing.T) *part {
	p := &part{Test: t.Name(), Began: time.Now().UTC().Truncate(time.Second)}
	notes.Lock()
	notes.parts = append(notes.parts, p)
	notes.Unlock()
	t.Cleanup(func() { p.Passed, p.Seconds = !t.Failed(), time.Since(p.Began).Round(time.Second).Seconds() })
	return p
}

// saw writes down that something that was asked for holds.
func (r *rig) saw(asked, format string, args ...any) {
	r.t.Helper()
	r.note(finding{Asked: asked, Saw: fmt.Sprintf(format, args...), Holds: true})
}

// took writes down how long something took, and fails the test when that is over the bound.
func (r *rig) took(asked string, took, bound time.Duration) {
	r.t.Helper()
	f := finding{Asked: asked, Saw: "done", Seconds: took.Seconds(), Bound: bound.Seconds(), Holds: bound == 0 || took <= bound}
	r.note(f)
	if !f.Holds {
		r.t.Errorf("%s: it took %v, at most %v are allowed", asked, took, bound)
	}
}

func (r *rig) note(f finding) {
	r.t.Helper()
	r.t.Logf("%s: %s, %.1f s (bound %.0f s)", f.Asked, f.Saw, f.Seconds, f.Bound)
	notes.Lock()
	defer notes.Unlock()
	r.part.Findings = append(r.part.Findings, f)
}

// verdict is computed from what is stored: a part passes when its test did and everything in it
// holds, and one without findings has shown nothing.
func (p part) verdict() string {
	if !p.Passed || len(p.Findings) == 0 {
		return "fail"
	}
	for _, f := range p.Findings {
		if !f.Holds || f.Bound > 0 && f.Seconds > f.Bound {
			return "fail"
		}
	}
	return "pass"
}

// writePage writes the run's findings. A test that was not part of this run keeps the findings
// that are in the folder, which have their own time.
func writePage(dir string) error {
	if dir == "" || len(notes.parts) == 0 {
		return nil
	}
	name := filepath.Join(dir, "operate.json")
	var all pageData
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all.Release, all.CPUs = version, runtime.NumCPU()
	for _, p := range notes.parts {
		all.put(*p)
	}
	if text, err = json.MarshalIndent(all, "", " "); err != nil {
		return err
	}
	if err := renameio.WriteFile(name, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, "operate.md"), []byte(all.page()), 0o644)
}

func (d *pageData) put(p part) {
	for i := range d.Parts {
		if d.Parts[i].Test == p.Test {
			d.Parts[i] = p
			return
		}
	}
	d.Parts = append(d.Parts, p)
}

func (d pageData) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Operators' commands on real clusters\n\nMade by `make operate-test`: set `full` of %s, KRaft, every node a process of one machine with %d processors.\n"+
		"What was asked, what was seen; verdicts are computed from `operate.json`.\n\n| test | when (UTC) | took | verdict |\n| --- | --- | --- | --- |\n", d.Release, d.CPUs)
	for _, p := range d.Parts {
		fmt.Fprintf(&b, "| %s | %s | %.0f s | %s |\n", p.Test, p.Began.Format("2006-01-02 15:04"), p.Seconds, p.verdict())
	}
	for _, p := range d.Parts {
		fmt.Fprintf(&b, "\n## %s\n\n| asked | seen | seconds | bound |\n| --- | --- | --- | --- |\n", p.Test)
		for _, f := range p.Findings {
			seconds, bound := "", ""
			if f.Seconds > 0 {
				seconds = fmt.Sprintf("%.1f", f.Seconds)
			}
			if f.Bound > 0 {
				bound = fmt.Sprintf("%.0f", f.Bound)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(f.Asked), cell(f.Saw), seconds, bound)
		}
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
