package sentinel

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// cell is what a table says of a step.
func cell(t Result, s Step) string {
	r, ok := t.Step(s)
	switch {
	case !ok:
		return ""
	case r.Status == Passed && s == Proof:
		return r.Detail
	case r.Status == Passed:
		return "ok"
	case r.Status == Skipped:
		return "–"
	}
	return strings.ToUpper(string(r.Status))
}

// total is how long a target took, in seconds.
func (r Result) total() float64 {
	sum := 0.0
	for _, s := range r.Steps {
		sum += s.Seconds
	}
	return sum
}

// Table fills the console's table: one row a target, one column a step.
func (r Report) Table(w table.Writer) {
	head := table.Row{"target"}
	for _, s := range r.Steps {
		head = append(head, string(s))
	}
	w.AppendHeader(append(head, "seconds"))
	row := func(t Result, name string) {
		cells := table.Row{name}
		for _, s := range r.Steps {
			cells = append(cells, cell(t, s))
		}
		took := fmt.Sprintf("%.1f", t.total())
		if t.Resumed {
			took = "resumed"
		}
		w.AppendRow(append(cells, took))
	}
	for _, t := range r.Targets {
		row(t, t.Target)
	}
	for _, n := range r.Newcomers {
		for _, t := range n.Targets {
			row(t, n.Name+": "+t.Target)
		}
		if len(n.Targets) == 0 {
			w.AppendRow(table.Row{n.Name + ": " + n.Verdict})
		}
	}
}

// Markdown gives the summary for a CI job's page or an issue: what is wrong first, then every
// target, then what changed.
func (r Report) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Sentinel: %s\n\n", headline(r.Worst))
	fmt.Fprintf(&b, "observer-patch %s, generation %d, started %s; steps: %s", r.Tool, r.Generation, r.Started, stepNames(r.Steps))
	if r.Shard != "" {
		fmt.Fprintf(&b, "; shard %s", r.Shard)
	}
	b.WriteString(".\n")
	if list := r.findings(); len(list) > 0 {
		b.WriteString("\n## What is wrong\n\n")
		for _, f := range list {
			fmt.Fprintf(&b, "- `%s:%d` %s. In %s.\n", f.file, f.line, plain(f.text), strings.Join(f.of, ", "))
		}
	}
	if r.Changes != nil {
		fmt.Fprintf(&b, "\n## Since %s\n\n", r.Changes.Baseline)
		if len(r.Changes.Lines) == 0 {
			b.WriteString("Nothing changed.\n")
		}
		for _, l := range r.Changes.Lines {
			fmt.Fprintf(&b, "- %s\n", plain(l))
		}
	}
	if len(r.Newcomers) > 0 {
		b.WriteString("\n## Upstream has what the matrix does not\n")
		for _, n := range r.Newcomers {
			n.markdown(&b)
		}
	}
	if len(r.Targets) > 0 {
		b.WriteString("\n## Targets\n\n| target |")
		for _, s := range r.Steps {
			fmt.Fprintf(&b, " %s |", s)
		}
		b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(r.Steps)) + "\n")
		for _, t := range r.Targets {
			fmt.Fprintf(&b, "| %s |", t.Target)
			for _, s := range r.Steps {
				fmt.Fprintf(&b, " %s |", cell(t, s))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n'–' is a step that was not done: the report in JSON says why.\n")
	}
	return []byte(b.String())
}

func headline(worst Status) string {
	switch worst {
	case Drifted:
		return "upstream drifted away from a hook"
	case Unproven:
		return "a proof or a digest does not hold"
	case Failed:
		return "something could not be done"
	}
	return "the patch fits"
}

func stepNames(steps []Step) string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// code makes a text safe between backquotes.
func code(s string) string { return strings.NewReplacer("\n", " ", "`", "'").Replace(s) }

// plain makes a text safe for a line of Markdown: no markup of its own, no mention, no comment.
func plain(s string) string {
	return strings.NewReplacer("\n", " ", "<", "&lt;", "|", "\\|", "`", "'", "@", "@\u200b").Replace(s)
}
