package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/release"
)

// versionRow is what a binary says of where it comes from.
type versionRow struct {
	Version    string `json:"version"`
	Generation int    `json:"generation"`
	// Revision, Time and Modified are those of the repository it was compiled in; empty
	// where that was none.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified string `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(env *Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Say which build of the tool this is",
		Long:    "Say which build of the tool this is: version, generation of the patch, commit, Go and platform.",
		Example: "  observer-patch version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			row := versionRow{Version: env.Version, Generation: release.Generation, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						row.Revision = s.Value
					case "vcs.time":
						row.Time = s.Value
					case "vcs.modified":
						row.Modified = s.Value
					}
				}
			}
			return printRows(env.Out, format, []versionRow{row}, func(w table.Writer, rows []versionRow) {
				w.AppendHeader(table.Row{"version", "generation", "revision", "time", "modified", "go", "platform"})
				for _, r := range rows {
					w.AppendRow(table.Row{r.Version, r.Generation, r.Revision, r.Time, r.Modified, r.Go, r.Platform})
				}
			})
		},
	}
	formatFlag(cmd, &format)
	return cmd
}
