package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/source"
)

func newRebuildCommand(env *Env) *cobra.Command {
	var src sourceFlags
	var compiler compilerFlags
	var format string
	cmd := &cobra.Command{
		Use:     "rebuild DIST",
		Short:   "Build a bundle again from its own provenance and compare every byte",
		Example: "  observer-patch rebuild dist/4.1.0-kraft --offline",
		Args:    oneArgument("a bundle's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			rows := []checked{}
			err := rebuild(cmd.Context(), env, args[0], &src, &compiler, &rows)
			if perr := printRows(env.Out, format, rows, checkedTable); err == nil {
				err = perr
			}
			return err
		},
	}
	src.flags(cmd.Flags())
	compiler.flags(cmd.Flags())
	formatFlag(cmd, &format)
	return cmd
}

func rebuild(ctx context.Context, env *Env, dir string, src *sourceFlags, c *compilerFlags, rows *[]checked) error {
	return withBundle(ctx, env, dir, src, c, func(s bundle.Spec, _ *source.Tree) error {
		if s.Backend == bundle.WholeBuild {
			return exit.With(exit.Refused, fmt.Errorf("%s was made by upstream's own Gradle build, which 'rebuild' does not run, and whose bytes nobody promises; 'verify' proves its jars", dir))
		}
		if s.Tool != env.Version {
			env.Log.Warn("another version of the tool made the bundle", "bundle", s.Tool, "this", env.Version)
		}
		differ, err := bundle.Rebuild(ctx, s, dir)
		if err != nil {
			return err
		}
		if len(differ) > 0 {
			return exit.With(exit.Proof, fmt.Errorf("%s does not come back:\n%s", dir, strings.Join(differ, "\n")))
		}
		*rows = append(*rows, checked{dir, "rebuild", "every file came back"})
		return nil
	})
}
