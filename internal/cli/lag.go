package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/overview"
)

func newLagCommand(env *Env) *cobra.Command {
	var v viewing
	var topics []string
	var only, epochs bool
	cmd := &cobra.Command{
		Use:   "lag",
		Short: "Say of every replica where its own log ends, and how far it is behind",
		Long: `Ask the broker of every replica directly where its log stands. That works for followers and
observers, and for partitions without a leader. What is not answered is unknown, never 0.

The high watermarks are asked for first and the leaders' logs last: a replica that 'holds
committed' has everything that was committed when the looking began, and lag is never told too
small. 'behind' is the age of the first batch that the replica lacks, by the time stamp in it.

It needs DESCRIBE and DESCRIBE_CONFIGS on the topics and DESCRIBE on the cluster, and READ on the topics for epochs and
'behind'.`,
		Example: `  observer-patch lag --bootstrap-server kafka-1:9092 --topic orders
  observer-patch lag --context prod --observers-only -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := lag(cmd.Context(), env, &v, topics, only, epochs)
			if err != nil {
				return err
			}
			if err := printRows(env.Out, v.format, rows, lagTable); err != nil {
				return err
			}
			if n := len(slices.DeleteFunc(rows, func(r overview.Replica) bool { return r.LogEnd.Known })); n > 0 {
				return fmt.Errorf("the log end of %d replicas is not known", n)
			}
			return nil
		},
	}
	f := cmd.Flags()
	v.flags(cmd)
	f.StringSliceVar(&topics, "topic", nil, "names of topics; default: all")
	f.BoolVar(&only, "observers-only", false, "only partitions with observers")
	f.BoolVar(&epochs, "epochs", true, "ask for the leader epoch of every last batch too, for which each broker sends that batch")
	return cmd
}

func lag(ctx context.Context, env *Env, v *viewing, topics []string, only, epochs bool) ([]overview.Replica, error) {
	client, err := v.open(env)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	s, err := client.Look(ctx, cluster.Scope{Topics: topics}, time.Now())
	if err != nil {
		return nil, err
	}
	if err := v.check(s.ClusterID); err != nil {
		return nil, err
	}
	observers := overview.Decide(overview.Input{Snapshot: s, Seen: v.seen(ctx), Observers: v.given})
	if only && observers.Source == "unknown" {
		return nil, exit.With(exit.Usage, errors.New("--observers-only needs an inventory, or --observers"))
	}
	for _, d := range observers.Doubts {
		env.Log.Warn("who is an observer is not certain", "why", d)
	}
	for _, m := range s.Missing {
		env.Log.Warn("not known", "what", m)
	}
	depth := cluster.Logs
	if epochs {
		depth = cluster.Epochs
	}
	if err := client.Positions(ctx, s, depth, func(t *cluster.Topic, p *cluster.Partition, _ int32) bool {
		return !only || len(overview.ObserversOf(t, p, observers.IDs)) > 0
	}); err != nil {
		return nil, err
	}
	if err := client.Behind(ctx, s); err != nil {
		return nil, err
	}
	return overview.Replicas(s, observers), nil
}

func lagTable(w table.Writer, rows []overview.Replica) {
	w.AppendHeader(table.Row{"partition", "broker", "role", "in isr", "holds committed", "lag", "behind", "log start", "log end", "last epoch", "problem"})
	for _, r := range rows {
		w.AppendRow(table.Row{r.Partition, r.Broker, roleText(r), yesNo(cluster.Known(r.InISR)), yesNo(r.CaughtUp), orUnknown(r.Lag), behindText(r), orUnknown(r.LogStart), orUnknown(r.LogEnd),
			orUnknown(r.LastEpoch), r.Problem})
	}
}

func roleText(r overview.Replica) string {
	var words []string
	switch {
	case r.Leader:
		words = append(words, "leader")
	case !r.Observer:
		words = append(words, "follower")
	}
	if r.Observer {
		words = append(words, "observer")
	}
	if r.InELR {
		words = append(words, "elr")
	}
	return strings.Join(words, " ")
}

func behindText(r overview.Replica) string {
	if r.BehindMillis.Known {
		return (time.Duration(r.BehindMillis.V) * time.Millisecond).String()
	}
	return unknown
}

// unknown stands in tables where nothing is known.
const unknown = "?"

func orUnknown[T any](v cluster.Value[T]) string {
	if !v.Known {
		return unknown
	}
	return fmt.Sprint(v.V)
}

func yesNo(v cluster.Value[bool]) string {
	switch {
	case !v.Known:
		return unknown
	case v.V:
		return "yes"
	}
	return "no"
}
