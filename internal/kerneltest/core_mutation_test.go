//go:build mutation

package kerneltest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leftOfCore are the hooks of set full in core and the test class that has to notice when one is left out.
var leftOfCore = []struct{ hook, class string }{
	{"isr-admission", "ZkClusterTest"},
	{"isr-eviction", "ZkClusterTest"},
	{"hw-wait", "ZkClusterTest"},
	{"under-replicated", "ZkClusterTest"},
	{"delete-records", "ZkClusterTest"},
	{"read-replica", "ZkClusterTest"},
	{"start", "ZkClusterTest"},
	{"metrics-partition", "ZkClusterTest"},
	{"metrics-partition-removal", "ZkClusterTest"},
	{"zk-initial-isr", "ZkClusterTest"},
	{"zk-notify", "ZkClusterTest"},
	{"zk-leader", "ZkElectionTableTest"},
	{"zk-leader-rebalance", "ZkClusterTest"},
	{"zk-leader-handover", "ZkClusterTest"},
	{"zk-isr-validation", "ZkClusterTest"},
	{"zk-last-sync", "ZkClusterTest"},
	{"zk-reassignment", "ZkClusterTest"},
	{"zk-reassignment-start", "ZkClusterTest"},
	{"zk-reassignment-guard", "ZkClusterTest"},
	{"zk-placement", "ZkClusterTest"},
	{"zk-placement-partitions", "ZkClusterTest"},
}

func TestSomeTestFailsForEveryHookOfCoreThatIsLeftOut(t *testing.T) {
	for _, l := range leftOfCore {
		t.Run(l.hook, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
			defer cancel()
			k := newCore(ctx, t, "3.9.2", l.hook)
			k.env = []string{"KAFKA_OBSERVER_PARTITION_METRICS=true"}
			k.compileTests(ctx, t, "ids", "zk")
			report, passed := k.junit(ctx, t, l.class)
			require.False(t, passed, "nothing fails without %s", l.hook)
			require.NotEmpty(t, failures(report), report)
			t.Logf("without %s: %s", l.hook, strings.Join(failures(report), ", "))
		})
	}
}
