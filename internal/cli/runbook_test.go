package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

// commandLines gives the command lines of a text: those that stand on a line of their own, and
// those between backticks that are complete with their arguments.
func commandLines(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "observer-patch ") {
			out = append(out, line)
		}
	}
	for _, m := range regexp.MustCompile("`(observer-patch [^`]+)`").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// takes wants that the tool has the command with these flags and takes these arguments.
func takes(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]
	env := &cli.Env{Out: io.Discard, Err: io.Discard, Data: observerpatch.Data(), Version: "test"}
	cmd, rest, err := cli.Commands(env).Find(words)
	require.NoError(t, err, line)
	require.True(t, cmd.Runnable() && cmd.HasParent(), "%s: no such command", line)
	require.NoError(t, cmd.ParseFlags(rest), line)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
}

func TestTheRunbooksCommandsExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	require.NoError(t, err)
	lines := commandLines(string(text))
	require.Greater(t, len(lines), 15)
	for _, line := range lines {
		takes(t, line)
	}
}

func TestTheServicesCommandExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "ops", "observer-patch-auto.service"))
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/(.*)$`).FindStringSubmatch(string(text))
	require.NotNil(t, m)
	takes(t, m[1])
	text, err = os.ReadFile(filepath.Join("..", "..", "ops", "observer-patch-auto.pod.yaml"))
	require.NoError(t, err)
	m = regexp.MustCompile(`command: \[(.*)\]`).FindStringSubmatch(string(text))
	require.NotNil(t, m)
	takes(t, strings.ReplaceAll(strings.ReplaceAll(m[1], ",", ""), `"`, ""))
}

// Every command has help with examples, the examples can be typed, and no help uses upstream's trademark as a name.
func TestEveryCommandHasExamplesThatCanBeTyped(t *testing.T) {
	env := &cli.Env{Out: io.Discard, Err: io.Discard, Data: observerpatch.Data(), Version: "test"}
	seen := 0
	var walk func(*cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			t.Run(cmd.CommandPath(), func(t *testing.T) {
				require.NotContains(t, strings.ToLower(cmd.Short+cmd.Long+cmd.UsageString()), "apache kafka")
				if cmd.HasSubCommands() && cmd.Example == "" {
					return // it shows the help of what is below
				}
				lines := commandLines(cmd.Example)
				require.NotEmpty(t, lines, "no example")
				for _, line := range lines {
					require.True(t, strings.HasPrefix(line+" ", cmd.CommandPath()+" ") || cmd.HasSubCommands(), "%s: another command's example", line)
					takes(t, line)
				}
				seen++
			})
			walk(cmd)
		}
	}
	walk(cli.Commands(env))
	require.Greater(t, seen, 30)
}
