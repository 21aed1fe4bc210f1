package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"observer-patch/internal/anchor"
)

type anchorMiss = anchor.Miss

// finding is one thing that is wrong, with everything that it is wrong for.
type finding struct {
	// rule is the cause of a miss, or the step that went wrong.
	rule, text string
	// file and line are where somebody has to look: the anchor in the catalog, else the
	// release's entry.
	file string
	line int
	// of are the targets and newcomers.
	of []string
}

// findings puts equal misses of several targets together.
func (r Report) findings() []finding {
	var out []finding
	add := func(f finding, of string) {
		i := slices.IndexFunc(out, func(o finding) bool {
			return o.rule == f.rule && o.file == f.file && o.line == f.line && o.text == f.text
		})
		if i < 0 {
			out = append(out, f)
			i = len(out) - 1
		}
		if !slices.Contains(out[i].of, of) {
			out[i].of = append(out[i].of, of)
		}
	}
	one := func(t Result, of string) {
		for _, m := range t.Misses {
			file, line := position(m.Pos)
			text := fmt.Sprintf("hook %s in %s: %s", m.Hook, m.Path, m.Cause)
			if m.Wanted != "" {
				text += fmt.Sprintf(": expected once, found %d: %q", m.Count, m.Wanted)
			}
			add(finding{rule: ruleOf(string(m.Cause)), text: text, file: file, line: line}, of)
		}
		for _, s := range t.Steps {
			if s.Status == Passed || s.Status == Skipped || s.Status == Drifted && len(t.Misses) > 0 {
				continue
			}
			add(finding{rule: string(s.Step), text: firstLine(s.Detail), file: "versions.yaml", line: 1}, of)
		}
	}
	for _, t := range r.Targets {
		one(t, t.Target)
	}
	for _, n := range r.Newcomers {
		for _, t := range n.Targets {
			one(t, t.Target)
		}
		if len(n.Targets) == 0 && n.Status != Passed {
			add(finding{rule: "newcomer", text: n.Name + ": " + n.Verdict, file: "versions.yaml", line: 1}, n.Name)
		}
	}
	return out
}

func ruleOf(cause string) string { return "anchor-" + strings.ReplaceAll(cause, " ", "-") }

// position takes "anchors/Partition.yaml:12" apart; a position without a line is line 1.
func position(pos string) (file string, line int) {
	file, number, found := strings.Cut(pos, ":")
	line, err := strconv.Atoi(number)
	if !found || err != nil || line < 1 {
		return file, 1
	}
	return file, line
}
