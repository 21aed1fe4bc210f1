package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

func newDrillCommand(env *Env) *cobra.Command {
	var f operating
	var maxLag int64
	cmd := &cobra.Command{
		Use:   "drill BROKER",
		Short: "Practise a promotion and the way back, with a canary topic",
		Long: `Make the topic ` + promoter.DrillTopic + `, promote the observer, have it lead that topic, go back, and
delete the topic. The broker is promoted whole, as in an emergency; no other topic's leadership is
moved and no records are sent.

It is not begun, with exit code 5, while a partition has no leader or is under its minimum, or the
observer lacks more than --max-lag-records, or when it could not go back; --dry-run says so too.
Between the steps the same is looked for: then, when a step fails, and when it is interrupted, the
drill goes back at once and its exit code is 1.`,
		Example: `  observer-patch drill 4 --dry-run --context prod
  observer-patch drill 4 --context prod`,
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
				tell(env, planLines(promoter.PlanPromotion(v, broker))...)
				began := o.Now()
				print := func(is string, err error) error {
					row := drilled{Cluster: v.ClusterID, Broker: broker, Outcome: is, Seconds: o.Now().Sub(began).Seconds()}
					return errors.Join(err, printRows(env.Out, f.format, []drilled{row}, drilledTable))
				}
				switch _, err := o.BeforeDrill(ctx, promoter.Drill{Broker: broker, MaxLag: maxLag}); {
				case exit.Code(err) == exit.Refused:
					return print(outcome(err), err)
				case err != nil:
					return err
				case f.dryRun:
					return print("dry run", nil)
				}
				conn := o.Kafka.(*promoter.Connection)
				if err := conn.Allowed(ctx, promoter.MayAlter); err != nil {
					return err
				}
				if err := f.confirm(env, os.Stdin, fmt.Sprintf("Drill with broker %d of cluster %s?", broker, v.ClusterID)); err != nil {
					return err
				}
				began = o.Now()
				return change(o, func() error {
					err := o.Drill(ctx, promoter.Drill{Broker: broker, MaxLag: maxLag, Limit: f.timeout,
						Canary: func(ctx context.Context, replicas []int32) error {
							return conn.Create(ctx, []observer.Partition{{Topic: promoter.DrillTopic, Replicas: replicas}})
						},
						Remove: func(ctx context.Context) error { return conn.Delete(ctx, promoter.DrillTopic) }})
					if err == nil {
						tell(env, fmt.Sprintf("broker %d was promoted, led the canary and is an observer again", broker))
					}
					return print(outcome(err), err)
				})
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().Int64Var(&maxLag, "max-lag-records", 0, "committed records that the observer may lack on any of its partitions")
	return cmd
}

// drilled is what a drill came to.
type drilled struct {
	Cluster string `json:"cluster"`
	Broker  int32  `json:"broker"`
	// Outcome is done, failed, refused or dry run.
	Outcome string  `json:"outcome"`
	Seconds float64 `json:"seconds"`
}

func drilledTable(t table.Writer, rows []drilled) {
	t.AppendHeader(table.Row{"broker", "outcome", "seconds"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Broker, r.Outcome, fmt.Sprintf("%.1f", r.Seconds)})
	}
}
