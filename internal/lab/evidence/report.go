package evidence

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/lab/scenario"
)

// Report joins runs into one page: a matrix of verdicts, the times, and the comparison with
// upstream's jars. root is the folder that links are relative to.
func Report(root string, runs []Run) (string, error) {
	var b strings.Builder
	b.WriteString("# Fault matrix\n\nWritten by `observer-patch lab report`; every verdict is computed from the recorded events of its run.\n\n")
	legs := legsOf(runs)
	b.WriteString("| scenario |")
	for _, l := range legs {
		fmt.Fprintf(&b, " %s |", l)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(legs)) + "\n")
	for _, s := range scenario.All() {
		row, any := fmt.Sprintf("| %s %s |", s.ID, s.Title), false
		for _, l := range legs {
			r, ok := find(runs, s.ID, l)
			if !ok {
				row += " not run |"
				continue
			}
			any = true
			link, err := filepath.Rel(root, r.Dir)
			if err != nil {
				return "", fmt.Errorf("link to a run: %w", err)
			}
			row += fmt.Sprintf(" [%s](%s/%s) |", r.Outcome.Verdict, filepath.ToSlash(link), PageFile)
		}
		if any {
			b.WriteString(row + "\n")
		}
	}
	failures(&b, runs)
	times(&b, runs, legs)
	comparison(&b, runs)
	return b.String(), nil
}

func legsOf(runs []Run) []string {
	var out []string
	for _, r := range runs {
		if l := Leg(r.Plan); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

func find(runs []Run, id, leg string) (Run, bool) {
	for _, r := range runs {
		if r.Plan.Scenario == id && Leg(r.Plan) == leg {
			return r, true
		}
	}
	return Run{}, false
}

// failures says what did not pass, as plainly as the matrix says what did.
func failures(b *strings.Builder, runs []Run) {
	b.WriteString("\n## What did not pass\n\n")
	none := true
	for _, r := range runs {
		if r.Outcome.Void != "" {
			none = false
			fmt.Fprintf(b, "- %s on %s (%s): %s\n", r.Plan.Scenario, Leg(r.Plan), r.Outcome.Verdict, cell(r.Outcome.Void))
		}
		for _, f := range append(slices.Clone(r.Outcome.Preconditions), r.Outcome.Findings...) {
			if !f.OK {
				none = false
				fmt.Fprintf(b, "- %s on %s (%s): %s: %s\n", r.Plan.Scenario, Leg(r.Plan), r.Outcome.Verdict, f.Rule, cell(f.Detail))
			}
		}
	}
	if none {
		b.WriteString("Every run passed.\n")
	}
}

// times lists every measure, one row a name, one column a leg.
func times(b *strings.Builder, runs []Run, legs []string) {
	type key struct{ scenario, name string }
	var keys []key
	cells := map[key]map[string]scenario.Measure{}
	for _, r := range runs {
		for _, m := range r.Outcome.Measures {
			k := key{r.Plan.Scenario, m.Name}
			if cells[k] == nil {
				cells[k] = map[string]scenario.Measure{}
				keys = append(keys, k)
			}
			cells[k][Leg(r.Plan)] = m
		}
	}
	slices.SortStableFunc(keys, func(x, y key) int { return cmp.Compare(x.scenario, y.scenario) })
	b.WriteString("\n## Times in ms\n\n| scenario | what | from | to |")
	for _, l := range legs {
		fmt.Fprintf(b, " %s |", l)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(legs)+4) + "\n")
	for _, k := range keys {
		var any scenario.Measure
		row := ""
		for _, l := range legs {
			m, ok := cells[k][l]
			if !ok {
				row += " |"
				continue
			}
			any = m
			row += fmt.Sprintf(" %.0f |", m.MS)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |%s\n", k.scenario, k.name, any.From, any.To, row)
	}
}

// Ratio bounds how much slower a failover may be than upstream's in the same run.
const Ratio = 1.10

// comparison sets failovers beside those of upstream's jars.
func comparison(b *strings.Builder, runs []Run) {
	b.WriteString("\n## Failover beside upstream's jars\n\n| scenario | leg | what | patched ms | upstream ms | ratio | within 10 % |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range runs {
		up := r.Plan
		up.Unpatched = true
		u, ok := find(runs, r.Plan.Scenario, Leg(up))
		if r.Plan.Unpatched || !ok {
			continue
		}
		for _, m := range r.Outcome.Measures {
			i := slices.IndexFunc(u.Outcome.Measures, func(o scenario.Measure) bool { return o.Name == m.Name })
			if i < 0 || u.Outcome.Measures[i].MS == 0 {
				continue
			}
			ratio := m.MS / u.Outcome.Measures[i].MS
			within := ""
			if strings.Contains(m.Name, "failover p50") {
				within = "yes"
				if ratio > Ratio {
					within = "no"
				}
			}
			fmt.Fprintf(b, "| %s | %s | %s | %.0f | %.0f | %.2f | %s |\n", r.Plan.Scenario, Leg(r.Plan), m.Name, m.MS, u.Outcome.Measures[i].MS, ratio, within)
		}
	}
	b.WriteString(`
A failover is timed from the kill, while the session timeout counts from the last heartbeat before
it, so each varies by a heartbeat interval (KRaft 2 s, ZooKeeper 6 s) from one kill to the next. With the
few kills of one run, and the load average that each page names, a ratio between about 0.8 and 1.25 does
not tell the two apart; only medians of failovers are held to 10 %.
`)
}
