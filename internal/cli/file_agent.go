package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
)

func newFileAgentCommand(env *Env) *cobra.Command {
	var file, home string
	cmd := &cobra.Command{
		Use:   "file-agent --file PATH",
		Short: "Answer one request for one identity file, as the forced command of an ssh account",
		Long: `Read one request from the standard input and answer it on the standard output. The request can
read the file, replace it when it is what the other side thinks it is, or ask for the digests of
the Kafka jars; nothing else can be done with it.`,
		Example: `  # in ~/.ssh/authorized_keys of the account that owns the file, on one line:
  command="/usr/local/bin/observer-patch file-agent --file /etc/kafka/observer.ids",restrict ssh-ed25519 AAAA... operator
  observer-patch file-agent --file /etc/kafka/observer.ids --kafka-home /opt/kafka`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return exit.With(exit.Usage, fmt.Errorf("--file is missing: the path of the identity file"))
			}
			return hosts.Serve(cmd.InOrStdin(), env.Out, file, home)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the identity file")
	cmd.Flags().StringVar(&home, "kafka-home", "", "the Kafka home whose jars may be asked for; empty for none")
	return cmd
}
