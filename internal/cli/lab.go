package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/lab/evidence"
	"observer-patch/internal/lab/scenario"
)

func newLabCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Run real clusters from the built jars, break them, and keep the evidence",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLabListCommand(env), newLabRunCommand(env), newLabRecheckCommand(env), newLabReportCommand(env))
	return cmd
}

// labRow is one line of 'lab list'.
type labRow struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Expect   string `json:"expect"`
	Compared bool   `json:"compared"`
}

func newLabListCommand(env *Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the scenarios of the fault matrix",
		Example: "  observer-patch lab list -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			var rows []labRow
			for _, s := range scenario.All() {
				rows = append(rows, labRow{ID: s.ID, Title: s.Title, Expect: s.Expect, Compared: s.Compare})
			}
			return printRows(env.Out, format, rows, func(t table.Writer, rows []labRow) {
				t.AppendHeader(table.Row{"id", "scenario", "expected"})
				for _, r := range rows {
					t.AppendRow(table.Row{r.ID, r.Title, r.Expect})
				}
			})
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// recheckRow is one line of 'lab recheck'.
type recheckRow struct {
	Leg      string `json:"leg"`
	Scenario string `json:"scenario"`
	Stored   string `json:"stored"`
	Now      string `json:"now"`
	Same     bool   `json:"same"`
}

func newLabRecheckCommand(env *Env) *cobra.Command {
	var format string
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "recheck DIR",
		Short: "Compute every verdict anew from the stored events",
		Long: `Compute the verdict of every run below DIR anew, from its plan and its events alone, and
compare it with the stored result. A difference is exit code 1. With --rewrite the computed
results take the place of the stored ones, pages included: for events that were recorded
before a rule was mended.`,
		Example: "  observer-patch lab recheck evidence/4.1.0-kraft-full",
		Args:    oneArgument("the folder with runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			rows, err := recheck(args[0], rewrite)
			if perr := printRows(env.Out, format, rows, func(t table.Writer, rows []recheckRow) {
				t.AppendHeader(table.Row{"leg", "scenario", "stored", "now", "same in every detail"})
				for _, r := range rows {
					t.AppendRow(table.Row{r.Leg, r.Scenario, r.Stored, r.Now, r.Same})
				}
			}); err == nil {
				err = perr
			}
			return err
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "store the computed results and write their pages anew")
	return cmd
}

func recheck(root string, rewrite bool) ([]recheckRow, error) {
	rows := []recheckRow{}
	dirs, err := evidence.Find(root)
	if err != nil {
		return rows, err
	}
	different := 0
	for _, dir := range dirs {
		stored, err := evidence.Load(dir)
		if err != nil {
			return rows, err
		}
		_, now, err := evidence.Rejudge(dir)
		if err != nil {
			return rows, err
		}
		r := recheckRow{Leg: evidence.Leg(stored.Plan), Scenario: stored.Plan.Scenario, Stored: stored.Outcome.Verdict, Now: now.Verdict,
			Same: reflect.DeepEqual(stored.Outcome, now)}
		if !r.Same {
			different++
		}
		rows = append(rows, r)
		if rewrite {
			if err := evidence.Rewrite(evidence.Run{Dir: dir, Plan: stored.Plan, Outcome: now}); err != nil {
				return rows, err
			}
		}
	}
	if different > 0 && !rewrite {
		return rows, fmt.Errorf("%d of %d stored results are not what their events say", different, len(rows))
	}
	return rows, nil
}

func newLabReportCommand(env *Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report DIR",
		Short:   "Join the runs below a folder into one page with the matrix",
		Example: "  observer-patch lab report evidence",
		Args:    oneArgument("the folder with runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			dirs, err := evidence.Find(args[0])
			if err != nil {
				return err
			}
			var runs []evidence.Run
			for _, dir := range dirs {
				r, err := evidence.Load(dir)
				if err != nil {
					return err
				}
				runs = append(runs, r)
			}
			page, err := evidence.Report(args[0], runs)
			if err != nil {
				return err
			}
			if out == "" {
				_, err = fmt.Fprint(env.Out, page)
				return err
			}
			return renameio.WriteFile(out, []byte(page), 0o644)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the page to this file, e.g. DIR/README.md; default: standard output")
	return cmd
}

// bundleDir finds the bundle that serves a leg: that of the mode itself, or the one for both modes.
func bundleDir(dist, leg, both string) (string, error) {
	for _, name := range []string{leg, both} {
		dir := filepath.Join(dist, name)
		_, err := os.Stat(dir)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("no bundle %s or %s in %s: make it with 'observer-patch build --out %s'", leg, both, dist, dist)
}
