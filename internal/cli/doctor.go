package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/install"
)

func newDoctorCommand(env *Env) *cobra.Command {
	var format string
	x := install.Examination{Proc: procDir, Getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "doctor --kafka-home DIR",
		Short: "Say which release and patch a Kafka home has, and what does not fit together",
		Long: `Look at the jars, the journal of install, the identity file and the configuration of a Kafka
home, and change nothing. Exit code 0 when there is no error and no warning, 1 otherwise;
notes do not count. docs/install.md lists the codes of the findings.`,
		Example: "  observer-patch doctor --kafka-home /opt/kafka --ids-file /etc/kafka/observer.ids --as-user kafka",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if x.Home == "" {
				return noHome()
			}
			r, err := install.Examine(cmd.Context(), x)
			if err != nil {
				return err
			}
			if err := printReport(env.Out, format, r); err != nil {
				return err
			}
			if !r.Healthy() {
				return fmt.Errorf("%s is not healthy: see the findings", r.Home)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.Home, "kafka-home", "", "the Kafka home: the folder with bin, config and libs")
	f.StringVar(&x.IDsFile, "ids-file", "", "the identity file; default: KAFKA_OBSERVER_IDS_FILE here or of the broker that runs, else /opt/kafka/observer.ids")
	f.StringVar(&x.AsUser, "as-user", "", "the broker's user, by name or number, who has to read the identity file; default: the owner of the broker that runs")
	formatFlag(cmd, &format)
	return cmd
}

func printReport(w io.Writer, format string, r *install.Report) error {
	if done, err := encode(w, format, r); done {
		return err
	}
	orNone := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	facts := [][2]string{
		{"home", r.Home}, {"release", orNone(r.Release)}, {"scala", orNone(r.Scala)}, {"patch", "none"}, {"installation", r.Installation},
	}
	if r.Patch != nil {
		facts[3][1] = r.Patch.String()
	}
	for _, j := range r.Jars {
		facts = append(facts, [2]string{"patched jar", j.Name})
	}
	if r.IDs != nil {
		facts = append(facts, [2]string{"identity file", strings.TrimSpace(fmt.Sprintf("%s: %s, ids %v %s %s", r.IDs.File, r.IDs.State, r.IDs.IDs, r.IDs.Mode, r.IDs.Owner))})
	}
	if err := printRows(w, format, facts, func(t table.Writer, rows [][2]string) {
		for _, f := range rows {
			t.AppendRow(table.Row{f[0], f[1]})
		}
	}); err != nil {
		return err
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%s %s: %s\n  to do: %s\n", f.Severity, f.Code, f.Text, f.Do); err != nil {
			return err
		}
	}
	return nil
}
