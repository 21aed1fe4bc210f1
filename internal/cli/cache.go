package cli

import (
	"errors"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func newCacheCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after the folder that keeps upstream's files",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCachePruneCommand(env))
	return cmd
}

// pruned is what 'cache prune' took away, or would.
type pruned struct {
	Cache  string `json:"cache"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	DryRun bool   `json:"dryRun"`
}

func newCachePruneCommand(env *Env) *cobra.Command {
	var dry bool
	var format string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove files that versions.lock does not name, and what killed runs left",
		Long: `Remove from the cache every file that this tool's versions.lock does not name, such as those of
releases that are no longer supported, and what killed runs left there. Fetched repositories and
kept compilations stay. While another observer-patch uses the cache nothing is removed (exit code 1).`,
		Example: "  observer-patch cache prune --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) (err error) {
			if err := checkFormat(format); err != nil {
				return err
			}
			lock, err := readLock(env)
			if err != nil {
				return err
			}
			named := map[string]bool{}
			for _, d := range lock.Digests {
				named[d.SHA256] = true
			}
			resolver, err := newResolver(env, true)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, resolver.Cache.Close()) }()
			row := pruned{Cache: resolver.Cache.Root(), DryRun: dry}
			if row.Files, row.Bytes, err = resolver.Cache.Prune(func(sha256 string) bool { return named[sha256] }, dry); err != nil {
				return err
			}
			return printRows(env.Out, format, []pruned{row}, prunedTable)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "count what would be removed, remove nothing")
	formatFlag(cmd, &format)
	return cmd
}

func prunedTable(w table.Writer, rows []pruned) {
	w.AppendHeader(table.Row{"cache", "files", "bytes", ""})
	for _, r := range rows {
		what := "removed"
		if r.DryRun {
			what = "would be removed"
		}
		w.AppendRow(table.Row{r.Cache, r.Files, r.Bytes, what})
	}
}
