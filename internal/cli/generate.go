package cli

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/patch"
	"observer-patch/internal/source"
)

// written is one line of generate's and apply's output.
type written struct {
	Target string `json:"target"`
	// Out is the file or folder; empty for a dry run.
	Out string `json:"out,omitempty"`
	// Whole is false for a tree that upstream's own build cannot run in.
	Whole bool `json:"wholeTree"`
	patch.Summary
}

func newGenerateCommand(env *Env) *cobra.Command {
	var sel selection
	var src sourceFlags
	var format, out string
	cmd := &cobra.Command{
		Use:     "generate --version V",
		Short:   "Write the unified diff of each target, for patch -p1 and git apply",
		Example: "  observer-patch generate --version 4.1.0 --out 4.1.0.diff",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			rows := []written{}
			var failed []error
			err := plans(cmd.Context(), env, &sel, &src, func(p *patch.Plan, tree *source.Tree) error {
				if err := p.Err(); err != nil {
					failed = append(failed, err)
					return nil
				}
				text, err := diffText(env, p)
				if err != nil {
					return err
				}
				file := filepath.Join(out, p.Target.String()+".diff")
				if err := os.MkdirAll(out, 0o755); err != nil {
					return err
				}
				if err := renameio.WriteFile(file, text, 0o644); err != nil {
					return err
				}
				rows = append(rows, written{Target: p.Target.String(), Out: file, Whole: tree.Whole, Summary: p.Tree.Summary()})
				return nil
			})
			if err != nil {
				return err
			}
			if err := printRows(env.Out, format, rows, writtenTable); err != nil {
				return err
			}
			return joined(failed)
		},
	}
	sel.flags(cmd.Flags())
	src.flags(cmd.Flags())
	formatFlag(cmd, &format)
	cmd.Flags().StringVar(&out, "out", "dist", "folder for the diffs, <target>.diff each")
	return cmd
}

// diffText gives the diff file of a plan, with its header.
func diffText(env *Env, p *patch.Plan) ([]byte, error) {
	text, err := p.Tree.Diff()
	return append([]byte(p.Tree.Header(p.Target, env.Version)), text...), err
}

func writtenTable(w table.Writer, rows []written) {
	w.AppendHeader(table.Row{"target", "files", "added", "hunks", "inserted", "deleted", "tree", "out"})
	for _, r := range rows {
		tree := "partial"
		if r.Whole {
			tree = "whole"
		}
		w.AppendRow(table.Row{r.Target, r.Files, r.Added, r.Hunks, r.Inserted, r.Deleted, tree, r.Out})
	}
}
