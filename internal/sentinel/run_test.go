package sentinel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
	"observer-patch/internal/sentinel"
	"observer-patch/internal/source"
)

// farm is a matrix of our own: three releases, of which the last drifted and the middle one
// cannot be opened while broken is true.
type farm struct {
	opened []string
	broken bool
}

const barn = "core/src/main/scala/farm/Barn.scala"

func (f *farm) checker(t *testing.T, steps ...sentinel.Step) *sentinel.Checker {
	t.Helper()
	c, err := anchor.ReadCatalog(fstest.MapFS{
		"anchors/Barn.yaml": {Data: []byte("file: " + barn + "\nhooks:\n- id: fox\n  sets: [full]\n  modes: [kraft]\n  places: [{in: \"class Barn\", before: \"feed(\"}]\n")},
		"patches/fox.scala": {Data: []byte("bark()\n")},
	})
	require.NoError(t, err)
	return &sentinel.Checker{Catalog: c, Steps: steps, Tool: "test", Work: t.TempDir(), Getenv: os.Getenv, Now: func() time.Time { return time.Unix(0, 0) },
		Open: func(_ context.Context, r release.Release) (*source.Tree, error) {
			f.opened = append(f.opened, r.String())
			text := "class Barn {\n  feed(1)\n}\n"
			switch {
			case r.String() == "4.1.0" && f.broken:
				return nil, errors.New("no route to host")
			case r.String() == "4.2.0":
				text = "class Barn {\n  fed(1)\n}\n"
			}
			return &source.Tree{FS: fstest.MapFS{barn: {Data: []byte(text)}}, Origin: "test"}, nil
		}}
}

func matrix(versions ...string) *release.Matrix {
	m := &release.Matrix{}
	for _, v := range versions {
		m.Releases = append(m.Releases, release.Release{Version: semver.MustParse(v), Tag: v, Modes: []release.Mode{release.KRaft}, Scala: []string{"2.13"}, ClassRelease: 17, Sources: []string{"maven", "git"}, Status: "supported"})
	}
	return m
}

func all(t *testing.T, m *release.Matrix) []release.Target {
	t.Helper()
	list, err := m.Targets([]string{"all"}, "all", "all", "full")
	require.NoError(t, err)
	return list
}

func ignore(sentinel.Result) {}

func TestAKilledRunGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deeper", "journal.jsonl")
	targets := all(t, matrix("4.0.0", "4.1.0", "4.2.0"))
	steps := []sentinel.Step{sentinel.Source, sentinel.Check, sentinel.Generate}
	f := &farm{broken: true}
	j, err := sentinel.OpenJournal(path, "key")
	require.NoError(t, err)
	first, err := sentinel.Run(t.Context(), f.checker(t, steps...), targets, 1, j, ignore)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	assert.Equal(t, []sentinel.Status{sentinel.Passed, sentinel.Failed, sentinel.Drifted}, []sentinel.Status{first[0].Status(), first[1].Status(), first[2].Status()})

	// What the kill cut off is not believed.
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"key":"key","result":{"target":"4.1.0-kraft","steps":[{"step":"check","sta`)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	again := &farm{}
	j, err = sentinel.OpenJournal(path, "key")
	require.NoError(t, err)
	second, err := sentinel.Run(t.Context(), again.checker(t, steps...), targets, 1, j, ignore)
	require.NoError(t, err)
	assert.Equal(t, []string{"4.1.0"}, again.opened, "only what failed for no fault of the patch is done again")
	assert.Equal(t, []bool{true, false, true}, []bool{second[0].Resumed, second[1].Resumed, second[2].Resumed})
	assert.Equal(t, first[2].Misses, second[2].Misses)
	require.NoError(t, j.Finish())

	third := &farm{}
	j, err = sentinel.OpenJournal(path, "key")
	require.NoError(t, err)
	_, err = sentinel.Run(t.Context(), third.checker(t, steps...), targets, 1, j, ignore)
	require.NoError(t, err)
	assert.Len(t, third.opened, 3, "a run that ended is not resumed")
	require.NoError(t, j.Close())

	other := &farm{}
	j, err = sentinel.OpenJournal(path, "other hooks")
	require.NoError(t, err)
	_, err = sentinel.Run(t.Context(), other.checker(t, steps...), targets, 1, j, ignore)
	require.NoError(t, err)
	assert.Len(t, other.opened, 3, "results of other hooks are not used")
	require.NoError(t, j.Close())
}

func TestWhatIsInterruptedIsNotAResult(t *testing.T) {
	f := &farm{}
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, err := sentinel.OpenJournal(path, "key")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = sentinel.Run(ctx, f.checker(t, sentinel.Source, sentinel.Check), all(t, matrix("4.0.0", "4.1.0", "4.2.0")), 1, j, func(sentinel.Result) { cancel() })
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, j.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "4.2.0")
}

func TestStepsAfterAMissAreSkippedAndSaySo(t *testing.T) {
	f := &farm{}
	var got []sentinel.Result
	err := f.checker(t, sentinel.Source, sentinel.Check, sentinel.Generate, sentinel.Build, sentinel.Proof).Release(t.Context(), all(t, matrix("4.2.0")), func(r sentinel.Result) error { got = append(got, r); return nil })
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Len(t, got[0].Steps, 5)
	assert.Equal(t, sentinel.Drifted, got[0].Steps[1].Status)
	for _, s := range got[0].Steps[2:] {
		assert.Equal(t, sentinel.Skipped, s.Status)
		assert.Equal(t, "not reached: check", s.Detail)
	}
	require.Len(t, got[0].Misses, 1)
	assert.Equal(t, anchor.Renamed, got[0].Misses[0].Cause)
}

func TestShardsTakeEveryTargetOnce(t *testing.T) {
	targets := all(t, matrix("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.2.0", "4.3.0"))
	for count := 1; count <= 9; count++ {
		seen := map[string]int{}
		for i := 1; i <= count; i++ {
			s, err := sentinel.ParseShard(fmt.Sprintf("%d/%d", i, count))
			require.NoError(t, err)
			for _, target := range s.Of(targets) {
				seen[target.String()]++
			}
		}
		assert.Len(t, seen, len(targets))
		for name, n := range seen {
			assert.Equal(t, 1, n, name)
		}
	}
	for _, bad := range []string{"0/3", "4/3", "1", "a/b", "1/3x", "-1/3", "01/3"} {
		_, err := sentinel.ParseShard(bad)
		assert.Equal(t, exit.Usage, exit.Code(err), bad)
	}
	assert.Equal(t, []sentinel.Cell{{"a", "1/2", "a-1of2"}, {"a", "2/2", "a-2of2"}, {"b", "1/2", "b-1of2"}, {"b", "2/2", "b-2of2"}}, sentinel.Cells([]string{"a", "b"}, 2))
}

func TestNewTagsAreTheReleasesThatTheMatrixLacksAndTheirLastCandidates(t *testing.T) {
	m := matrix("3.9.0", "4.1.0")
	got := sentinel.NewTags(m, map[string]string{"3.8.0": "a", "3.9.0": "b", "4.1.0": "c", "4.1.0-rc1": "d", "4.2.0-rc2": "e", "4.2.0-rc10": "f", "4.3.0-rc0": "g", "4.3.0": "h", "v4.4.0": "i", "kafka-old": "j", "4.5": "k", "3.9.1": "l"})
	var names []string
	for _, n := range got {
		names = append(names, n.Name+" is "+n.Version+" "+n.Commit)
	}
	assert.Equal(t, []string{"3.9.1 is 3.9.1 l", "4.2.0-rc10 is 4.2.0 f", "4.3.0 is 4.3.0 h", "v4.4.0 is 4.4.0 i"}, names)

	merged := sentinel.Merge(got, sentinel.NewVersions(m, []string{"3.7.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0-SNAPSHOT"}))
	names = nil
	for _, n := range merged {
		names = append(names, fmt.Sprint(n.Name, " ", n.Published, " ", n.Tag))
	}
	assert.Equal(t, []string{"3.9.1 false 3.9.1", "4.2.0 true ", "4.3.0 true 4.3.0", "v4.4.0 false v4.4.0"}, names)

	as, like, err := sentinel.Like(m, merged[2])
	require.NoError(t, err)
	assert.Equal(t, "4.1.0", like.String())
	assert.Equal(t, "- version: 4.3.0\n  tag: 4.3.0\n  modes: [kraft]\n  scala: [\"2.13\"]\n  class-release: 17\n  sources: [maven, git]\n  status: supported\n", sentinel.Entry(as))
	read, err := release.ReadMatrix([]byte("releases:\n"+sentinel.Entry(as)), "proposed")
	require.NoError(t, err, "the proposed entry is one that versions.yaml takes")
	assert.Equal(t, "4.3.0", read.Releases[0].String())
	as, _, err = sentinel.Like(m, merged[0])
	require.NoError(t, err)
	assert.Equal(t, []string{"git"}, as.Sources, "no sources jars, no maven")
}

func TestANewcomerIsTriedAndItsDriftExplainedBesideTheLastGoodRelease(t *testing.T) {
	f := &farm{}
	m := matrix("4.0.0", "4.1.0")
	c := f.checker(t, sentinel.Source, sentinel.Check, sentinel.Generate)
	scout := &sentinel.Scout{Matrix: m, Catalog: c.Catalog, Known: c.Open,
		New: func(ctx context.Context, n *sentinel.Newcomer) (*source.Tree, error) {
			if n.Version == "4.3.0" {
				return nil, errors.New("no sources\nanywhere")
			}
			as, _, err := sentinel.Like(m, *n)
			require.NoError(t, err)
			return c.Open(ctx, as)
		},
		Checker: func(_ context.Context, _ *sentinel.Newcomer, _ release.Release, _ *source.Tree) (*sentinel.Checker, []string, error) {
			return c, nil, nil
		}}
	try := func(version string) sentinel.Newcomer {
		n := sentinel.Newcomer{Name: version, Version: version, Published: true}
		require.NoError(t, scout.Try(t.Context(), &n))
		return n
	}
	same := try("4.1.1")
	assert.Equal(t, "would work as is: every anchor matches once; not built", same.Verdict)
	assert.Equal(t, sentinel.Passed, same.Status)
	assert.Contains(t, same.Entry, "version: 4.1.1")

	moved := try("4.2.0")
	assert.Equal(t, "anchors moved: fox renamed", moved.Verdict)
	assert.Equal(t, sentinel.Drifted, moved.Status)
	require.Len(t, moved.Drifts, 1)
	d := moved.Drifts[0]
	assert.Equal(t, "4.1.0", d.LastGood)
	assert.Equal(t, anchor.Renamed, d.Cause)
	assert.Equal(t, []int{1, 0}, []int{d.Removed, d.Added}, "the line is a member of its own, and gone")

	out := try("4.3.0")
	assert.Equal(t, "not tried: no sources", out.Verdict)
	assert.Equal(t, sentinel.Failed, out.Status)
}

func TestTheVersionOfABranchStandsInItsFiles(t *testing.T) {
	v, err := sentinel.VersionOf(fstest.MapFS{"gradle.properties": {Data: []byte("group=x\nversion=4.4.0-SNAPSHOT\nscalaVersion=2.13.18\n")}})
	require.NoError(t, err)
	assert.Equal(t, "4.4.0", v)
	_, err = sentinel.VersionOf(fstest.MapFS{"gradle.properties": {Data: []byte("version=trunk\n")}})
	assert.ErrorContains(t, err, "expected a line version=")
	_, err = sentinel.VersionOf(fstest.MapFS{})
	assert.Error(t, err)
}
