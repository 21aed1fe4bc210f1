package patch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
)

func hook(id string, p anchor.Place, body string) anchor.Hook {
	p.Bodies = map[release.Set]string{release.Base: body}
	return anchor.Hook{ID: id, Places: []anchor.Place{p}}
}

const meadow = `def graze(): Unit = {
  walk()
  if (hungry && near(grass)) {
    eat()
  }
}
`

func TestSectionsAreFencedIndentedAndInTheDefinedOrder(t *testing.T) {
	f := apply(t, []byte(meadow), []anchor.Hook{
		hook("b1", anchor.Place{Op: anchor.Before, Anchor: anchor.Lines{"if ("}}, "one()\n\n  two()"),
		hook("r", anchor.Place{Op: anchor.Replace, Anchor: anchor.Lines{"if ("}, Fragment: "near(grass)"}, "(UPSTREAM ||\n  near(hay))"),
		hook("b2", anchor.Place{Op: anchor.Before, Anchor: anchor.Lines{"if ("}}, "three()"),
		hook("a1", anchor.Place{Op: anchor.After, Anchor: anchor.Lines{"walk()"}}, "four()"),
		hook("a2", anchor.Place{Op: anchor.After, Anchor: anchor.Lines{"if ("}}, "five()"),
	})
	assert.Equal(t, `def graze(): Unit = {
  walk()
  // === OBSERVER PATCH a1 ===
  four()
  // === END OBSERVER PATCH ===
  // === OBSERVER PATCH b1 ===
  one()

    two()
  // === END OBSERVER PATCH ===
  // === OBSERVER PATCH b2 ===
  three()
  // === END OBSERVER PATCH ===
  // === OBSERVER PATCH r ===
  if (hungry && (near(grass) ||
    near(hay))) {
  // === END OBSERVER PATCH ===
    // === OBSERVER PATCH a2 ===
    five()
    // === END OBSERVER PATCH ===
    eat()
  }
}
`, string(f.After))
	assert.Equal(t, []patch.Edit{
		{Owner: "a1", OldLines: patch.Lines{First: 3}, NewLines: patch.Lines{First: 3, Count: 3}},
		{Owner: "b1", OldLines: patch.Lines{First: 3}, NewLines: patch.Lines{First: 6, Count: 5}},
		{Owner: "b2", OldLines: patch.Lines{First: 3}, NewLines: patch.Lines{First: 11, Count: 3}},
		{Owner: "r", OldLines: patch.Lines{First: 3, Count: 1}, NewLines: patch.Lines{First: 14, Count: 4}},
		{Owner: "a2", OldLines: patch.Lines{First: 4}, NewLines: patch.Lines{First: 18, Count: 3}},
	}, f.Edits)
}

func TestTwoReplacementsInOneLineAreRefused(t *testing.T) {
	hooks := []anchor.Hook{
		hook("r1", anchor.Place{Op: anchor.Replace, Anchor: anchor.Lines{"if ("}, Fragment: "hungry"}, "!UPSTREAM"),
		hook("r2", anchor.Place{Op: anchor.Replace, Anchor: anchor.Lines{"if ("}, Fragment: "grass"}, "f(UPSTREAM)"),
	}
	located, misses := anchor.Locate("F", []byte(meadow), hooks, zk)
	require.Empty(t, misses)
	_, _, err := patch.Apply([]byte(meadow), located)
	assert.ErrorContains(t, err, "hooks r1 and r2 replace in the same line 3")
}

func TestAPlaceOfAnotherFileIsRefused(t *testing.T) {
	_, _, err := patch.Apply([]byte("a\n"), []anchor.Located{{Hook: "h", Path: "F", Op: anchor.Before, Start: 3, End: 3}})
	assert.ErrorContains(t, err, "F has 1 lines, the place is lines 3 to 3")
}

func TestReverseRefusesWhatThisToolDidNotWrite(t *testing.T) {
	hooks := []anchor.Hook{hook("b1", anchor.Place{Op: anchor.Before, Anchor: anchor.Lines{"walk()"}}, "one()")}
	cases := map[string]struct{ src, want string }{
		"edited section": {"  // === OBSERVER PATCH b1 ===\n  two()\n  // === END OBSERVER PATCH ===\n  walk()\n", "F:1: the section of hook b1 is not what"},
		"unknown hook":   {"  // === OBSERVER PATCH b9 ===\n  one()\n  // === END OBSERVER PATCH ===\n  walk()\n", "hook b9 is not what"},
		"no end":         {"  // === OBSERVER PATCH b1 ===\n  one()\n  walk()\n", "hook b1 has no end"},
		"nested":         {"  // === OBSERVER PATCH b1 ===\n  // === OBSERVER PATCH b1 ===\n  one()\n  // === END OBSERVER PATCH ===\n", "F:1: the section of hook b1 has no end"},
		"no beginning":   {"walk()\n// === END OBSERVER PATCH ===\n", "F:2: a fence ends here"},
		"moved":          {"  walk()\n  // === OBSERVER PATCH b1 ===\n  one()\n  // === END OBSERVER PATCH ===\n", "patched again, differs"},
		"unpatched":      {"  walk()\n", "patched again, differs"},
		"not ours":       {"  run()\n", "does not take the hooks again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := patch.Reverse("F", []byte(c.src), hooks, zk)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
		})
	}
}
