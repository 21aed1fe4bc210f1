package sentinel_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
	"observer-patch/internal/sentinel"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing them")

// sample has one of everything: what passed, drift in two targets for one reason, a proof that
// does not hold, a build that failed, what was not reached and not locked, and newcomers.
func sample() sentinel.Report {
	steps := []sentinel.Step{sentinel.Source, sentinel.Check, sentinel.Generate, sentinel.Build, sentinel.Proof, sentinel.Outputs}
	miss := anchor.Miss{Hook: "lock-door", Path: "core/src/main/scala/farm/Barn.scala", Cause: anchor.Renamed, Wanted: `dark("<b>")`, Pos: "anchors/Barn.yaml:15",
		Candidates: []anchor.Candidate{{Line: 8, Similarity: 0.83, Excerpt: "darl()"}}}
	step := func(s sentinel.Step, status sentinel.Status, seconds float64, detail string) sentinel.StepResult {
		return sentinel.StepResult{Step: s, Status: status, Seconds: seconds, Detail: detail}
	}
	target := func(name, version string, list ...sentinel.StepResult) sentinel.Result {
		return sentinel.Result{Target: name, Release: version, Mode: release.KRaft, Scala: "2.13", Set: release.Full, Steps: list}
	}
	fits := target("4.1.0-kraft", "4.1.0", step(sentinel.Source, sentinel.Passed, 0.25, ""), step(sentinel.Check, sentinel.Passed, 0.05, "30 places"),
		step(sentinel.Generate, sentinel.Passed, 0, ""), step(sentinel.Build, sentinel.Passed, 9.5, ""), step(sentinel.Proof, sentinel.Passed, 0, "idioms"),
		step(sentinel.Outputs, sentinel.Skipped, 0, "4.1.0-kraft is not in outputs.lock"))
	fits.Diff, fits.Level, fits.Jars = strings.Repeat("a", 64), "idioms", map[string]string{"kafka_2.13-4.1.0.jar": strings.Repeat("b", 64)}
	drifted := func(name string) sentinel.Result {
		t := target(name, "4.2.0", step(sentinel.Source, sentinel.Passed, 0.5, ""),
			step(sentinel.Check, sentinel.Drifted, 0.1, "1 of 30 hook places were not found exactly once\n"+miss.Error()),
			step(sentinel.Generate, sentinel.Skipped, 0, "not reached: check"), step(sentinel.Build, sentinel.Skipped, 0, "not reached: check"),
			step(sentinel.Proof, sentinel.Skipped, 0, "not reached: check"), step(sentinel.Outputs, sentinel.Skipped, 0, "not reached: check"))
		t.Misses = []anchor.Miss{miss}
		return t
	}
	unproven := target("4.3.0-kraft", "4.3.0", step(sentinel.Source, sentinel.Passed, 0, ""), step(sentinel.Check, sentinel.Passed, 0, ""), step(sentinel.Generate, sentinel.Passed, 0, ""),
		step(sentinel.Build, sentinel.Passed, 8, ""), step(sentinel.Proof, sentinel.Unproven, 1, "class a.B differs"), step(sentinel.Outputs, sentinel.Skipped, 0, "not reached: proof"))
	failed := target("4.3.1-kraft", "4.3.1", step(sentinel.Source, sentinel.Failed, 1, "mvn: no route to host | @all"), step(sentinel.Check, sentinel.Skipped, 0, "not reached: source"),
		step(sentinel.Generate, sentinel.Skipped, 0, "not reached: source"), step(sentinel.Build, sentinel.Skipped, 0, "not reached: source"),
		step(sentinel.Proof, sentinel.Skipped, 0, "not reached: source"), step(sentinel.Outputs, sentinel.Skipped, 0, "not reached: source"))
	ahead := drifted("4.4.0-kraft")
	next := sentinel.Newcomer{Name: "trunk", Version: "4.4.0", Branch: "trunk", Commit: strings.Repeat("c", 40), Origin: "git upstream trunk", Against: "4.3.1", Targets: []sentinel.Result{ahead},
		Drifts: []sentinel.Drift{{Miss: miss, LastGood: "4.3.1", Member: "def sleep(): Unit = {", Removed: 1, Added: 2, Elsewhere: []string{"core/src/main/scala/farm/Shed.scala:3"},
			Suggestions: []string{"  - in: \"def sleep(\"\n    before: \"darl()\"\n"}}}}
	next.Judge()
	same := sentinel.Newcomer{Name: "4.3.2", Version: "4.3.2", Tag: "4.3.2", Published: true, Origin: "maven", Against: "4.3.1", Targets: []sentinel.Result{fits}, Entry: "- version: 4.3.2\n", LockLines: 120, LockFile: "newcomers/4.3.2.lock"}
	same.Judge()
	out := sentinel.Newcomer{Name: "4.2.2", Version: "4.2.2", Published: true, Verdict: "not tried: no sources", Status: sentinel.Failed}
	r := sentinel.Report{Tool: "test", Generation: 1, Started: "2026-01-02T03:04:05Z", Steps: steps, Shard: "1/2",
		Targets: []sentinel.Result{fits, drifted("4.2.0-kraft"), drifted("4.2.0-kraft-base"), unproven, failed}, Newcomers: []sentinel.Newcomer{out, same, next}}
	r.Judge()
	return r
}

// baseline is a report before things went wrong.
func baseline() sentinel.Report {
	b := sample()
	b.Started = "2025-12-26T03:04:05Z"
	b.Newcomers = b.Newcomers[:1]
	for i := range b.Targets {
		b.Targets[i] = sample().Targets[0]
		b.Targets[i].Target = sample().Targets[i].Target
	}
	b.Targets[0].Jars = map[string]string{"kafka_2.13-4.1.0.jar": strings.Repeat("d", 64)}
	b.Judge()
	return b
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestEveryFormOfAReportHasAGolden(t *testing.T) {
	r := sample()
	r.Changes = r.Since(baseline())
	for name, form := range map[string]func() ([]byte, error){"report.json": r.JSON, "junit.xml": r.JUnit, "report.sarif": r.SARIF,
		"report.md": func() ([]byte, error) { return r.Markdown(), nil }, "console.txt": func() ([]byte, error) {
			w := table.NewWriter()
			r.Table(w)
			return []byte(w.Render() + "\n"), nil
		}} {
		text, err := form()
		require.NoError(t, err)
		golden(t, name, text)
	}
}

func TestAReportComesBackFromItsJSON(t *testing.T) {
	r := sample()
	text, err := r.JSON()
	require.NoError(t, err)
	again, err := sentinel.ReadReport(text, "report.json")
	require.NoError(t, err)
	assert.Equal(t, r, again)
	_, err = sentinel.ReadReport([]byte(`{"targets": []}`), "x.json")
	assert.ErrorContains(t, err, "x.json: expected a report.json")
	_, err = sentinel.ReadReport([]byte(`<`), "x.json")
	assert.ErrorContains(t, err, "x.json")
}

func TestTheWorstWinsAndHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		statuses []sentinel.Status
		want     int
	}{
		{nil, exit.Done},
		{[]sentinel.Status{sentinel.Passed, sentinel.Skipped}, exit.Done},
		{[]sentinel.Status{sentinel.Passed, sentinel.Failed}, exit.Failed},
		{[]sentinel.Status{sentinel.Failed, sentinel.Drifted}, exit.Drift},
		{[]sentinel.Status{sentinel.Drifted, sentinel.Unproven, sentinel.Failed}, exit.Proof},
	} {
		var r sentinel.Report
		for _, s := range c.statuses {
			r.Targets = append(r.Targets, sentinel.Result{Steps: []sentinel.StepResult{{Step: sentinel.Check, Status: s}}})
		}
		r.Judge()
		assert.Equal(t, c.want, exit.Code(r.Err()), c.statuses)
	}
}

func TestABaselineTellsWhatChanged(t *testing.T) {
	c := sample().Since(baseline())
	assert.Equal(t, []string{
		"4.1.0-kraft: kafka_2.13-4.1.0.jar was dddddddddddddddd, is bbbbbbbbbbbbbbbb",
		"4.2.0-kraft: was passed, is drift",
		"4.2.0-kraft: hook lock-door is now renamed (anchors/Barn.yaml:15)",
		"4.2.0-kraft-base: was passed, is drift",
		"4.2.0-kraft-base: hook lock-door is now renamed (anchors/Barn.yaml:15)",
		"4.3.0-kraft: was passed, is proof",
		"4.3.1-kraft: was passed, is failed",
		"upstream's 4.3.2 is new: would work as is: every anchor matches once, and it builds and is proven",
		"upstream's trunk is new: anchors moved: lock-door renamed",
	}, c.Lines)
	assert.Equal(t, []string{"4.2.0-kraft", "4.2.0-kraft-base", "4.3.0-kraft", "4.3.1-kraft"}, c.Broken)
	back := baseline().Since(sample())
	assert.Equal(t, c.Broken, back.Repaired)
	assert.Empty(t, back.Broken)
	assert.Empty(t, sample().Since(sample()).Lines)
}

func TestStepsBringWhatTheyNeed(t *testing.T) {
	got, err := sentinel.ParseSteps([]string{"check"})
	require.NoError(t, err)
	assert.Equal(t, []sentinel.Step{sentinel.Source, sentinel.Check}, got)
	got, err = sentinel.ParseSteps([]string{"outputs"})
	require.NoError(t, err)
	assert.Equal(t, []sentinel.Step{sentinel.Source, sentinel.Check, sentinel.Generate, sentinel.Build, sentinel.Outputs}, got)
	_, err = sentinel.ParseSteps([]string{"compile"})
	assert.Equal(t, exit.Usage, exit.Code(err))
}
