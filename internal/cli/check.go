package cli

import (
	"errors"
	"fmt"
	"sort"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/patch"
	"observer-patch/internal/source"
)

// found is one line of check's output: a place of a hook in a target.
type found struct {
	Target string `json:"target"`
	Hook   string `json:"hook"`
	Path   string `json:"path"`
	// Line is the first anchored line, from 1; 0 when it was not found once.
	Line  int    `json:"line"`
	Count int    `json:"count"`
	Place string `json:"place"`
	// Miss says what happened when Count is not 1.
	Miss *anchor.Miss `json:"miss,omitempty"`
}

func newCheckCommand(env *Env) *cobra.Command {
	var sel selection
	var src sourceFlags
	var format string
	cmd := &cobra.Command{
		Use:   "check --version V",
		Short: "Find every hook's place in upstream's files, exactly once each",
		Long: `Find every hook's place in upstream's files and print, for each, how often it was
found, the file and the line. A place that is not found exactly once is exit code 3,
with what happened to it and the lines most like it.`,
		Example: `  observer-patch check --version all
  observer-patch check --version 4.1.0 --source dir --dir TREE`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			rows := []found{}
			var failed []error
			err := plans(cmd.Context(), env, &sel, &src, func(p *patch.Plan, _ *source.Tree) error {
				rows = append(rows, foundIn(p)...)
				failed = append(failed, p.Err())
				return nil
			})
			if err != nil {
				return err
			}
			if err := printRows(env.Out, format, rows, checkTable); err != nil {
				return err
			}
			return joined(failed)
		},
	}
	sel.flags(cmd.Flags())
	src.flags(cmd.Flags())
	formatFlag(cmd, &format)
	return cmd
}

// joined gives all errors as one with the exit code of the first.
func joined(errs []error) error {
	all := errors.Join(errs...)
	for _, err := range errs {
		if err != nil {
			return exit.With(exit.Code(err), all)
		}
	}
	return nil
}

func foundIn(p *patch.Plan) []found {
	var rows []found
	t := p.Target.String()
	for _, f := range p.Tree.Files {
		if f.Before == nil {
			rows = append(rows, found{Target: t, Hook: f.Edits[0].Owner, Path: f.Path, Line: 1, Count: 1, Place: "new file"})
		}
	}
	for _, l := range p.Located {
		rows = append(rows, found{Target: t, Hook: l.Hook, Path: l.Path, Line: l.Start, Count: 1, Place: l.Place})
	}
	for _, m := range p.Misses {
		rows = append(rows, found{Target: t, Hook: m.Hook, Path: m.Path, Count: m.Count, Place: string(m.Cause), Miss: &m})
	}
	sort.SliceStable(rows, func(i, j int) bool {
		return rows[i].Path < rows[j].Path || rows[i].Path == rows[j].Path && rows[i].Line < rows[j].Line
	})
	return rows
}

func checkTable(w table.Writer, rows []found) {
	w.AppendHeader(table.Row{"target", "hook", "count", "file", "line"})
	for _, r := range rows {
		line := any(r.Line)
		if r.Line == 0 {
			line = r.Place
		}
		w.AppendRow(table.Row{r.Target, r.Hook, r.Count, r.Path, line})
	}
}

// formatFlag adds -o.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", "table", "table, json or yaml")
}

func checkFormat(format string) error {
	switch format {
	case "table", "json", "yaml":
		return nil
	}
	return exit.With(exit.Usage, fmt.Errorf("-o %q: expected table, json or yaml", format))
}
