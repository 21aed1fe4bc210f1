package cli

import (
	"github.com/spf13/cobra"

	"observer-patch/internal/install"
)

func newRollbackCommand(env *Env) *cobra.Command {
	var h homeFlags
	cmd := &cobra.Command{
		Use:   "rollback --kafka-home DIR",
		Short: "Put the release's own jars back, byte for byte",
		Long: `Put the jars that install kept back in their place, each in one step, with their bytes, owner,
mode and time, and remove DIR/.observer-patch. Does nothing where nothing is installed, and
finishes what a killed run left. A jar that somebody else changed since is exit code 5.`,
		Example: "  observer-patch rollback --kafka-home /opt/kafka",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return h.run(cmd.Context(), env, install.Rollback)
		},
	}
	h.flags(cmd)
	return cmd
}
