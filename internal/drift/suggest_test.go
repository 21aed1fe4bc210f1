package drift_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/anchor"
	"observer-patch/internal/drift"
)

// broken makes upstream's getOutOfSyncReplicas of a release unfindable for the hook, and gives
// what drift says of it.
func broken(t *testing.T, version string, mutate func(s *subject)) (drift.Change, anchor.Hook, drift.Source) {
	t.Helper()
	target := targetOf(t, version)
	all := subjects(t, upstream(t, version), target)
	s := all[slices.IndexFunc(all, func(s *subject) bool { return s.found.Hook == "isr-eviction" })]
	c := s.clone()
	mutate(c)
	var h anchor.Hook
	for _, f := range catalog(t).For(target) {
		for _, k := range f.Hooks {
			if k.ID == "isr-eviction" {
				h = k
			}
		}
	}
	_, misses := anchor.Locate(c.path, c.text(), []anchor.Hook{h}, target)
	require.Len(t, misses, 1)
	now := drift.Source{Target: target, Text: c.text()}
	return drift.Explain(misses[0], h, drift.Source{Target: target, Text: s.text()}, now), h, now
}

// others are the hook's file in other releases.
func others(t *testing.T, file string, versions ...string) []drift.Source {
	t.Helper()
	var out []drift.Source
	for _, v := range versions {
		text, err := fs.ReadFile(upstream(t, v), file)
		require.NoError(t, err)
		out = append(out, drift.Source{Target: targetOf(t, v), Text: text})
	}
	return out
}

func TestABrokenAnchorGetsCandidatesThatEveryReleaseHasOnce(t *testing.T) {
	change, h, now := broken(t, "4.3.1", func(s *subject) {
		s.lines[s.anchorLine()].text = strings.Replace(s.lines[s.anchorLine()].text, "candidateReplicaIds", "candidates", 1)
	})
	assert.Equal(t, anchor.Renamed, change.Miss.Cause)
	assert.Contains(t, change.Member, "getOutOfSyncReplicas")
	changed := 0
	for _, l := range strings.Split(string(change.Diff), "\n") {
		if (strings.HasPrefix(l, "-") || strings.HasPrefix(l, "+")) && !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "+++") {
			changed++
		}
	}
	assert.Equal(t, 2, changed, "the diff of the method has the changed line and no other:\n%s", change.Diff)

	// A replacement can only go where its fragment is: the changed line, under its new name, which
	// no other release has.
	got := change.Suggest(h, now, others(t, change.Miss.Path, "3.6.2", "4.1.0"))
	require.Len(t, got, 1)
	assert.False(t, got[0].All)
	assert.Equal(t, []string{"3.6.2", "4.1.0"}, got[0].Lacking)
	assert.Zero(t, got[0].Off)
	assert.Contains(t, got[0].YAML("4.4.0"), `releases: ">=4.4.0"`)
	assert.Contains(t, got[0].YAML("4.4.0"), `line: "candidates"`)
	// What is suggested is found, exactly once, in the new source.
	h.Places = []anchor.Place{got[0].Place}
	found, misses := anchor.Locate(change.Miss.Path, now.Text, []anchor.Hook{h}, now.Target)
	require.Empty(t, misses)
	assert.Equal(t, got[0].Line, found[0].Start)
}

func TestAnInsertionIsSuggestedBesideTheLinesThatAllReleasesHave(t *testing.T) {
	target := targetOf(t, "4.3.1")
	all := subjects(t, upstream(t, "4.3.1"), target)
	s := all[slices.IndexFunc(all, func(s *subject) bool { return s.found.Hook == "isr-admission" })]
	c := s.clone()
	c.lines[c.first()].text = strings.Replace(c.lines[c.first()].text, "isReplicaIsrEligible", "mayJoinIsr", 1)
	var h anchor.Hook
	for _, f := range catalog(t).For(target) {
		if i := slices.IndexFunc(f.Hooks, func(h anchor.Hook) bool { return h.ID == "isr-admission" }); i >= 0 {
			h = f.Hooks[i]
		}
	}
	now := drift.Source{Target: target, Text: c.text()}
	_, misses := anchor.Locate(c.path, now.Text, []anchor.Hook{h}, target)
	require.Len(t, misses, 1)
	change := drift.Explain(misses[0], h, drift.Source{Target: target, Text: s.text()}, now)
	got := change.Suggest(h, now, others(t, c.path, "3.6.2", "3.9.2", "4.1.0", "4.2.1"))
	require.NotEmpty(t, got)
	assert.True(t, got[0].All, "%+v", got[0])
	assert.NotContains(t, got[0].YAML("4.3.1"), "releases:")
}

func TestAFileThatUpstreamMovedIsFoundElsewhere(t *testing.T) {
	target := targetOf(t, "4.1.0")
	tree := upstream(t, "4.1.0")
	const old = "metadata/src/main/java/org/apache/kafka/controller/PartitionReassignmentReplicas.java"
	text, err := fs.ReadFile(tree, old)
	require.NoError(t, err)
	i := slices.IndexFunc(catalog(t).For(target), func(f anchor.FileHooks) bool { return f.Path == old })
	h := catalog(t).For(target)[i].Hooks[0]
	const moved = "server/src/main/java/org/apache/kafka/server/Reassignment.java"
	got, err := drift.Elsewhere(fstest.MapFS{moved: {Data: text}, "a/src/main/scala/PartitionReassignmentReplicas.scala": {Data: []byte("x")}, "a/src/test/java/PartitionReassignmentReplicas.java": {Data: text}}, old, h, target)
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "a/src/main/scala/PartitionReassignmentReplicas.scala", got[0])
	assert.Contains(t, got[1], moved+":")
}

func TestADeletedFileIsReportedForEachOfItsHooks(t *testing.T) {
	for _, version := range []string{"3.7.1", "4.1.0"} {
		target := targetOf(t, version)
		for _, f := range catalog(t).For(target) {
			if f.New != nil {
				continue
			}
			misses := anchor.NotThere(f.Path, f.Hooks)
			require.Len(t, misses, len(f.Hooks))
			for _, m := range misses {
				assert.Equal(t, anchor.NoFile, m.Cause)
			}
		}
	}
}
