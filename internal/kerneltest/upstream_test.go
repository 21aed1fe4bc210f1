//go:build upstream

package kerneltest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/release"
)

// upstreamClasses are upstream's own tests of what the hooks of the metadata module touch.
var upstreamClasses = []string{
	"PartitionChangeBuilderTest", "PartitionReassignmentReplicasTest", "PartitionReassignmentRevertTest",
	"ReplicationControlManagerTest", "ClusterControlManagerTest",
}

func TestUpstreamsOwnTestsSeeNoDifferenceWhileThereIsNoFile(t *testing.T) {
	for _, version := range withTestJars {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			k := newKernel(ctx, t, version, release.Full)
			report, passed := k.junit(ctx, t, upstreamClasses...)
			require.True(t, passed, report)
			k.classPath = k.classPath[1:] // the release's own classes
			own, passed := k.junit(ctx, t, upstreamClasses...)
			require.True(t, passed, own)
			require.Greater(t, len(results(own)), 100, "the release's own tests were not found")
			require.Equal(t, results(own), results(report))
		})
	}
}

// upstreamCoreClasses are upstream's own tests of what the hooks of core touch.
var upstreamCoreClasses = []string{"kafka.cluster.PartitionTest", "kafka.server.IsrExpirationTest", "kafka.server.AlterPartitionManagerTest", "kafka.server.ReplicaManagerTest"}

// upstreamZkClasses are those of the ZooKeeper controller.
var upstreamZkClasses = []string{
	"kafka.controller.PartitionStateMachineTest", "kafka.controller.ReplicaStateMachineTest",
	"kafka.controller.PartitionLeaderElectionAlgorithmsTest", "kafka.controller.ControllerIntegrationTest",
}

func TestUpstreamsOwnTestsOfCoreSeeNoDifferenceWhileThereIsNoFile(t *testing.T) {
	for _, version := range withTestJars {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
			defer cancel()
			classes := upstreamCoreClasses
			if version[0] == '3' {
				classes = append(slices.Clone(classes), upstreamZkClasses...)
			}
			k := newCore(ctx, t, version, "")
			report, passed := k.junit(ctx, t, classes...)
			patched := results(report)
			k.classPath = k.classPath[1:] // the release's own classes
			own, ownPassed := k.junit(ctx, t, classes...)
			require.Greater(t, len(results(own)), 100, "the release's own tests were not found")
			require.Equal(t, results(own), patched)
			require.Equal(t, ownPassed, passed)
		})
	}
}
