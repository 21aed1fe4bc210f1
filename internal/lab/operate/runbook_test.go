package operate

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// line is one command of docs/runbook.md: of a row of its table, by the symptom, or of a section.
type line struct{ in, command string }

// situations says in which part of the cluster test each command of the runbook is run. Whoever
// adds a command to the runbook adds its situation here and there.
var situations = map[line]string{
	{"`Leader: none`, only the observer is alive", "observer-patch lag --context prod"}:                                           "only the observer is left",
	{"Only the observer is left", "observer-patch lag --context prod"}:                                                            "only the observer is left",
	{"Only the observer is left", "observer-patch promote 4 --context prod"}:                                                      "only the observer is left",
	{"Only the observer is left", "observer-patch elect unclean --dry-run --context prod"}:                                        "only the observer is left",
	{"Only the observer is left", "observer-patch elect unclean --accept-data-loss --context prod"}:                               "only the observer is left",
	{"Recorded before", "observer-patch record --every 10s --context prod"}:                                                       "only the observer is left",
	{"NOT_ENOUGH_REPLICAS, there is a leader", "observer-patch status --context prod"}:                                            "writes are refused",
	{"Writes are refused", "observer-patch promote 4 --context prod"}:                                                             "writes are refused",
	{"the zone is back", "observer-patch failback 4 --plan --context prod"}:                                                       "writes are refused",
	{"The way back", "observer-patch failback 4 --plan --context prod"}:                                                           "writes are refused",
	{"The way back", "observer-patch failback 4 --timeout 30m --context prod"}:                                                    "writes are refused",
	{"`Rejecting AlterPartition` again and again", "observer-patch status --context prod"}:                                        "the lists differ",
	{"a promotion was killed, or nodes were away", "observer-patch pending --context prod"}:                                       "the lists differ",
	{"The lists differ", "observer-patch pending --context prod"}:                                                                 "the lists differ",
	{"The lists differ", "observer-patch pending --finish --context prod"}:                                                        "the lists differ",
	{"Something is pending", "observer-patch pending --finish --context prod"}:                                                    "nodes were away",
	{"`Failed to read observer ids`", "observer-patch status --context prod"}:                                                     "a file cannot be read",
	{"promoted, and not in the ISR", "observer-patch lag --observers none --context prod"}:                                        "promoted and not in the ISR",
	{"Promoted and not in the ISR", "observer-patch lag --observers none --context prod"}:                                         "promoted and not in the ISR",
	{"Promoted and not in the ISR", "observer-patch status --context prod"}:                                                       "promoted and not in the ISR",
	{"a reassignment does not end", "observer-patch doctor --kafka-home /opt/kafka"}:                                              "a reassignment does not end",
	{"A reassignment does not end", "observer-patch plan --finish --context prod"}:                                                "a reassignment does not end",
	{"two zones with their controllers are gone", "observer-patch status --context prod"}:                                         "no quorum",
	{"a broker has to be restarted in a 2 + 1 layout", "observer-patch restart 1 --dry-run --context prod"}:                       "a sync broker of 2 + 1 has to be restarted",
	{"Restart a sync broker", "observer-patch restart 1 --stand-in 4 --context prod -- ssh kafka-1 sudo systemctl restart kafka"}: "a sync broker of 2 + 1 has to be restarted",
	{"Restart a sync broker", "observer-patch restart 1 --context prod"}:                                                          "a sync broker of 2 + 1 has to be restarted",
	{"Restart a sync broker", "observer-patch restart --finish --context prod"}:                                                   "a sync broker of 2 + 1 has to be restarted",
	{"Practise", "observer-patch drill 4 --context prod"}:                                                                         "practise",
	{"Recorded before", "observer-patch auto --enable --policy under-min-isr --context prod"}:                                     "practise",
}

// runbookLines reads the commands of docs/runbook.md.
func runbookLines(t *testing.T) map[line]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	quoted := regexp.MustCompile("`(observer-patch [^`]+)`")
	out := map[line]bool{}
	section := ""
	for _, l := range strings.Split(string(text), "\n") {
		if title, ok := strings.CutPrefix(l, "## "); ok {
			section = title
		}
		if cells := strings.Split(l, "|"); len(cells) == 6 {
			if m := quoted.FindStringSubmatch(cells[3]); m != nil {
				out[line{strings.TrimSpace(cells[1]), m[1]}] = true
			}
		} else if l = strings.TrimSpace(l); strings.HasPrefix(l, "observer-patch ") {
			out[line{section, l}] = true
		}
	}
	return out
}

func TestEveryCommandOfTheRunbookHasASituationInWhichItIsRun(t *testing.T) {
	lines := runbookLines(t)
	require.Greater(t, len(lines), 25)
	for l := range lines {
		require.Contains(t, situations, l, "docs/runbook.md has a command that no situation of the cluster test runs")
	}
	for l := range situations {
		require.True(t, lines[l], "%v is not in docs/runbook.md any more", l)
	}
}

func TestEveryRowOfTheRunbookHasAFirstCommand(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	rows := 0
	for _, l := range strings.Split(string(text), "\n") {
		if cells := strings.Split(l, "|"); len(cells) == 6 && !strings.Contains(l, "---") && !strings.Contains(l, "first command") {
			rows++
			require.Contains(t, cells[3], "`observer-patch ", l)
		}
	}
	require.Equal(t, 10, rows)
}
