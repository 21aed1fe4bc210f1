package cli

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/patch"
	"observer-patch/internal/source"
)

var updateSizes = flag.Bool("update-sizes", false, "write the tables of README.md and docs/sizes.md instead of comparing them")

// size is what a set changes in one release's default mode.
type size struct {
	files, inserted, deleted int // upstream's files
	newFiles, newLines       int // files of ours
}

func (s size) String() string {
	return fmt.Sprintf("%d files +%d −%d, %d new files of %d lines", s.files, s.inserted, s.deleted, s.newFiles, s.newLines)
}

// A reviewer reads every line of a patch: how many there are stands in the README, and is what
// the generated diffs hold.
func TestTheDocumentedSizesAreThoseOfTheDiffs(t *testing.T) {
	env := &Env{Out: t.Output(), Err: t.Output(), Data: observerpatch.Data(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	var summary, detail strings.Builder
	summary.WriteString("| release | base | full |\n| --- | --- | --- |\n")
	detail.WriteString("| target | file | inserted | deleted |\n| --- | --- | --- | --- |\n")
	sizes := map[string]size{}
	var order []string
	err := plans(context.Background(), env, &selection{versions: []string{"all"}, set: "all"}, &sourceFlags{kind: "maven"},
		func(p *patch.Plan, _ *source.Tree) error {
			target := p.Target
			if err := p.Err(); err != nil {
				return err
			}
			var s size
			for _, f := range p.Tree.Files {
				one := patch.Tree{Files: []patch.File{f}}.Summary()
				if f.Before == nil {
					s.newFiles++
					s.newLines += one.Inserted
				} else {
					s.files++
					s.inserted += one.Inserted
					s.deleted += one.Deleted
				}
				name := filepath.Base(f.Path)
				if f.Before == nil {
					name += " (new)"
				}
				fmt.Fprintf(&detail, "| %s | %s | %d | %d |\n", target, name, one.Inserted, one.Deleted)
			}
			if len(order) == 0 || order[len(order)-1] != target.Release.String() {
				order = append(order, target.Release.String())
			}
			sizes[target.Release.String()+" "+string(target.Set)] = s
			return nil
		})
	require.NoError(t, err)
	for _, v := range order {
		fmt.Fprintf(&summary, "| %s | %s | %s |\n", v, sizes[v+" base"], sizes[v+" full"])
	}
	documented(t, "../../README.md", summary.String())
	documented(t, "../../docs/sizes.md", detail.String())
}

// documented compares what stands between the markers of a page with want.
func documented(t *testing.T, page, want string) {
	t.Helper()
	const begin, end = "<!-- sizes -->\n", "<!-- end of sizes -->"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no line %q", page, begin)
	got, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no %q", page, end)
	if *updateSizes {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+want+end+after), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s; go test ./internal/cli -run Sizes -update-sizes writes it anew", page)
}
