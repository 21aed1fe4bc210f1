package release_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

func matrix(t *testing.T) *release.Matrix {
	t.Helper()
	text, err := os.ReadFile("../../versions.yaml")
	require.NoError(t, err)
	m, err := release.ReadMatrix(text, "versions.yaml")
	require.NoError(t, err)
	return m
}

func names(releases []release.Release) string {
	var out []string
	for _, r := range releases {
		out = append(out, r.String())
	}
	return strings.Join(out, " ")
}

const supported = "3.6.2 3.7.0 3.7.1 3.7.2 3.8.0 3.8.1 3.9.0 3.9.1 3.9.2 4.0.0 4.0.1 4.0.2 4.1.0 4.1.1 4.1.2 4.2.0 4.2.1 4.3.0 4.3.1"

func TestMatrixHasEverySupportedReleaseWithItsModes(t *testing.T) {
	m := matrix(t)
	require.Equal(t, supported, names(m.Releases))
	for _, r := range m.Releases {
		if r.Version.Major() == 3 {
			require.Equal(t, []release.Mode{release.Both, release.ZK, release.KRaft}, r.Modes, r)
			require.Equal(t, []string{"2.13", "2.12"}, r.Scala, r)
			require.Equal(t, 8, r.ClassRelease, r)
		} else {
			require.Equal(t, []release.Mode{release.KRaft}, r.Modes, r)
			require.Equal(t, []string{"2.13"}, r.Scala, r)
			require.Equal(t, 17, r.ClassRelease, r)
		}
	}
}

func TestSelectTakesVersionsRangesAndAll(t *testing.T) {
	for _, c := range []struct {
		exprs []string
		want  string
	}{
		{[]string{"4.1.0"}, "4.1.0"},
		{[]string{"all"}, supported},
		{[]string{">=3.6.2 <3.8"}, "3.6.2 3.7.0 3.7.1 3.7.2"},
		{[]string{"~4.1"}, "4.1.0 4.1.1 4.1.2"},
		{[]string{"3.9"}, "3.9.0 3.9.1 3.9.2"},
		{[]string{"4.3.1", "3.6.2", "4.3.1"}, "3.6.2 4.3.1"},
		{[]string{">=4.2", "4.3.0"}, "4.2.0 4.2.1 4.3.0 4.3.1"},
		{[]string{" 3.6.2 "}, "3.6.2"},
	} {
		got, err := matrix(t).Select(c.exprs...)
		require.NoError(t, err, c.exprs)
		require.Equal(t, c.want, names(got), c.exprs)
	}
}

func TestSelectNamesTheNearestReleaseWhenNothingMatches(t *testing.T) {
	for _, c := range []struct{ expr, nearest string }{
		{"4.1.9", "the nearest is 4.1.2"},
		{"3.5.0", "the nearest is 3.6.2"},
		{"4.4.0", "the nearest is 4.3.1"},
		{"3.10.0", "the nearest is 3.9.2"},
		{"4.1.3", "the nearest is 4.1.2"},
		{"2.8.1", "the nearest is 3.6.2"},
		{">=5", "the nearest is 4.3.1"},
		{"<3.6", "the nearest is 3.6.2"},
		{"4.1.0.1", "no version, range"},
		{"latest", "no version, range"},
		{"", "no version, range"},
	} {
		_, err := matrix(t).Select(c.expr)
		require.ErrorContains(t, err, c.nearest, c.expr)
		require.Equal(t, exit.Usage, exit.Code(err), c.expr)
	}
	_, err := matrix(t).Select()
	require.ErrorContains(t, err, "no release named")
	require.Equal(t, exit.Usage, exit.Code(err))
}

func TestTargetsFollowWhatEachReleaseHas(t *testing.T) {
	for _, c := range []struct {
		version, mode, scala, set string
		want                      string
	}{
		{"3.7.1", "", "", "full", "3.7.1-both"},
		{"3.7.1", "zk", "2.12", "base", "3.7.1-zk-scala2.12-base"},
		{"3.7.1", "all", "all", "full", "3.7.1-both 3.7.1-both-scala2.12 3.7.1-zk 3.7.1-zk-scala2.12 3.7.1-kraft 3.7.1-kraft-scala2.12"},
		{"4.1.0", "kraft", "2.13", "all", "4.1.0-kraft-base 4.1.0-kraft"},
		{"~4.3", "", "", "full", "4.3.0-kraft 4.3.1-kraft"},
	} {
		targets, err := matrix(t).Targets([]string{c.version}, c.mode, c.scala, c.set)
		require.NoError(t, err)
		var got []string
		for _, x := range targets {
			got = append(got, x.String())
		}
		require.Equal(t, c.want, strings.Join(got, " "))
	}
}

func TestTargetRefusesWhatAReleaseLacksAndNamesTheNearest(t *testing.T) {
	for _, c := range []struct{ version, mode, scala, set, want string }{
		{"4.1.0", "zk", "", "full", `mode "zk" is not there; the nearest is kraft`},
		{"4.1.0", "both", "", "full", `to be had: kraft`},
		{"3.7.1", "zookeeper", "", "full", `the nearest is zk, to be had: both, zk, kraft`},
		{"4.1.0", "", "2.12", "full", `Scala version "2.12" is not there; the nearest is 2.13`},
		{"3.7.1", "", "3", "full", `to be had: 2.13, 2.12`},
		{"3.7.1", "", "", "bsae", `set "bsae" is not there; the nearest is base`},
		{"4.1.3", "", "", "full", `the nearest is 4.1.2`},
		{"3.7", "", "", "full", `stand for 3 targets; expected one`},
	} {
		_, err := matrix(t).Target(c.version, c.mode, c.scala, c.set)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, exit.Usage, exit.Code(err))
	}
}

const oneRelease = `releases:
- version: 4.1.0
  tag: 4.1.0
  modes: [kraft]
  scala: ["2.13"]
  class-release: 17
  sources: [maven]
  status: supported
`

func TestReadMatrixRefusesMistakesWithTheirLine(t *testing.T) {
	_, err := release.ReadMatrix([]byte(oneRelease), "v.yaml")
	require.NoError(t, err)
	for _, c := range []struct{ old, new, want string }{
		{"  status:", "  statsu:", "[8:3] unknown field"},
		{"version: 4.1.0", "version: 4.1", `v.yaml:2: release 1: version "4.1": expected three numbers`},
		{"[kraft]", "[kraft, kraft]", `stands twice`},
		{"[kraft]", "[raft]", `v.yaml:2: release 1: 4.1.0: modes: "raft" is none of both, zk, kraft`},
		{"[kraft]", "[]", `no modes`},
		{`["2.13"]`, `["3.0"]`, `scala: "3.0" is none of 2.13, 2.12`},
		{"class-release: 17", "class-release: 11", "class-release 11: expected 8 or 17"},
		{"class-release: 17", "class-release: new", "[6:18]"},
		{"[maven]", "[ftp]", `sources: "ftp" is none of maven, git`},
		{"  tag: 4.1.0\n", "", "has no tag"},
		{"  status: supported\n", "", "has no status"},
		{"releases:\n", "releases: []\nx:\n", "unknown field"},
		{oneRelease, "releases: []\n", "no releases"},
		{oneRelease, oneRelease + strings.TrimPrefix(oneRelease, "releases:\n"), "v.yaml:9: release 4.1.0 stands after 4.1.0"},
	} {
		require.Contains(t, oneRelease, c.old)
		_, err := release.ReadMatrix([]byte(strings.Replace(oneRelease, c.old, c.new, 1)), "v.yaml")
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "v.yaml")
	}
}

func FuzzReadMatrix(f *testing.F) {
	f.Add([]byte(oneRelease))
	f.Add([]byte("releases: [{version: 1.0.0}]"))
	f.Add([]byte("releases:\n- &a {version: 1.0.0, <<: *a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := release.ReadMatrix(text, "fuzz")
		if err != nil {
			return
		}
		all, err := m.Select(release.All)
		require.NoError(t, err)
		require.Equal(t, m.Releases, all)
		for _, r := range all {
			target, err := m.Target(r.String(), "", "", "")
			require.NoError(t, err)
			require.Equal(t, r, target.Release)
		}
	})
}
