package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"observer-patch/internal/promoter"
)

func newRecordCommand(env *Env) *cobra.Command {
	var f operating
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record how far partitions are committed and how far their observers have come",
		Long: `Record, for every partition with an observer, the high watermark, the observers' log ends and the
time, in the state folder. 'elect unclean' then says how many records and seconds are lost at most.
Run it outside of the zone that may fail, again and again (--every, or a timer); 'auto' records with
every scan.`,
		Example: `  observer-patch record --context prod
  observer-patch record --every 10s --context prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return f.with(ctx, env, func(o *promoter.Operator) error {
				if every <= 0 {
					if err := o.Record(ctx); err != nil {
						return err
					}
					_, err := fmt.Fprintln(env.Out, o.Store.Path(promoter.RecordingsFile))
					return err
				}
				tick := time.NewTicker(every)
				defer tick.Stop()
				for {
					if err := o.Record(ctx); err != nil && ctx.Err() == nil {
						env.Log.Warn("not recorded", "error", err)
					}
					select {
					case <-ctx.Done():
						return nil
					case <-tick.C:
					}
				}
			})
		},
	}
	f.connection.flags(cmd.Flags())
	f.stateFlags(cmd.Flags())
	f.format = "table"
	cmd.Flags().DurationVar(&every, "every", 0, "go on recording, with this pause, until interrupted")
	return cmd
}
