package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
)

// Run parses args, runs the command and gives its exit code. Errors are printed to env.Err.
func Run(ctx context.Context, env *Env, args []string) int {
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(env.Err, "observer-patch: %v\n", err)
	}
	return exit.Code(err)
}

// Commands gives the whole tree of commands, for manual pages and completions.
func Commands(env *Env) *cobra.Command { return newRoot(env) }

func newRoot(env *Env) *cobra.Command {
	var logLevel string
	root := &cobra.Command{
		Use:           "observer-patch",
		Short:         "Build, prove and run upstream Kafka with observer replicas",
		Version:       env.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		// A bare parent command shows its help; a wrong word is a usage error.
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.With(exit.Usage, fmt.Errorf("unknown command %q; see observer-patch --help", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			var level slog.Level
			if err := level.UnmarshalText([]byte(logLevel)); err != nil {
				return exit.With(exit.Usage, fmt.Errorf("--log-level %q: expected debug, info, warn or error", logLevel))
			}
			env.Log = slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: level}))
			if env.DataDir != "" {
				info, err := os.Stat(env.DataDir)
				if err == nil && !info.IsDir() {
					err = fmt.Errorf("%s is a file", env.DataDir)
				}
				if err != nil {
					return exit.With(exit.Usage, fmt.Errorf("--data: %w; expected a folder with versions.yaml, versions.lock, anchors and patches", err))
				}
				env.Data = os.DirFS(env.DataDir)
			}
			return nil
		},
	}
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.With(exit.Usage, err) })
	root.PersistentFlags().StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	root.PersistentFlags().StringVar(&env.DataDir, "data", "", "folder with versions.yaml, versions.lock, anchors and patches, instead of the embedded ones")
	root.AddCommand(commands(env)...)
	wrongArgumentsAreUsage(root)
	return root
}

// wrongArgumentsAreUsage gives the usage exit code to what cobra says of the arguments of
// any command below parent.
func wrongArgumentsAreUsage(parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return exit.With(exit.Usage, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
				}
				return nil
			}
		}
		wrongArgumentsAreUsage(cmd)
	}
}

// oneArgument wants exactly one argument, and says what it should be.
func oneArgument(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("expected %s, found %d arguments", what, len(args))
		}
		return nil
	}
}

// commands lists every command, in the order of the help page's groups.
func commands(env *Env) []*cobra.Command {
	return []*cobra.Command{
		newVersionsCommand(env),
		newCheckCommand(env),
		newGenerateCommand(env),
		newApplyCommand(env),
		newBuildCommand(env),
		newVerifyCommand(env),
		newRebuildCommand(env),
		newLockCommand(env),
		newCacheCommand(env),
		newSentinelCommand(env),
		newAnchorsCommand(env),
		newInstallCommand(env),
		newRollbackCommand(env),
		newDoctorCommand(env),
		newStatusCommand(env),
		newLagCommand(env),
		newFileAgentCommand(env),
		newImageCommand(env),
		newVersionCommand(env),
		newPromoteCommand(env),
		newDemoteCommand(env),
		newElectCommand(env),
		newPendingCommand(env),
		newRecordCommand(env),
		newAutoCommand(env),
		newPlanCommand(env),
		newRestartCommand(env),
		newFailbackCommand(env),
		newDrillCommand(env),
		newLabCommand(env),
	}
}
