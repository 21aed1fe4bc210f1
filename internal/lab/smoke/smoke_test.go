//go:build cluster

// Package smoke takes a release number to jars and real clusters: the shortest proof that the
// product works.
package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/evidence"
	"observer-patch/internal/lab/scenario"
)

// limit bounds one leg, building included. It is what a machine with two busy cores may take; a
// quiet one needs a third of it.
const limit = 8 * time.Minute

func TestJarsJustBuiltRunAnObserverOnKRaft(t *testing.T) {
	smoke(t, "4.1.0", "kraft", "S0", "S1", "S6")
}

func TestJarsJustBuiltRunAnObserverOnZooKeeper(t *testing.T) {
	smoke(t, "3.7.1", "zk", "S0", "S1")
}

// smoke builds the release's jars and runs the scenarios on a cluster of them.
func smoke(t *testing.T, version, mode string, scenarios ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	dist, out := t.TempDir(), t.TempDir()
	command(t, ctx, "build", "--version", version, "--mode", mode, "--out", dist)
	args := append([]string{"lab", "run"}, scenarios...)
	text := command(t, ctx, append(args, "--version", version, "--mode", mode, "--dist", dist, "--out", out, "-o", "json")...)

	var rows []campaign.Result
	require.NoError(t, json.Unmarshal(text, &rows))
	require.Len(t, rows, len(scenarios))
	for _, r := range rows {
		require.Equal(t, scenario.Pass, r.Verdict, "%s: %s", r.Scenario, r.Reason)
		stored, err := evidence.Load(r.Dir)
		require.NoError(t, err)
		require.NotEmpty(t, stored.Plan.Jars, "the cluster ran on jars of the bundle")
		_, again, err := evidence.Rejudge(r.Dir)
		require.NoError(t, err)
		require.Equal(t, stored.Outcome, again, "the stored events say what the result says")
	}
}

// command runs the tool and gives what it printed.
func command(t *testing.T, ctx context.Context, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{Out: &out, Err: t.Output(), Data: observerpatch.Data(), Version: "smoke test"}
	require.Equal(t, 0, cli.Run(ctx, env, args), "observer-patch %v", args)
	return out.Bytes()
}
