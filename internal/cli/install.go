package cli

import (
	"context"
	"errors"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

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

// noHome is the error of a command without --kafka-home.
func noHome() error {
	return exit.With(exit.Usage, errors.New("--kafka-home is missing; expected the folder with bin, config and libs"))
}

// run checks the flags, does the work and prints what became of the jars.
func (h *homeFlags) run(ctx context.Context, env *Env, work func(context.Context, install.Options) ([]install.Jar, error)) error {
	if err := checkFormat(h.format); err != nil {
		return err
	}
	if h.Home == "" {
		return noHome()
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
	var sig signatureFlags
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
		Example: `  observer-patch install dist/4.1.0-kraft --kafka-home /opt/kafka --dry-run
  observer-patch install dist/4.1.0-kraft --kafka-home /opt/kafka --signer release@example.org --allowed-signers signers`,
		Args: oneArgument("a bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sig.complete(); err != nil {
				return err
			}
			h.Dist = args[0]
			return h.run(cmd.Context(), env, func(ctx context.Context, o install.Options) ([]install.Jar, error) {
				if err := sig.check(ctx, o.Dist); err != nil {
					return nil, err
				}
				return install.Install(ctx, o)
			})
		},
	}
	h.flags(cmd)
	sig.flags(cmd.Flags())
	return cmd
}

func swappedTable(w table.Writer, rows []install.Jar) {
	w.AppendHeader(table.Row{"jar", "action", "was", "is", "mode", "owner", "original"})
	for _, r := range rows {
		w.AppendRow(table.Row{r.Name, r.Action, r.Was[:16], r.Is[:16], r.Mode, r.Owner, r.Original})
	}
}
