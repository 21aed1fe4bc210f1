package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/scenario"
)

// Page gives the run as Markdown. It shows what is in the result and nothing else.
func Page(r Run, s scenario.Scenario) string {
	p, o := r.Plan, r.Outcome
	var b strings.Builder
	fmt.Fprintf(&b, "# %s on %s: %s\n\n%s.\n\n", p.Scenario, Leg(p), o.Verdict, upper(s.Title))
	fmt.Fprintf(&b, "Expected: %s.\n\n", s.Expected(p))
	fmt.Fprintf(&b, "%s, %d brokers, %d separate controllers, observers %v, assignment %v. %s; %s.\n\n", p.Mode, p.Brokers, p.Controllers, p.Observers, p.Assignment, p.Java, p.Machine)
	if o.Void != "" {
		fmt.Fprintf(&b, "**Not the fault that was planned:** %s.\n\n", o.Void)
	}
	findings(&b, "Preconditions", o.Preconditions)
	findings(&b, "Findings", o.Findings)
	if len(o.Measures) > 0 {
		b.WriteString("## Times\n\n| what | ms | bound | from | to |\n| --- | --- | --- | --- | --- |\n")
		for _, m := range o.Measures {
			bound := ""
			if m.Max > 0 {
				bound = fmt.Sprintf("%.0f", m.Max)
			}
			fmt.Fprintf(&b, "| %s | %.0f | %s | %s | %s |\n", m.Name, m.MS, bound, m.From, m.To)
		}
		b.WriteString("\n")
	}
	for _, n := range o.Notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	b.WriteString("\n## Configuration that differs from upstream's defaults\n\n")
	for _, k := range slices.Sorted(maps.Keys(p.Settings)) {
		fmt.Fprintf(&b, "- `%s=%s`\n", k, p.Settings[k])
	}
	if len(p.Features) > 0 {
		fmt.Fprintf(&b, "- formatted with `%s`\n", strings.Join(p.Features, " "))
	}
	b.WriteString("\n## Jars\n\n")
	for _, name := range slices.Sorted(maps.Keys(p.Jars)) {
		fmt.Fprintf(&b, "- patched: `%s`, SHA-256 `%s`\n", name, p.Jars[name])
	}
	fmt.Fprintf(&b, "- whole class path: [%s](../%s), SHA-256 `%s`\n", JarsFile, JarsFile, p.JarList)
	for _, name := range slices.Sorted(maps.Keys(p.OtherJars)) {
		fmt.Fprintf(&b, "- some nodes at some time: [%s](../%s), SHA-256 `%s`\n", jarsFile(name), jarsFile(name), p.OtherJars[name])
	}
	fmt.Fprintf(&b, "\nFiles: [plan](%s), [events](%s), [result](%s), [log lines](%s). `observer-patch lab recheck` computes the verdict from plan and events.\n", PlanFile, EventsFile, ResultFile, LinesFile)
	return b.String()
}

func findings(b *strings.Builder, title string, fs []check.Finding) {
	fmt.Fprintf(b, "## %s\n\n| | rule | detail |\n| --- | --- | --- |\n", title)
	for _, f := range fs {
		mark := "holds"
		if !f.OK {
			mark = "**VIOLATED**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", mark, cell(f.Rule), cell(f.Detail))
	}
	b.WriteString("\n")
}

// cell keeps a text inside one table cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ")
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
