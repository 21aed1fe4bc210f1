package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/install"
)

// procDir is where Linux shows its processes.
const procDir = "/proc"

// homeFlags are what install and rollback have in common.
type homeFlags struct {
	install.Options
	format string
}

func (h *homeFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&h.Home, "kafka-home", "", "the Kafka home: the folder with bin, config and libs")
	f.BoolVar(&h.WhileRunning, "while-running", false, "go on although a process runs from that home; it keeps the jars that it opened until it is restarted")
	f.BoolVar(&h.DryRun, "dry-run", false, "check everything, change nothing")
	formatFlag(cmd, &h.format)
}

// run checks the flags, does the work and prints what became of the jars.
func (h *homeFlags) run(ctx context.Context, env *Env, work func(context.Context, install.Options) ([]install.Jar, error)) error {
	if err := checkFormat(h.format); err != nil {
		return err
	}
	if h.Home == "" {
		return exit.With(exit.Usage, fmt.Errorf("--kafka-home is missing; expected the folder with bin, config and libs"))
	}
	h.Proc, h.Log = procDir, env.Log
	rows, err := work(ctx, h.Options)
	if err != nil {
		return err
	}
	if rows == nil {
		rows = []install.Jar{}
	}
	return printRows(env.Out, h.format, rows, swappedTable)
}

func newInstallCommand(env *Env) *cobra.Command {
	var h homeFlags
	var signer, signers string
	cmd := &cobra.Command{
		Use:   "install BUNDLE --kafka-home DIR",
		Short: "Put a bundle's changed jars in the place of the release's own in a Kafka home",
		Long: `Check that BUNDLE matches its SHA256SUMS and that the Kafka home has exactly the jars that
the bundle was made for, keep those in DIR/.observer-patch/originals, and put the changed
ones in their place, each in one step. Owner and mode are kept; the time is that of the
installation. What does not fit is exit code 5 and changes nothing. Nothing is different
for brokers until they are restarted, and nothing for the cluster until there is an
identity file.

A run that was killed leaves a journal: the next install or rollback undoes it first.`,
		Args: usageArgs(1, "a bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (signer == "") != (signers == "") {
				return exit.With(exit.Usage, fmt.Errorf("--signer and --allowed-signers go together"))
			}
			h.Dist = args[0]
			return h.run(cmd.Context(), env, func(ctx context.Context, o install.Options) ([]install.Jar, error) {
				if signer != "" {
					if err := bundle.CheckSignature(ctx, o.Dist, signers, signer); err != nil {
						return nil, err
					}
				}
				return install.Install(ctx, o)
			})
		},
	}
	h.flags(cmd)
	cmd.Flags().StringVar(&signer, "signer", "", "identity that must have signed, as in the allowed signers file")
	cmd.Flags().StringVar(&signers, "allowed-signers", "", "allowed signers file of ssh-keygen; with --signer")
	return cmd
}

// usageArgs wants exactly n arguments; another number is a usage error.
func usageArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return exit.With(exit.Usage, fmt.Errorf("expected %s, found %d arguments", what, len(args)))
		}
		return nil
	}
}

func swappedTable(w table.Writer, rows []install.Jar) {
	w.AppendHeader(table.Row{"jar", "action", "was", "is", "mode", "owner", "original"})
	for _, r := range rows {
		w.AppendRow(table.Row{r.Name, r.Action, r.Was[:16], r.Is[:16], r.Mode, r.Owner, r.Original})
	}
}
