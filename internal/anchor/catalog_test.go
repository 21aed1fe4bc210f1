package anchor_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

func target(version string, mode release.Mode, set release.Set) release.Target {
	return release.Target{Release: release.Release{Version: semver.MustParse(version), Scala: []string{"2.13"}}, Mode: mode, Scala: "2.13", Set: set}
}

// data makes the tool's data from pairs of path and text.
func data(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

const head = "file: a/Pond.scala\nhooks:\n- id: duck\n  sets: [base]\n  modes: [zk]\n"

func TestEveryMistakeInTheCatalogIsNamedWithFileAndLine(t *testing.T) {
	body := "quack()\n"
	cases := map[string]struct{ yaml, body, want string }{
		"unknown field":         {head + "  colour: red\n  places: [{before: x}]\n", body, `anchors/Pond.yaml:6: unknown field "colour"`},
		"unknown place field":   {head + "  places:\n  - before: x\n    beside: y\n", body, `anchors/Pond.yaml:8: unknown field "beside"`},
		"no YAML":               {"file: [\n", body, "anchors/Pond.yaml:1: "},
		"empty file":            {"", body, "anchors/Pond.yaml: the file is empty"},
		"only a comment":        {"# ducks\n", body, "anchors/Pond.yaml: the file is empty"},
		"two documents":         {head + "  places: [{before: x}]\n---\nfile: b\n", body, "expected one YAML document, found 2"},
		"bad path":              {strings.Replace(head, "a/Pond.scala", "../Pond.scala", 1) + "  places: [{before: x}]\n", body, `file "../Pond.scala": expected upstream's path`},
		"bad id":                {strings.Replace(head, "duck", "Duck!", 1) + "  places: [{before: x}]\n  body: duck.scala\n", body, `anchors/Pond.yaml:3: id "Duck!"`},
		"unknown set":           {strings.Replace(head, "[base]", "[bass]", 1) + "  places: [{before: x}]\n", body, `anchors/Pond.yaml:3: set "bass": expected base or full`},
		"mode both":             {strings.Replace(head, "[zk]", "[both]", 1) + "  places: [{before: x}]\n", body, `mode "both": expected zk or kraft`},
		"no places":             {head + "  places: []\n", body, "anchors/Pond.yaml:3: hook duck has no places"},
		"two operations":        {head + "  places:\n  - before: x\n    after: y\n", body, "anchors/Pond.yaml:7: hook duck: found 2 of before:, after: and replace:"},
		"no operation":          {head + "  places:\n  - in: x\n", body, "found 0 of before:"},
		"bad range":             {head + "  places: [{before: x, releases: soon}]\n", body, `range "soon"`},
		"place never reached":   {head + "  places:\n  - before: x\n  - before: y\n", body, "anchors/Pond.yaml:7: hook duck: this place has no releases:"},
		"indented anchor":       {head + "  places: [{before: \" x\"}]\n", body, `before: " x": expected the beginning of one trimmed line`},
		"empty anchor":          {head + "  places: [{before: \"\"}]\n", body, `before: ""`},
		"missing body":          {head + "  body: goose.scala\n  places: [{before: x}]\n", body, "found none of patches/goose.scala"},
		"body outside":          {head + "  body: ../../etc/passwd\n  places: [{before: x}]\n", body, "expected a path below patches/"},
		"indented body":         {head + "  places: [{before: x}]\n", "  quack()\n", "does not start in column 0"},
		"blank body":            {head + "  places: [{before: x}]\n", "\n", "the body is empty"},
		"fenced body":           {head + "  places: [{before: x}]\n", "// === OBSERVER PATCH duck ===\n", "the body has a fence"},
		"gap in an insertion":   {head + "  places: [{before: x}]\n", "UPSTREAM\n", "the word UPSTREAM 1 times, expected 0"},
		"no gap":                {head + "  places: [{replace: {line: x, text: y}}]\n", body, "the word UPSTREAM 0 times, expected 1"},
		"two gaps":              {head + "  places: [{replace: {line: x, text: y}}]\n", "UPSTREAM + UPSTREAM\n", "the word UPSTREAM 2 times, expected 1"},
		"fragment of two lines": {head + "  places: [{replace: {line: x, text: \"a\\nb\"}}]\n", "UPSTREAM\n", "expected a part of one line"},
		"new file with hooks":   {head + "  places: [{before: x}]\nnew: duck.scala\nid: d\nsets: [base]\nmodes: [zk]\n", body, "a new file cannot have hooks"},
		"new file not there":    {"file: a/New.java\nid: d\nnew: new/New.java\nsets: [base]\nmodes: [zk]\n", body, "new: open patches/new/New.java"},
		"nothing at all":        {"file: a/New.java\n", body, "no hooks: and no new: found"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := anchor.ReadCatalog(data("anchors/Pond.yaml", c.yaml, "patches/duck.scala", c.body))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
			assert.Contains(t, err.Error(), "anchors/Pond.yaml")
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, err := anchor.ReadCatalog(data(
		"anchors/A.yaml", head+"  places: []\n",
		"anchors/B.yaml", head+"  colour: red\n",
	))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "anchors/A.yaml:3")
	assert.Contains(t, err.Error(), "anchors/B.yaml:6")
}

const pond = `file: a/Pond.scala
hooks:
- id: duck
  sets: [base, full]
  modes: [zk]
  absent: "<3.7"
  places:
  - releases: "<4"
    before: old
  - before: now
    body: later.scala
- id: goose
  sets: [full]
  modes: [kraft]
  places: [{after: [one, two], in: [["class", "with"], "def"]}]
`

func TestTargetsGetTheHooksOfTheirSetModeAndRelease(t *testing.T) {
	c, err := anchor.ReadCatalog(data(
		"anchors/Pond.yaml", pond,
		"anchors/Pond-2.yaml", "file: a/Pond.scala\nreleases: \">=4\"\nhooks: [{id: swan, sets: [full], modes: [zk, kraft], places: [{before: s}]}]\n",
		"anchors/New.yaml", "file: a/New.java\nid: egg\nnew: new/New.java\nsets: [full]\nmodes: [kraft]\nreleases: \">=3.7\"\n",
		"patches/duck.scala", "common\n", "patches/full/duck.scala", "fuller\n", "patches/later.scala", "later\n",
		"patches/goose.scala", "honk\n", "patches/swan.scala", "hiss\n", "patches/new/New.java", "class New {}\n"))
	require.NoError(t, err)
	ids := func(tg release.Target) []string {
		var out []string
		for _, f := range c.For(tg) {
			if f.New != nil {
				out = append(out, "+"+f.New.ID)
			}
			for _, h := range f.Hooks {
				out = append(out, h.ID)
			}
		}
		return out
	}
	assert.Equal(t, []string{"duck"}, ids(target("3.7.0", release.ZK, release.Base)))
	assert.Empty(t, ids(target("3.6.2", release.ZK, release.Base)), "absent")
	assert.Empty(t, ids(target("4.1.0", release.KRaft, release.Base)), "a ZooKeeper hook")
	assert.Equal(t, []string{"+egg", "duck", "goose"}, ids(target("3.9.0", release.Both, release.Full)))
	assert.Equal(t, []string{"+egg", "swan", "goose"}, ids(target("4.0.0", release.KRaft, release.Full)), "YAML files in the order of their names")
	assert.Equal(t, []string{"+egg", "swan", "goose"}, ids(target("4.0.0-rc1", release.KRaft, release.Full)), "a pre-release counts as its release")

	duck := c.For(target("3.7.0", release.ZK, release.Base))[0].Hooks[0]
	place, ok := duck.Place(target("3.7.0", release.ZK, release.Base))
	require.True(t, ok)
	assert.Equal(t, map[release.Set]string{release.Base: "common", release.Full: "fuller"}, place.Bodies)
	assert.Equal(t, "anchors/Pond.yaml:8", place.Pos)
	place, ok = duck.Place(target("4.0.0", release.ZK, release.Base))
	require.True(t, ok)
	assert.Equal(t, "later", place.Bodies[release.Base])
}

func FuzzTheCatalogNeverPanics(f *testing.F) {
	f.Add(pond, "x\n")
	f.Add(head+"  places: [{replace: {line: [a, b], text: c}}]\n", "UPSTREAM\n")
	f.Add("file: a/N.java\nid: n\nnew: duck.scala\nsets: [base]\nmodes: [zk]\n", "class N {}")
	f.Fuzz(func(t *testing.T, yaml, body string) {
		c, err := anchor.ReadCatalog(data("anchors/Pond.yaml", yaml, "patches/duck.scala", body, "patches/full/duck.scala", body))
		if err != nil {
			return
		}
		for _, set := range []release.Set{release.Base, release.Full} {
			tg := target("3.7.1", release.Both, set)
			for _, file := range c.For(tg) {
				anchor.Locate(file.Path, []byte(body), file.Hooks, tg)
			}
		}
	})
}

func TestACatalogWithoutHooksIsAMistake(t *testing.T) {
	_, err := anchor.ReadCatalog(data("patches/duck.scala", "quack()\n"))
	assert.ErrorContains(t, err, "no file anchors/*.yaml")
}
