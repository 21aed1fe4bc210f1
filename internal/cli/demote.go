package cli

import (
	"github.com/spf13/cobra"

	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

func newDemoteCommand(env *Env) *cobra.Command {
	var f operating
	var moveLeaders bool
	cmd := &cobra.Command{
		Use:   "demote BROKER",
		Short: "Make a full replica an observer: put its id into every identity file",
		Long: `Put a broker's id into the identity files, on the brokers first, on the controllers last, and wait
until it is in no ISR any more.

It is refused, with exit code 5, when the broker leads a partition (--move-leaders moves its
leaderships first: the broker is put last in its assignments and a preferred election follows), when
a reassignment is adding it, when the ISR of a partition without it would be smaller than the topic's
min.insync.replicas, and when anything that decides is not known, a partition of the broker whose
topic is hidden from this client included. The checks are made again right
before the first file is written.`,
		Example: `  observer-patch demote 4 --bootstrap-server b1:9092 --inventory nodes.yaml --dry-run
  observer-patch demote 4 --move-leaders --context prod --yes`,
		Args: oneArgument("one broker id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan := func(v observer.View, broker int32) promoter.Plan {
				return promoter.PlanDemotion(v, broker, moveLeaders)
			}
			return f.changeMembership(cmd.Context(), env, args[0], (*promoter.Operator).DemotionView, plan, (*promoter.Operator).Demote)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&moveLeaders, "move-leaders", false, "first move the leadership of every partition that it leads")
	return cmd
}
