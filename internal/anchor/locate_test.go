package anchor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

// farm is our own; it has the shapes of code that anchors meet.
const farm = `package farm

class Barn(
  val cows: Int,
  val hens: Int
) extends Building {

  def feed(amount: Int): Unit = {
    val hay = amount
    spread(hay)
  }

  def milk(
    pail: Pail,
    gently: Boolean
  ): Unit = {
    if (gently) {
      val hay = 0
    } else {
      kick()
    }
    spread(hay)
  }

  def count: Int =
    cows +
      hens

  def sleep(): Unit = if (dark && quiet) rest()
}

class Shed {
  def feed(amount: Int): Unit = spread(amount)
}
`

// hooks reads one entry's places (YAML flow) for farm.
func hooks(t *testing.T, place, body string) []anchor.Hook {
	t.Helper()
	c, err := anchor.ReadCatalog(data(
		"anchors/Farm.yaml", "file: a/Farm.scala\nhooks:\n- id: fox\n  sets: [base]\n  modes: [zk]\n  places:\n  - "+place+"\n",
		"patches/fox.scala", body))
	require.NoError(t, err)
	return c.For(farmTarget)[0].Hooks
}

var farmTarget = target("3.7.1", release.Both, release.Base)

func TestPlacesAreFoundInTheirScope(t *testing.T) {
	cases := map[string]struct {
		place      string
		start, end int
		indent     string
	}{
		"whole file":                  {`{before: "package farm"}`, 1, 1, ""},
		"class header of many lines":  {`{in: "class Barn(", before: "def feed("}`, 8, 8, "  "},
		"the same name in another":    {`{in: "class Shed", before: "def feed("}`, 33, 33, "  "},
		"nested":                      {`{in: ["class Barn(", "def feed("], before: "val hay"}`, 9, 9, "    "},
		"method header of many lines": {`{in: ["class Barn(", "def milk("], before: "spread("}`, 22, 22, "    "},
		"branch":                      {`{in: ["def milk(", "} else {"], before: "kick("}`, 20, 20, "      "},
		"scope ends at else":          {`{in: ["def milk(", "if (gently) {"], before: "val hay"}`, 18, 18, "      "},
		"no braces":                   {`{in: ["def count: Int ="], before: "hens"}`, 27, 27, "      "},
		"consecutive lines":           {`{before: ["val hay = amount", "spread("]}`, 9, 10, "    "},
		"header of two lines":         {`{in: [["def milk(", "pail"]], before: "spread("}`, 22, 22, "    "},
		"after, same depth":           {`{in: ["def feed(amount: Int): Unit = {"], after: "val hay"}`, 9, 9, "    "},
		"after a line that opens":     {`{in: ["class Barn("], after: "def feed("}`, 8, 8, "    "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, misses := anchor.Locate("a/Farm.scala", []byte(farm), hooks(t, c.place, "bark()"), farmTarget)
			require.Empty(t, misses)
			require.Len(t, found, 1)
			assert.Equal(t, [2]int{c.start, c.end}, [2]int{found[0].Start, found[0].End})
			assert.Equal(t, c.indent, found[0].Indent)
		})
	}
}

func TestAFragmentIsFoundInTheLineThatHasIt(t *testing.T) {
	found, misses := anchor.Locate("a/Farm.scala", []byte(farm), hooks(t, `{replace: {line: ["cows +", "hens"], text: "hens"}}`, "(UPSTREAM - eaten)"), farmTarget)
	require.Empty(t, misses)
	assert.Equal(t, 27, found[0].Start)
	assert.Equal(t, 6, found[0].Column)
}

func TestAMissSaysWhatHappened(t *testing.T) {
	cases := map[string]struct {
		place, body string
		cause       anchor.Cause
		count       int
		lines       []int
		nearest     int
	}{
		"duplicated":           {`{before: "spread("}`, "bark()", anchor.Duplicated, 2, []int{10, 22}, 0},
		"header duplicated":    {`{in: "def feed(", before: "spread("}`, "bark()", anchor.Duplicated, 2, []int{8, 33}, 0},
		"moved":                {`{in: "class Shed", before: "kick()"}`, "bark()", anchor.Moved, 0, []int{20}, 0},
		"header moved":         {`{in: ["class Shed", "def milk("], before: "kick()"}`, "bark()", anchor.Moved, 0, []int{13}, 0},
		"renamed":              {`{in: "def feed(amount: Int): Unit = {", before: "val hays = amounts"}`, "bark()", anchor.Renamed, 0, nil, 9},
		"header renamed":       {`{in: "def milks(", before: "kick()"}`, "bark()", anchor.Renamed, 0, nil, 13},
		"deleted":              {`{in: "class Shed", before: "while (raining) drip()"}`, "bark()", anchor.Deleted, 0, nil, 0},
		"already upstream":     {`{in: "class Shed", before: "while (raining) drip()"}`, "val hay = amount\nspread(hay)", anchor.Present, 0, []int{9}, 0},
		"fragment gone":        {`{replace: {line: "cows +", text: "pigs"}}`, "UPSTREAM", anchor.Renamed, 0, nil, 26},
		"fragment twice":       {`{replace: {line: "package farm", text: "a"}}`, "UPSTREAM", anchor.Duplicated, 3, []int{1, 1, 1}, 0},
		"no place for release": {`{releases: ">=4", before: "kick()"}`, "bark()", anchor.NoPlace, 0, nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, misses := anchor.Locate("a/Farm.scala", []byte(farm), hooks(t, c.place, c.body), farmTarget)
			assert.Empty(t, found)
			require.Len(t, misses, 1)
			m := misses[0]
			assert.Equal(t, c.cause, m.Cause)
			assert.Equal(t, c.count, m.Count)
			assert.Equal(t, c.lines, m.Lines)
			if c.nearest > 0 {
				require.NotEmpty(t, m.Candidates)
				assert.Equal(t, c.nearest, m.Candidates[0].Line)
			}
			assert.Contains(t, m.Error(), "anchors/Farm.yaml:")
			assert.Contains(t, m.Error(), "fox")
		})
	}
}

func TestAFileWithFencesIsAlreadyPatched(t *testing.T) {
	src := "a\n// === OBSERVER PATCH fox ===\nb\n// === END OBSERVER PATCH ===\n"
	_, misses := anchor.Locate("a/Farm.scala", []byte(src), hooks(t, `{before: a}`, "bark()"), farmTarget)
	require.Len(t, misses, 1)
	assert.Equal(t, anchor.Patched, misses[0].Cause)
	assert.Equal(t, []int{2}, misses[0].Lines)
}

func TestMessagesShowAtMostSixtyCharactersOfALine(t *testing.T) {
	src := strings.Repeat("abcdefghij", 30) + "\n"
	_, misses := anchor.Locate("a/Farm.scala", []byte(src), hooks(t, `{before: "abcdefghijX"}`, "bark()"), farmTarget)
	require.Len(t, misses, 1)
	require.NotEmpty(t, misses[0].Candidates)
	assert.Len(t, []rune(misses[0].Candidates[0].Excerpt), 60)
}

func FuzzLocateNeverPanics(f *testing.F) {
	f.Add(farm, "def feed(", "val hay", "hay")
	f.Add("\r\n\xff\n// === OBSERVER PATCH  ===", "a", "b", "c")
	f.Fuzz(func(t *testing.T, src, header, line, fragment string) {
		p := anchor.Place{In: []anchor.Lines{{header}}, Op: anchor.Replace, Anchor: anchor.Lines{line, line}, Fragment: fragment,
			Bodies: map[release.Set]string{release.Base: "x" + anchor.Gap}}
		q := p
		q.In, q.Op, q.Anchor = nil, anchor.After, anchor.Lines{line}
		found, misses := anchor.Locate("f", []byte(src), []anchor.Hook{{ID: "a", Places: []anchor.Place{p}}, {ID: "b", Places: []anchor.Place{q}}}, farmTarget)
		if len(found)+len(misses) != 2 {
			t.Fatalf("2 hooks gave %d places and %d misses", len(found), len(misses))
		}
		for _, m := range misses {
			_ = m.Error()
		}
	})
}
