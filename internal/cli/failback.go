package cli

import (
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/promoter"
)

func newFailbackCommand(env *Env) *cobra.Command {
	var f operating
	var plan bool
	cmd := &cobra.Command{
		Use:   "failback BROKER",
		Short: "Go back after a promotion: wait for the ISR, move leaders home, demote",
		Long: `Take a promoted broker back to being an observer: wait until every sync replica of its partitions is
in the ISR again, move leaderships to the first replicas of the assignments, then demote it as
'demote --move-leaders' does. When the replicas are not back within --timeout nothing is changed and
the broker stays promoted. --plan says what is to be waited for and moved.`,
		Example: `  observer-patch failback 4 --plan --context prod
  observer-patch failback 4 --timeout 30m --context prod`,
		Args: oneArgument("one broker id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			broker, err := brokerID(args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return f.with(ctx, env, func(o *promoter.Operator) error {
				v, err := o.View(ctx)
				if err != nil {
					return err
				}
				p, err := promoter.PlanFailback(v, broker)
				if err != nil {
					return err
				}
				if err := printRows(env.Out, f.format, []promoter.Failback{p}, failbackTable); err != nil {
					return err
				}
				if plan || f.dryRun {
					return nil
				}
				if err := o.Kafka.(*promoter.Connection).Allowed(ctx, promoter.MayAlter); err != nil {
					return err
				}
				if err := f.confirm(env, os.Stdin, fmt.Sprintf("Take broker %d of cluster %s back to being an observer?", broker, v.ClusterID)); err != nil {
					return err
				}
				return change(o, func() error {
					r, err := o.Failback(ctx, broker, f.timeout)
					if err == nil {
						tell(env, fmt.Sprintf("broker %d is an observer again, taken back by: %s", broker, r.Plan.Undo))
					}
					return err
				})
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&plan, "plan", false, "say what is to be done, change nothing")
	return cmd
}

func failbackTable(t table.Writer, rows []promoter.Failback) {
	t.AppendHeader(table.Row{"broker", "to wait for", "leaders to move home", "in the way of demotion now"})
	for _, r := range rows {
		refused := []string{}
		for _, x := range r.Refusals {
			refused = append(refused, x.String())
		}
		t.AppendRow(table.Row{r.Broker, listed(r.Waiting), listed(r.Home), listed(refused)})
	}
}
