package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/exit"
	"observer-patch/internal/sentinel"
)

func reportIn(t *testing.T, dir string) sentinel.Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	r, err := sentinel.ReadReport(text, "report.json")
	require.NoError(t, err)
	return r
}

// The whole matrix through check and generate; each shard has its part of it.
func TestTheSentinelFindsEveryTargetOfTheMatrixAsItShouldBe(t *testing.T) {
	out := t.TempDir()
	works(t, "sentinel", "--steps", "check,generate", "--set", "all", "--out", out)
	r := reportIn(t, out)
	assert.Equal(t, sentinel.Passed, r.Worst)
	assert.Greater(t, len(r.Targets), 100)
	for _, target := range r.Targets {
		assert.Len(t, target.Diff, 64, target.Target)
	}
	// The digests are those that generate gives: another run has the same.
	again := t.TempDir()
	works(t, "sentinel", "--steps", "generate", "--set", "all", "--shard", "2/5", "--baseline", filepath.Join(out, "report.json"), "--out", again)
	part := reportIn(t, again)
	assert.Len(t, part.Targets, (len(r.Targets)+3)/5)
	assert.Empty(t, part.Changes.Lines)
}

// The run is killed with SIGKILL as soon as its journal has a result, and goes on from there.
func TestASentinelThatWasKilledGoesOnWhereItWas(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out := t.TempDir()
	args := []string{"observer-patch", "sentinel", "--steps", "check,generate", "--jobs", "1", "--out", out}
	run := exec.CommandContext(t.Context(), self)
	run.Args = args
	errs, err := run.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	lines := bufio.NewScanner(errs)
	for n := 0; n < 3 && lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=done") {
			n++
		}
	}
	require.NoError(t, run.Process.Kill())
	assert.Error(t, run.Wait())
	journal, err := os.ReadFile(filepath.Join(out, "journal.jsonl"))
	require.NoError(t, err)
	finished := bytes.Count(journal, []byte("\n"))
	require.GreaterOrEqual(t, finished, 2)

	again := exec.CommandContext(t.Context(), self)
	again.Args = args
	text, err := again.CombinedOutput()
	require.NoError(t, err, string(text))
	resumed := 0
	r := reportIn(t, out)
	for _, target := range r.Targets {
		if target.Resumed {
			resumed++
		}
	}
	assert.Equal(t, finished, resumed)
	assert.Less(t, resumed, len(r.Targets), "the kill came before the end")
	assert.NoFileExists(t, filepath.Join(out, "journal.jsonl"))
}

// An anchor that 4.3.1 does not have: the last release that has it, the change and candidates.
func TestSuggestShowsUpstreamsChangeAndAnchorsThatMatch(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, observerpatch.Data()))
	const file = "anchors/PartitionReassignmentReplicas.yaml"
	text, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	before, _, found := strings.Cut(strings.Replace(string(text), `releases: ">=3.8 <4.3"`, `releases: ">=3.8"`, 1), "  - in: [\"Optional<CompletedReassignment> maybeCompleteReassignment(\"]\n    before: [\"if (!newTargetIsr.containsAll(adding)) return\"]")
	require.True(t, found)
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(before), 0o644))
	args := []string{"anchors", "suggest", "--data", dir, "--version", "4.3.1"}
	out := works(t, args...)
	assert.Contains(t, out, "hook reassignment: metadata/src/main/java/org/apache/kafka/controller/PartitionReassignmentReplicas.java: ")
	assert.Contains(t, out, "last found in 4.2.1, in: ")
	assert.Contains(t, out, "\n-")
	assert.Contains(t, out, "\n+")
	assert.Contains(t, out, "anchors that match exactly once:")

	var drifts []sentinel.Drift
	require.NoError(t, json.Unmarshal([]byte(works(t, append(args, "-o", "json")...)), &drifts))
	require.Len(t, drifts, 1)
	assert.Equal(t, "4.2.1", drifts[0].LastGood)
	require.NotEmpty(t, drifts[0].Suggestions)

	code, _, errs := tool(t, t.Context(), "sentinel", "--data", dir, "--version", "4.3.1", "--steps", "check", "--out", t.TempDir())
	assert.Equal(t, exit.Drift, code)
	assert.Contains(t, errs, "1 with drift")
	assert.Equal(t, "every anchor of 4.1.0 matches exactly once\n", works(t, "anchors", "suggest", "--version", "4.1.0"))
}

// One real build, with its proof; the lock of results is one that this test writes.
func TestTheSentinelHoldsABuildAgainstOutputsLock(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(dir, observerpatch.Data()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "outputs.lock"), []byte("targets: {}\n"), 0o644))
	args := []string{"sentinel", "--data", dir, "--version", "4.1.0", "--set", "base", "--out", out}
	works(t, args...)
	r := reportIn(t, out)
	locked, ok := r.Targets[0].Step(sentinel.Outputs)
	require.True(t, ok)
	assert.Equal(t, sentinel.Skipped, locked.Status, "what is not locked is not reported as passed")
	assert.Equal(t, "4.1.0-kraft-base is not in outputs.lock", locked.Detail)
	proof, ok := r.Targets[0].Step(sentinel.Proof)
	require.True(t, ok)
	assert.Equal(t, sentinel.Passed, proof.Status)
	assert.NotEmpty(t, r.Targets[0].Level)
	require.Len(t, r.Targets[0].Jars, 2)

	var lock strings.Builder
	lock.WriteString("targets:\n  4.1.0-kraft-base:\n    generation: 1\n    diff: " + r.Targets[0].Diff + "\n    jars:\n")
	for name := range r.Targets[0].Jars {
		lock.WriteString("      " + name + ": " + strings.Repeat("0", 64) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "outputs.lock"), []byte(lock.String()), 0o644))
	code, _, errs := tool(t, t.Context(), args...)
	assert.Equal(t, exit.Proof, code, errs)
	locked, _ = reportIn(t, out).Targets[0].Step(sentinel.Outputs)
	assert.Equal(t, sentinel.Unproven, locked.Status)
	assert.Contains(t, locked.Detail, "the same diff gave other jars")
}
