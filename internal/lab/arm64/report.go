package arm64

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Run is one broker that was started, used and looked at.
type Run struct {
	Name string `json:"name"`
	// Control says what was taken away beforehand, so that the run has to fail for some
	// codecs; empty for a broker as it is shipped.
	Control string `json:"control,omitempty"`
	JVM     About  `json:"jvm"`
	// Up is the time from the formatting of the storage to the broker's first answer, in seconds.
	Up        float64   `json:"upSeconds"`
	Pairs     []Pair    `json:"pairs"`
	Libraries []Library `json:"libraries"`
}

// Failed gives the pairs that did not come back, by topic.
func (r Run) Failed() []string {
	var out []string
	for _, p := range r.Pairs {
		if p.Error != "" {
			out = append(out, p.Topic())
		}
	}
	return out
}

// Report is what a test run found.
type Report struct {
	Release  string            `json:"release"`
	Emulator string            `json:"emulator"`
	Jars     map[string]string `json:"jars"` // SHA-256 of the changed jars that the brokers ran
	Runs     []Run             `json:"runs"`
}

// Write stores the report as name.json and as a page name.md in a folder.
func (r Report) Write(dir, name string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for file, content := range map[string][]byte{name + ".json": append(text, '\n'), name + ".md": []byte(r.Page())} {
		if err := renameio.WriteFile(filepath.Join(dir, file), content, os.FileMode(0o644)); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// Page is the report for people.
func (r Report) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The patched broker of %s on an arm64 JVM

Written by the test of `+"`make arm64`"+`. A combined broker and controller ran on an emulated arm64 JVM (%s), once with
4 KiB and once with 64 KiB pages. Each topic has another compression.type than its producer, so the broker itself decompressed
and compressed every batch; the records came back unchanged, and its segments hold the topic's codec. 'Loaded' is
decided by content: the broker had exactly the aarch64 library of the jar mapped. Emulation says nothing about speed or
memory ordering.

`, r.Release, r.Emulator)
	for _, name := range slices.Sorted(maps.Keys(r.Jars)) {
		fmt.Fprintf(&b, "- %s %s\n", name, r.Jars[name])
	}
	b.WriteString("\n| run | os.arch | Java | pages | up after | pairs that came back | loaded | not loaded |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, run := range r.Runs {
		var loaded []string
		for _, l := range run.Libraries {
			if l.Loaded {
				loaded = append(loaded, l.Codec)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f s | %d of %d | %s | %s |\n", run.Name, run.JVM.Arch, run.JVM.Version, run.JVM.PageSize, run.Up,
			len(run.Pairs)-len(run.Failed()), len(run.Pairs), list(loaded), list(Missing(run.Libraries)))
	}
	b.WriteString("\n## Controls\n\nWhat was taken away, and how it shows. A broker that lacks lz4's library falls back to Java without a word: only the last column above tells.\n")
	for _, run := range r.Runs {
		if run.Control == "" {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", run.Name, run.Control)
		for _, p := range run.Pairs {
			if p.Error == "" {
				fmt.Fprintf(&b, "- %s: came back\n", p.Topic())
			} else {
				fmt.Fprintf(&b, "- %s: %s\n", p.Topic(), strings.SplitN(p.Error, "\n", 2)[0])
			}
		}
	}
	b.WriteString("\n## Libraries\n\n| codec | jar | entry | SHA-256 |\n| --- | --- | --- | --- |\n")
	if len(r.Runs) > 0 {
		for _, l := range r.Runs[0].Libraries {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.Codec, l.Jar, l.Entry, l.SHA256)
		}
	}
	return b.String()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
