package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// changed is one line of the result of promote and demote.
type changed struct {
	Change   observer.Change    `json:"change"`
	Cluster  string             `json:"cluster"`
	Broker   int32              `json:"broker"`
	Before   []int32            `json:"before"`
	After    []int32            `json:"after"`
	Outcome  string             `json:"outcome"`
	Written  []int32            `json:"written"`
	Pending  []int32            `json:"pending"`
	Seconds  float64            `json:"seconds"`
	Undo     string             `json:"undo"`
	Warnings []string           `json:"warnings"`
	Refusals []observer.Refusal `json:"refusals"`
}

func newPromoteCommand(env *Env) *cobra.Command {
	var f operating
	cmd := &cobra.Command{
		Use:   "promote BROKER",
		Short: "Make an observer a full replica: take its id out of every identity file",
		Long: `Take a broker's id out of the identity files, on all controllers first, then on the brokers, and
wait until it is in the ISR of every partition that has a leader. A broker is promoted whole: the
plan names every topic that this touches.

A success needs the controllers' majority and all live brokers. Nodes that cannot be reached get the
list later: 'observer-patch status' shows them, 'observer-patch pending --finish' writes them.
Otherwise everything is put back.

Partitions without a leader get a preferred election, which loses nothing. What is leaderless after
that needs 'observer-patch elect unclean'. Exit code 5: a safety rule refused.`,
		Example: `  observer-patch promote 4 --bootstrap-server b1:9092 --inventory nodes.yaml --dry-run
  observer-patch promote 4 --context prod --yes`,
		Args: oneArgument("one broker id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.changeMembership(cmd.Context(), env, args[0], lookAtAll, promoter.PlanPromotion, (*promoter.Operator).Promote)
		},
	}
	f.flags(cmd)
	return cmd
}

// lookAtAll is the view that a promotion is planned from.
func lookAtAll(o *promoter.Operator, ctx context.Context, _ int32) (observer.View, error) {
	return o.View(ctx)
}

// changeMembership looks, plans, shows, asks, does and prints a promotion or demotion.
func (f *operating) changeMembership(ctx context.Context, env *Env, arg string,
	look func(*promoter.Operator, context.Context, int32) (observer.View, error), plan func(observer.View, int32) promoter.Plan,
	do func(*promoter.Operator, context.Context, promoter.Plan, time.Duration) (promoter.Result, error)) error {
	broker, err := brokerID(arg)
	if err != nil {
		return err
	}
	return f.with(ctx, env, func(o *promoter.Operator) error {
		v, err := look(o, ctx, broker)
		if err != nil {
			return err
		}
		p := plan(v, broker)
		if p.Alters {
			refusals, err := o.Kafka.(*promoter.Connection).Lacks(ctx, promoter.MayAlter)
			if err != nil {
				return err
			}
			p.Refusals = append(p.Refusals, refusals...)
		}
		tell(env, planLines(p)...)
		row := changed{Change: p.Change, Cluster: p.ClusterID, Broker: broker, Before: p.Before, After: p.After,
			Written: []int32{}, Pending: []int32{}, Undo: p.Undo, Warnings: append([]string{}, p.Warnings...), Refusals: append([]observer.Refusal{}, p.Refusals...)}
		print := func(outcome string, err error) error {
			row.Outcome = outcome
			if perr := printRows(env.Out, f.format, []changed{row}, changedTable); err == nil {
				err = perr
			}
			return err
		}
		switch {
		case len(p.Refusals) > 0:
			return print("refused", p.Refuse())
		case p.Nothing:
			return print("nothing to do", nil)
		case f.dryRun:
			return print("dry run", nil)
		}
		if err := f.confirm(env, os.Stdin, fmt.Sprintf("%s broker %d of cluster %s?", p.Change, broker, p.ClusterID)); err != nil {
			return err
		}
		return change(o, func() error {
			r, err := do(o, ctx, p, f.timeout)
			row.Written, row.Pending = append(row.Written, r.Distribution.Written...), append(row.Pending, r.Distribution.Pending...)
			row.Seconds = r.Took.Seconds()
			if is := outcome(err); is != failed || !r.Distributed() {
				return print(is, err)
			}
			return print("done, not complete", err)
		})
	})
}

// failed is the outcome of what went wrong and was not refused.
const failed = "failed"

// outcome says what became of something that was tried.
func outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case exit.Code(err) == exit.Refused:
		return "refused"
	}
	return failed
}

func changedTable(t table.Writer, rows []changed) {
	t.AppendHeader(table.Row{"change", "broker", "before", "after", "outcome", "pending", "seconds", "taken back by"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Change, r.Broker, fmt.Sprint(r.Before), fmt.Sprint(r.After), r.Outcome, fmt.Sprint(r.Pending), fmt.Sprintf("%.1f", r.Seconds), r.Undo})
	}
}
