package evidence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/scenario"
	"observer-patch/internal/release"
)

// stored makes a small stored run and gives its folder.
func stored(t *testing.T, root string, unpatched bool, verdict string) Run {
	t.Helper()
	s, err := scenario.Find("s1")
	require.NoError(t, err)
	p := s.NewPlan("4.1.0", release.KRaft, release.Full, unpatched, map[string]string{"min.insync.replicas": "2"})
	r := Run{Dir: filepath.Join(root, Leg(p), s.ID), Plan: p}
	require.NoError(t, os.MkdirAll(r.Dir, 0o755))
	sum, err := WritePlan(r.Dir, p)
	require.NoError(t, err)
	rec, err := history.NewRecorder(filepath.Join(r.Dir, EventsFile))
	require.NoError(t, err)
	rec.Mark(PlanMark, 0, sum)
	rec.Mark("some", 1, "mark")
	require.NoError(t, rec.Close())
	r.Outcome = s.JudgeRun(rec.History(), p)
	if verdict != "" {
		r.Outcome.Verdict = verdict
	}
	r.Outcome.Measures = []scenario.Measure{{Name: "failover p50", MS: map[bool]float64{false: 9900, true: 9000}[unpatched], From: "kill", To: "leader"}}
	require.NoError(t, WriteOutcome(r, []string{"node 1: a line"}))
	return r
}

func TestAVerdictThatWasTypedIsFound(t *testing.T) {
	r := stored(t, t.TempDir(), false, scenario.Pass)
	loaded, err := Load(r.Dir)
	require.NoError(t, err)
	require.Equal(t, scenario.Pass, loaded.Outcome.Verdict)
	_, again, err := Rejudge(r.Dir)
	require.NoError(t, err)
	require.Equal(t, scenario.Fail, again.Verdict, "the events show nothing of the kind")
	require.NoError(t, Rewrite(Run{Dir: r.Dir, Plan: r.Plan, Outcome: again}))
	loaded, err = Load(r.Dir)
	require.NoError(t, err)
	require.Equal(t, again, loaded.Outcome)
}

func TestAnEditedPlanIsRefused(t *testing.T) {
	r := stored(t, t.TempDir(), false, "")
	_, _, err := Rejudge(r.Dir)
	require.NoError(t, err)
	edited := r.Plan
	edited.Observers = nil
	_, err = WritePlan(r.Dir, edited)
	require.NoError(t, err)
	_, _, err = Rejudge(r.Dir)
	require.ErrorIs(t, err, ErrPlan)

	_, err = WritePlan(r.Dir, r.Plan)
	require.NoError(t, err)
	rec, err := history.NewRecorder(filepath.Join(r.Dir, EventsFile))
	require.NoError(t, err)
	rec.Mark("some", 1, "mark")
	require.NoError(t, rec.Close())
	_, _, err = Rejudge(r.Dir)
	require.ErrorIs(t, err, ErrPlan, "events that name no plan")
}

func TestAnUnknownFieldInAPlanIsRefused(t *testing.T) {
	r := stored(t, t.TempDir(), false, "")
	path := filepath.Join(r.Dir, PlanFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append([]byte(`{"verdict": "pass",`), text[1:]...), 0o644))
	_, _, err = Rejudge(r.Dir)
	require.ErrorContains(t, err, "unknown field")
}

func TestReportSaysWhatFailedAndCompares(t *testing.T) {
	root := t.TempDir()
	stored(t, root, false, "")
	stored(t, root, true, "")
	dirs, err := Find(root)
	require.NoError(t, err)
	var runs []Run
	for _, d := range dirs {
		r, err := Load(d)
		require.NoError(t, err)
		runs = append(runs, r)
	}
	page, err := Report(root, runs)
	require.NoError(t, err)
	require.Contains(t, page, "[fail](4.1.0-kraft-full/S1/README.md)")
	require.Contains(t, page, "no acknowledged record is lost")
	require.Contains(t, page, "| S1 | 4.1.0-kraft-full | failover p50 | 9900 | 9000 | 1.10 | yes |")
}

func TestAFolderWithoutRunsIsAnError(t *testing.T) {
	_, err := Find(t.TempDir())
	require.ErrorContains(t, err, "no run below")
}
