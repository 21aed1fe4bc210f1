package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

func newElectCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "elect",
		Short: "Give leaderless partitions a leader, losing nothing where that is possible",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newElectPreferredCommand(env), newElectUncleanCommand(env))
	return cmd
}

func newElectPreferredCommand(env *Env) *cobra.Command {
	var f operating
	var topics, partitions []string
	var home bool
	cmd := &cobra.Command{
		Use:   "preferred",
		Short: "Elect a live member of the ISR or ELR: nothing is lost",
		Long: `Ask for a preferred election of every partition without a leader: a live, unmarked member of the ISR
or the ELR takes the leadership. With --home also of the partitions that another replica than the
first of their assignment leads. Exit code 1 when a partition is leaderless afterwards.`,
		Example: `  observer-patch elect preferred --context prod --dry-run
  observer-patch elect preferred --home --topic orders --context prod --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), env, func(o *promoter.Operator) error {
				return f.electPreferred(cmd, env, o, topics, partitions, home)
			})
		},
	}
	f.flags(cmd)
	choiceFlags(cmd, &topics, &partitions)
	cmd.Flags().BoolVar(&home, "home", false, "also move leaderships to the first replicas of the assignments")
	return cmd
}

func choiceFlags(cmd *cobra.Command, topics, partitions *[]string) {
	cmd.Flags().StringArrayVar(topics, "topic", nil, "only this topic; may be given several times")
	cmd.Flags().StringArrayVar(partitions, "partition", nil, "only this partition, as TOPIC-NUMBER; may be given several times")
}

// elected is one line of the result of elect.
type elected struct {
	Partition string                `json:"partition"`
	Kind      observer.ElectionKind `json:"kind"`
	Leader    int32                 `json:"leader"`
	Replicas  []int32               `json:"replicas"`
	Reorder   []int32               `json:"reorder"`
	Compared  []observer.Position   `json:"compared"`
	Bound     *observer.Bound       `json:"bound"`
	Outcome   string                `json:"outcome"`
	Refusals  []observer.Refusal    `json:"refusals"`
}

func (f *operating) electPreferred(cmd *cobra.Command, env *Env, o *promoter.Operator, topics, partitions []string, home bool) error {
	ctx, want := cmd.Context(), chosen(topics, partitions)
	v, err := o.View(ctx)
	if err != nil {
		return err
	}
	ids, refusals := v.InForce()
	if len(refusals) > 0 {
		return exit.With(exit.Refused, observer.Refused(refusals))
	}
	if err := shown(topics, partitions, v.Partitions); err != nil {
		return err
	}
	var rows []elected
	var parts []observer.Partition
	for _, p := range v.Partitions {
		if p.Error != "" && want(p) {
			return exit.With(exit.Refused, fmt.Errorf("%s: its state is not known: %s", p, p.Error))
		}
		first := len(p.Replicas) > 0 && p.Leader != p.Replicas[0] && !isIn(p.Replicas[0], p.Observers(ids)) && isIn(p.Replicas[0], p.ISR) && v.IsLive(p.Replicas[0])
		if want(p) && (p.Leader == observer.NoLeader || home && first) {
			parts = append(parts, p)
			rows = append(rows, elected{Partition: p.String(), Kind: observer.Preferred, Leader: p.Leader, Replicas: p.Replicas, Outcome: "dry run"})
			tell(env, fmt.Sprintf("preferred election of %s: leader %d, replicas %v, ISR %v", p, p.Leader, p.Replicas, p.ISR))
		}
	}
	if f.dryRun || len(parts) == 0 {
		return printRows(env.Out, f.format, rows, electedTable)
	}
	if err := o.Kafka.(*promoter.Connection).Allowed(ctx, promoter.MayAlter); err != nil {
		return err
	}
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("Preferred election of %d partitions of cluster %s?", len(parts), v.ClusterID)); err != nil {
		return err
	}
	return change(o, func() error {
		after, err := o.ElectPreferred(ctx, parts, f.timeout)
		for i := range rows {
			rows[i].Leader, rows[i].Outcome = after[rows[i].Partition], "no leader"
			if rows[i].Leader != observer.NoLeader {
				rows[i].Outcome = fmt.Sprintf("led by %d, nothing lost", rows[i].Leader)
			}
		}
		if perr := printRows(env.Out, f.format, rows, electedTable); err == nil {
			err = perr
		}
		return err
	})
}

func newElectUncleanCommand(env *Env) *cobra.Command {
	var f operating
	var topics, partitions []string
	var accept bool
	cmd := &cobra.Command{
		Use:   "unclean",
		Short: "Give leaderless partitions the live replica with the best log, after a preferred election found nobody",
		Long: `For every partition without a leader: a preferred election first, which loses nothing. Where that
finds nobody, the live replica whose log is the best by (leader epoch of the last batch, log end
offset) is elected. It is put first in the assignment when the controller would take another one,
and everything is looked at again right before the election.

It is refused, with exit code 5, when a live replica does not tell its position, when a marked
replica has more than every unmarked one (promote it first), when anything has changed since the
plan was shown, and, without --accept-data-loss, when a replica is dead: what it alone has is lost.
How much that is at most is printed, from the positions that 'auto' or 'record' recorded.

Do not restart brokers meanwhile.`,
		Example: `  observer-patch elect unclean --context prod --dry-run
  observer-patch elect unclean --topic orders --accept-data-loss --context prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), env, func(o *promoter.Operator) error {
				return f.electUnclean(cmd, env, o, topics, partitions, accept)
			})
		},
	}
	f.flags(cmd)
	choiceFlags(cmd, &topics, &partitions)
	cmd.Flags().BoolVar(&accept, "accept-data-loss", false, "records that only dead or silent replicas have may be lost")
	return cmd
}

func (f *operating) electUnclean(cmd *cobra.Command, env *Env, o *promoter.Operator, topics, partitions []string, accept bool) error {
	ctx := cmd.Context()
	v, err := o.Kafka.Look(ctx)
	if err != nil {
		return err
	}
	if err := shown(topics, partitions, v.Partitions); err != nil {
		return err
	}
	b, err := o.Ballot(ctx, chosen(topics, partitions), accept)
	if err != nil {
		return err
	}
	for _, v := range b.Votes {
		tell(env, voteLines(v)...)
	}
	if f.dryRun || len(b.Votes) == 0 {
		if err := printRows(env.Out, f.format, electedRows(b, "dry run"), electedTable); err != nil {
			return err
		}
		return b.Refuse()
	}
	possible := 0
	for _, v := range b.Votes {
		if v.Election.Kind != observer.Impossible {
			possible++
		}
	}
	if possible > 0 && len(b.Refusals) == 0 {
		if err := o.Kafka.(*promoter.Connection).Allowed(ctx, promoter.MayAlter); err != nil {
			return err
		}
		tell(env, "restart no broker until this has ended")
		if err := f.confirm(env, os.Stdin, fmt.Sprintf("Elect leaders of %d partitions of cluster %s, %d of them with possible loss?", possible, b.ClusterID, len(b.Lossy()))); err != nil {
			return err
		}
	}
	return change(o, func() error {
		b, err := o.Elect(ctx, b, f.timeout)
		if perr := printRows(env.Out, f.format, electedRows(b, ""), electedTable); err == nil {
			err = perr
		}
		return err
	})
}

func electedRows(b promoter.Ballot, outcome string) []elected {
	rows := []elected{}
	for _, v := range b.Votes {
		row := elected{Partition: v.Partition.String(), Kind: v.Election.Kind, Leader: v.Election.Leader, Replicas: v.Partition.Replicas, Reorder: v.Election.Assignment,
			Compared: v.Election.Compared, Bound: v.Bound, Outcome: v.Outcome, Refusals: v.Election.Refusals}
		if row.Outcome == "" {
			row.Outcome = outcome
		}
		rows = append(rows, row)
	}
	return rows
}

// voteLines say what one election will do and cost.
func voteLines(v promoter.Vote) []string {
	e := v.Election
	out := []string{fmt.Sprintf("%s: replicas %v, ISR %v, ELR %v: %s election", v.Partition, v.Partition.Replicas, v.Partition.ISR, v.Partition.ELR, e.Kind)}
	for _, p := range e.Compared {
		out = append(out, "  log of broker "+p.String())
	}
	if e.Assignment != nil {
		out = append(out, fmt.Sprintf("  first: replicas in the order %v", e.Assignment))
	}
	if e.Leader != observer.NoLeader && e.Kind != observer.Impossible {
		out = append(out, fmt.Sprintf("  broker %d will lead", e.Leader))
	}
	if v.Bound != nil && e.Lossy {
		out = append(out, "  lost: "+v.Bound.String())
	}
	for _, r := range e.Refusals {
		out = append(out, "  refused: "+r.String())
	}
	return out
}

func electedTable(t table.Writer, rows []elected) {
	t.AppendHeader(table.Row{"partition", "election", "leader", "lost at most", "outcome"})
	for _, r := range rows {
		lost := "nothing"
		if r.Bound != nil {
			lost = strings.SplitN(r.Bound.String(), ";", 2)[0]
		}
		t.AppendRow(table.Row{r.Partition, r.Kind, r.Leader, lost, r.Outcome})
	}
}

func isIn(id int32, list []int32) bool {
	for _, x := range list {
		if x == id {
			return true
		}
	}
	return false
}
