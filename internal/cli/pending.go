package cli

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/promoter"
)

func newPendingCommand(env *Env) *cobra.Command {
	var f operating
	var finish bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Show, or write, the list that some nodes have not got yet",
		Long: `A promotion or demotion that could not reach every node keeps what is missing, also over a crash.
With --finish it is written now: on nodes that are back, and, when the run was cut off, on all of
them. A list that somebody has changed since is left alone. With --finish the exit code is 1 while
something is missing.`,
		Example: `  observer-patch pending --context prod
  observer-patch pending --finish --context prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), env, func(o *promoter.Operator) error {
				p, err := o.Store.Pending()
				if err != nil {
					return err
				}
				if finish && !f.dryRun && p != nil {
					tell(env, p.String())
					was := *p
					if err := goOn(&f, env, o, "pending list", "Write what is missing", p, o.Store.Pending, func() error { p, err = o.Finish(cmd.Context()); return err }); err != nil {
						return err
					}
					back, err := o.TakenBackBy(cmd.Context(), was)
					if err != nil {
						tell(env, "whether it can be taken back is not known: "+err.Error())
					}
					for _, command := range back {
						tell(env, "taken back by: "+command)
					}
				}
				rows := []promoter.Pending{}
				if p != nil {
					rows = append(rows, *p)
				}
				return printRows(env.Out, f.format, rows, func(t table.Writer, rows []promoter.Pending) {
					t.AppendHeader(table.Row{"pending"})
					for _, r := range rows {
						t.AppendRow(table.Row{r.String()})
					}
				})
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&finish, "finish", false, "write it on the nodes that can be reached now")
	return cmd
}
