//go:build mutation

package kerneltest_test

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/patch"
)

const (
	newPartition = "ZkClusterTest#anObserverFetchesANewPartitionAndStaysOutOfTheIsr"
	noWait       = "ZkClusterTest#neitherProducingNorDeletingRecordsWaitsForAnObserver"
	moves        = "ZkClusterTest#observersAreAddedMovedReplacedAndRemoved"
	placed       = "ZkClusterTest#automaticPlacementLeavesObserversOut"
	leak         = "ZkClusterTest#gaugesOfPartitionsGoWithThem"
)

// leftOfCore are the hooks of set full in core and the test that has to notice when one is left out.
// What nobody uses without the hook is made public: the compiler is not to notice it in the test's place.
var leftOfCore = []struct{ hook, test, unused string }{
	{hook: "isr-admission", test: newPartition},
	{hook: "isr-eviction", test: newPartition},
	{hook: "hw-wait", test: noWait},
	{hook: "under-replicated", test: newPartition, unused: "private def observersOutsideIsr"},
	{hook: "delete-records", test: noWait},
	{hook: "read-replica", test: "ZkClusterTest#aConsumerInTheRackOfACaughtUpObserverIsSentThere"},
	{hook: "start", test: "ZkClusterTest#gaugesShowWhatALeaderKnows"},
	{hook: "metrics-partition", test: leak},
	{hook: "metrics-partition-removal", test: leak},
	{hook: "zk-initial-isr", test: "ZkClusterTest#aPartitionWhoseFullMembersAreAllDownWaitsForOneOfThem"},
	{hook: "zk-notify", test: newPartition},
	{hook: "zk-leader", test: "ZkClusterTest#aReplicaThatWasJustMarkedIsNotElected"},
	{hook: "zk-leader-rebalance", test: "ZkClusterTest#noPreferredElectionIsTriedForAnObserver"},
	{hook: "zk-leader-handover", test: "ZkClusterTest#aMarkedLeaderLeadsOnUntilAFullMemberIsBack"},
	{hook: "zk-isr-validation", test: "ZkClusterTest#theControllerRefusesAnObserverThatIsNotYetInTheIsr"},
	{hook: "zk-last-sync", test: "ZkClusterTest#theLastFullMemberLeadsAgainWhenItReturns"},
	{hook: "zk-reassignment", test: moves},
	{hook: "zk-reassignment-start", test: moves},
	{hook: "zk-reassignment-guard", test: "ZkClusterTest#theOldCopiesOfAReassignmentStayWhileNoTargetLeads"},
	{hook: "zk-placement", test: placed},
	{hook: "zk-placement-partitions", test: placed},
}

// TestSomeTestFailsForEveryHookOfCoreThatIsLeftOut compiles the patch once, and for each hook the files
// that have it once more, without it. The tests have to pass with every hook, in the same time.
func TestSomeTestFailsForEveryHookOfCoreThatIsLeftOut(t *testing.T) {
	const version = "3.9.2"
	ctx, cancel := context.WithTimeout(t.Context(), 170*time.Minute)
	defer cancel()
	k, whole, plan := recipe(ctx, t, version)
	modules, err := build.Overlay(ctx, whole)
	require.NoError(t, err)
	k.prepend(t, modules)
	patched := pack(t, k.classPath[0])
	k.env = []string{"KAFKA_OBSERVER_PARTITION_METRICS=true", "PATIENCE_SECONDS=60"}
	k.compileTests(ctx, t, "ids", "zk")
	t.Run("none", func(t *testing.T) {
		var tests []string
		for _, l := range leftOfCore {
			tests = append(tests, l.test)
		}
		slices.Sort(tests)
		report, passed := k.junit(ctx, t, slices.Compact(tests)...)
		require.True(t, passed, report)
	})
	for _, l := range leftOfCore {
		t.Run(l.hook, func(t *testing.T) {
			left := *plan
			left.Tree.Files = slices.Clone(plan.Tree.Files)
			leaveOut(t, &left, l.hook)
			publish(left.Tree.Files, l.unused)
			in := whole
			in.Tree.Files = changed(plan.Tree.Files, left.Tree.Files)
			in.Upstream = nil // the Java classes are those of the release's jar
			in.Classpath = append([]build.Library{{Path: patched}}, in.Classpath...)
			modules, err := build.Overlay(ctx, in)
			require.NoError(t, err)
			without := *k
			without.dir = t.TempDir()
			without.prepend(t, modules)
			report, passed := without.junit(ctx, t, l.test)
			require.False(t, passed, "nothing fails without %s", l.hook)
			require.NotEmpty(t, failures(report), report)
			missed(t, l.hook, version, failures(report))
		})
	}
}

// publish makes a private method public.
func publish(files []patch.File, method string) {
	for i := range files {
		if method != "" {
			files[i].After = bytes.Replace(files[i].After, []byte(method), []byte(strings.TrimPrefix(method, "private ")), 1)
		}
	}
}

// changed gives the files of a tree whose text is not that of another tree's with the same files.
func changed(of, files []patch.File) []patch.File {
	var out []patch.File
	for i, f := range files {
		if !bytes.Equal(f.After, of[i].After) {
			out = append(out, f)
		}
	}
	return out
}

// pack makes a jar of a folder with classes.
func pack(t *testing.T, dir string) string {
	t.Helper()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "patched.jar")
	require.NoError(t, os.WriteFile(name, text.Bytes(), 0o644))
	return name
}
