package cli

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/release"
)

// releaseRow is one release in the output of versions.
type releaseRow struct {
	Version      string         `json:"version"`
	Tag          string         `json:"tag"`
	Modes        []release.Mode `json:"modes"`
	Scala        []string       `json:"scala"`
	ClassRelease int            `json:"classRelease"`
	Sources      []string       `json:"sources"`
	Status       string         `json:"status"`
}

func newVersionsCommand(env *Env) *cobra.Command {
	var exprs []string
	var format string
	cmd := &cobra.Command{
		Use:     "versions",
		Short:   "List the supported upstream releases, their modes and Scala versions",
		Example: "  observer-patch versions --version '>=3.7,<4' -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			m, err := readMatrix(env)
			if err != nil {
				return err
			}
			releases, err := m.Select(exprs...)
			if err != nil {
				return err
			}
			rows := make([]releaseRow, len(releases))
			for i, r := range releases {
				rows[i] = releaseRow{Version: r.String(), Tag: r.Tag, Modes: r.Modes, Scala: r.Scala,
					ClassRelease: r.ClassRelease, Sources: r.Sources, Status: r.Status}
			}
			return printRows(env.Out, format, rows, versionsTable)
		},
	}
	cmd.Flags().StringArrayVar(&exprs, "version", []string{release.All}, "release (4.1.0), semver range (\">=3.6.2 <4.2\") or all; may be given several times")
	formatFlag(cmd, &format)
	return cmd
}

func versionsTable(w table.Writer, rows []releaseRow) {
	w.AppendHeader(table.Row{"version", "modes", "scala", "class files", "sources", "status"})
	for _, r := range rows {
		modes := make([]string, len(r.Modes))
		for i, m := range r.Modes {
			modes[i] = string(m)
		}
		w.AppendRow(table.Row{r.Version, strings.Join(modes, " "), strings.Join(r.Scala, " "), r.ClassRelease, strings.Join(r.Sources, " "), r.Status})
	}
}
