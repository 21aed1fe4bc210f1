package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// A home with errors or warnings is not healthy; notes are for information.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is something that does not fit together.
type Finding struct {
	Severity Severity `json:"severity"`
	// Code names the kind of finding for scripts; docs/install.md lists them.
	Code string `json:"code"`
	Text string `json:"text"`
	// Do says what to do about it.
	Do string `json:"do"`
}

// Report is what doctor says of a home.
type Report struct {
	Home string `json:"home"`
	// Release and Scala are what the core jar's name states; empty when there is none.
	Release string `json:"release"`
	Scala   string `json:"scala"`
	// Patched tells whether any jar is; Patch is what the core jar, else the first, says.
	Patched bool   `json:"patched"`
	Patch   *Patch `json:"patch"`
	// Jars are the patched ones.
	Jars []PatchedJar `json:"jars"`
	// Installation is none, installed or interrupted.
	Installation string    `json:"installation"`
	IDs          *Identity `json:"identityFile"`
	Findings     []Finding `json:"findings"`
}

// PatchedJar is a jar that carries a patch.
type PatchedJar struct {
	Name  string `json:"name"`
	Patch Patch  `json:"patch"`
}

// Healthy tells that there is no error and no warning.
func (r *Report) Healthy() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Note })
}

func (r *Report) find(s Severity, code, do, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{s, code, fmt.Sprintf(format, args...), do})
}

// Examination is what doctor is told.
type Examination struct {
	Home string
	// IDsFile is the identity file; empty for the one that Getenv names, else the default.
	IDsFile string
	// AsUser is the broker's user, by name or number; empty for the owner of a running
	// broker, and when there is none the file's readability is not judged.
	AsUser string
	Proc   string
	Getenv func(string) string
}

// Examine looks at a home, changes nothing, and gives what it found.
func Examine(ctx context.Context, x Examination) (*Report, error) {
	h, err := OpenHome(x.Home)
	if err != nil {
		return nil, err
	}
	s, err := h.readState()
	if err != nil {
		return nil, err
	}
	r := &Report{Home: h.Dir, Jars: []PatchedJar{}, Installation: "none", Findings: []Finding{}}
	r.Release, r.Scala = h.release()
	for _, f := range h.Files {
		if f.Patch != nil {
			r.Patched = true
			r.Jars = append(r.Jars, PatchedJar{f.Name, *f.Patch})
			if r.Patch == nil || f.classes[coreClass] {
				r.Patch = f.Patch
			}
		}
	}
	if h.Outside {
		r.find(Warning, "libs-outside", "give each home a libs folder of its own", "libs is a link to %s, outside the home; other homes may share it", h.Libs)
	}
	r.jars(h)
	if err := errors.Join(r.installation(h, s), r.leftovers(h, s)); err != nil {
		return nil, err
	}
	configs, err := readConfigs(h.Dir)
	if err != nil {
		return nil, err
	}
	if err := r.identity(ctx, h, x, configs); err != nil {
		return nil, err
	}
	r.modes(configs)
	rank := []Severity{Error, Warning, Note}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity) })
	return r, nil
}

// jars looks at what is on the class path.
func (r *Report) jars(h *Home) {
	core, metadata := h.with(coreClass), h.with(metadataClass)
	for _, m := range []struct {
		name  string
		files []File
	}{{"core", core}, {"metadata", metadata}} {
		switch {
		case len(m.files) == 0:
			r.find(Error, "no-"+m.name, "unpack the release's archive anew", "%s has no jar with the classes of module %s", h.Libs, m.name)
		case len(m.files) > 1:
			r.find(Error, "duplicate-jar", "move all but one out of libs; bin/kafka-run-class.sh takes every file there, whatever its name ends with",
				"%d files have the classes of module %s: %s; which one a JVM takes is luck", len(m.files), m.name, fileNames(m.files))
		}
	}
	patched := func(list []File) bool { return slices.ContainsFunc(list, func(f File) bool { return f.Patch != nil }) }
	if r.Patched && len(core) > 0 && len(metadata) > 0 && patched(core) != patched(metadata) {
		yes, no := core, metadata
		if patched(metadata) {
			yes, no = metadata, core
		}
		r.find(Error, "half-patched", "roll back, and install the whole bundle", "%s is patched and %s is not; the jars of a bundle go together", fileNames(yes), fileNames(no))
	}
	for _, j := range r.Jars {
		if j.Patch != *r.Patch {
			r.find(Error, "mixed-patches", "roll back, and install one bundle", "%s is %s; another jar is %s", j.Name, j.Patch, *r.Patch)
		}
		if !strings.Contains(j.Name, "-"+j.Patch.Release+".jar") {
			r.find(Error, "other-release", "put the release's own jar in its place, and install the bundle for it", "%s was made for release %s", j.Name, j.Patch.Release)
		}
	}
}

// installation holds the journal against what is there.
func (r *Report) installation(h *Home, s *state) error {
	if s == nil {
		if r.Patched {
			r.find(Note, "no-journal", "nothing, when the jars came with the image; 'rollback' cannot undo it", "the jars are patched, but were not installed by this tool here")
		}
		return nil
	}
	r.Installation = installed
	if s.Phase != installed {
		r.Installation = "interrupted"
		r.find(Error, "interrupted", "run 'observer-patch rollback', which puts the release's own jars back, or 'install' again", "a run was interrupted (phase %s, of %s)", s.Phase, s.Bundle)
	}
	for _, j := range s.Jars {
		sum, err := digestFile(h.jarPath(j.Name))
		if err != nil {
			return err
		}
		kept, err := digestFile(h.originalPath(j.Name))
		if err != nil {
			return err
		}
		if sum != j.Changed && (s.Phase == installed || sum != j.Original) {
			r.find(Error, "changed-since", "find out who changed it; put the installed jar or the original there", "%s was changed since it was installed: expected SHA-256 %s, found %s", j.Name, j.Changed, orMissing(sum))
		}
		if kept != j.Original && sum == j.Changed {
			r.find(Warning, "original-damaged", "unpack the release's own jar to that path", "%s: expected SHA-256 %s, found %s; 'rollback' cannot put it back", h.originalPath(j.Name), j.Original, orMissing(kept))
		}
	}
	return nil
}

// leftovers finds what a killed run left.
func (r *Report) leftovers(h *Home, s *state) error {
	staged, err := h.staged()
	if err == nil && s == nil && len(staged) > 0 {
		r.find(Warning, "leftover", "run 'observer-patch rollback', which removes it", "%s was left by a killed run; it is on no class path", staged[0])
	}
	return err
}

// config is a node's configuration file.
type config struct {
	name                  string
	controller, zooKeeper bool
}

// readConfigs reads what config/*.properties and config/kraft/*.properties say of the node.
func readConfigs(home string) ([]config, error) {
	var out []config
	for _, dir := range []string{"config", filepath.Join("config", "kraft")} {
		entries, err := os.ReadDir(filepath.Join(home, dir))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() || filepath.Ext(e.Name()) != ".properties" {
				continue
			}
			name := filepath.Join(dir, e.Name())
			text, err := os.ReadFile(filepath.Join(home, name))
			if errors.Is(err, os.ErrPermission) {
				continue // it may hold passwords; what cannot be read says nothing
			}
			if err != nil {
				return nil, err
			}
			c := config{name: name}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				switch strings.TrimSpace(key) {
				case "process.roles":
					c.controller = strings.Contains(value, "controller")
				case "zookeeper.connect":
					c.zooKeeper = strings.TrimSpace(value) != ""
				}
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// modes holds the mode of the patch against what the configuration says the node runs.
func (r *Report) modes(configs []config) {
	if r.Patch == nil {
		return
	}
	for _, c := range configs {
		if c.controller && r.Patch.Mode == "zk" || c.zooKeeper && filepath.Base(c.name) == "server.properties" && r.Patch.Mode == "kraft" {
			r.find(Note, "other-mode", "install a bundle of mode both when this file is used", "the jars are patched for mode %s; %s is for the other controller", r.Patch.Mode, c.name)
		}
	}
}
