package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/exit"
)

// watched is a cluster of three brokers with one topic that this broker leads, twenty records, and an inventory whose
// files say that broker 2 is an observer.
func watched(t *testing.T, leader int32) (address, inventory string, files []string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	c := kfake.MustCluster(kfake.NumBrokers(3), kfake.SeedTopics(1, "orders"), kfake.ClusterID("abc"))
	t.Cleanup(c.Close)
	// The fake cluster draws its leaders; one on broker 2, the observer, is a cluster in trouble.
	require.NoError(t, c.MoveTopicPartition("orders", 0, leader))
	address = c.ListenAddrs()[0]
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("orders"))
	require.NoError(t, err)
	defer producer.Close()
	for i := range 20 {
		require.NoError(t, producer.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(i))).FirstErr())
	}
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("cluster: abc\ndefaults: {roles: [broker, controller], transport: {kind: local}}\nnodes:\n")
	for id := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("ids-%d", id))
		require.NoError(t, os.WriteFile(file, []byte("2\n"), 0o644))
		files = append(files, file)
		fmt.Fprintf(&b, "- {id: %d, zone: %q, file: %s}\n", id, "krack", file)
	}
	inventory = filepath.Join(dir, "inventory.yaml")
	require.NoError(t, os.WriteFile(inventory, []byte(b.String()), 0o644))
	return address, inventory, files
}

func TestStatusSaysWhatItSaw(t *testing.T) {
	address, inventory, files := watched(t, 0)
	args := []string{"status", "--bootstrap-server", address, "--inventory", inventory}
	var r struct {
		ClusterID string
		Observers struct {
			IDs     []int32
			Certain bool
		}
		Partitions  struct{ Total, WithObservers int }
		ObserverLag []struct {
			Broker            int32
			CaughtUp, Unknown int
			Max               *int64
		}
		Findings []struct{ Code string }
	}
	read := func() {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(works(t, append(args, "-o", "json")...)), &r))
	}
	read()
	assert.Equal(t, "abc", r.ClusterID)
	assert.Equal(t, []int32{2}, r.Observers.IDs)
	assert.True(t, r.Observers.Certain)
	assert.Equal(t, 1, r.Partitions.Total)
	assert.Equal(t, 1, r.Partitions.WithObservers)
	require.Len(t, r.ObserverLag, 1)
	assert.Equal(t, int32(2), r.ObserverLag[0].Broker)
	require.NotNil(t, r.ObserverLag[0].Max)
	assert.Zero(t, *r.ObserverLag[0].Max)
	assert.Empty(t, r.Findings)

	require.NoError(t, os.WriteFile(files[1], []byte("1\n"), 0o644))
	require.NoError(t, os.Chmod(files[0], 0o666))
	read()
	assert.False(t, r.Observers.Certain)
	require.Len(t, r.Findings, 2)
	assert.Equal(t, "writable", r.Findings[0].Code)
	assert.Equal(t, "differs", r.Findings[1].Code)
	text := works(t, args...)
	assert.Contains(t, text, "NOT CERTAIN")
	assert.Contains(t, text, "node 1 differs")
	code, _, errs := tool(t, t.Context(), append(args, "--exit-code")...)
	assert.Equal(t, exit.Failed, code)
	assert.Contains(t, errs, "something is wrong")
	assert.Contains(t, works(t, append(args, "-o", "yaml")...), "clusterId: abc")
}

// Files that are all missing agree with each other, and say nothing: nodes go on with what they had.
func TestMissingFilesAreNotTakenForNobody(t *testing.T) {
	address, inventory, files := watched(t, 0)
	args := []string{"status", "--bootstrap-server", address, "--inventory", inventory, "--exit-code"}
	works(t, args...)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
	code, text, _ := tool(t, t.Context(), args...)
	assert.Equal(t, exit.Failed, code)
	assert.Contains(t, text, "observers [] (from files, NOT CERTAIN)")
	assert.Contains(t, text, "doubt: nodes [0 1 2] have no identity file")
	assert.Contains(t, text, "node 1 missing: "+files[1]+": there is no such file, 0 of 3 nodes have one")
	// A wrong path is the same as a file that is away; a folder that is not there is no missing file.
	require.NoError(t, os.WriteFile(files[0], []byte("2\n"), 0o644))
	require.NoError(t, os.WriteFile(files[2], []byte("2\n"), 0o644))
	_, text, _ = tool(t, t.Context(), args...)
	assert.Contains(t, text, "node 1 missing: "+files[1]+": there is no such file, 2 of 3 nodes have one")
	assert.Contains(t, text, "doubt: the file of node 1 says []")
	nodes, err := os.ReadFile(inventory)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(inventory, []byte(strings.Replace(string(nodes), files[1], filepath.Dir(files[1])+"/gone/ids", 1)), 0o644))
	_, text, _ = tool(t, t.Context(), args...)
	assert.Contains(t, text, "node 1 unreadable")
	assert.Contains(t, text, "its folder")
}

func TestALeaderOnAnObserverFailsStatus(t *testing.T) {
	address, inventory, _ := watched(t, 2)
	args := []string{"status", "--bootstrap-server", address, "--inventory", inventory}
	works(t, args...)
	code, text, errs := tool(t, t.Context(), append(args, "--exit-code")...)
	assert.Equal(t, exit.Failed, code)
	assert.Contains(t, text, "orders-0")
	assert.Contains(t, errs, "something is wrong")
}

func TestLagNamesEveryReplicasOwnLogEnd(t *testing.T) {
	address, inventory, _ := watched(t, 0)
	var rows []struct {
		Partition                string
		Broker                   int32
		Observer, HoldsCommitted bool
		LogStart, LogEnd, Lag    *int64
		LastEpoch                *int32
	}
	out := works(t, "lag", "--bootstrap-server", address, "--inventory", inventory, "--topic", "orders", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 3)
	for _, r := range rows {
		assert.Equal(t, "orders-0", r.Partition)
		assert.Equal(t, r.Broker == 2, r.Observer)
		require.NotNil(t, r.LogEnd, out)
		assert.EqualValues(t, 20, *r.LogEnd)
		require.NotNil(t, r.LogStart)
		assert.Zero(t, *r.LogStart)
		require.NotNil(t, r.Lag)
		assert.Zero(t, *r.Lag)
		assert.True(t, r.HoldsCommitted)
	}
	code, _, errs := tool(t, t.Context(), "lag", "--bootstrap-server", address, "--topic", "nothing")
	assert.Equal(t, exit.Failed, code)
	assert.Contains(t, errs, "topic nothing")
}

func TestAnotherClusterThanTheOneThatWasMeantIsRefused(t *testing.T) {
	address, inventory, _ := watched(t, 0)
	for _, command := range []string{"status", "lag"} {
		code, out, errs := tool(t, t.Context(), command, "--bootstrap-server", address, "--cluster-id", "xyz")
		assert.Equal(t, exit.Refused, code)
		assert.Contains(t, errs, "names cluster xyz, the brokers say abc")
		assert.Empty(t, out)
		text, err := os.ReadFile(inventory)
		require.NoError(t, err)
		other := filepath.Join(t.TempDir(), "other.yaml")
		require.NoError(t, os.WriteFile(other, []byte(strings.Replace(string(text), "cluster: abc", "cluster: other", 1)), 0o644))
		code, _, errs = tool(t, t.Context(), command, "--bootstrap-server", address, "--inventory", other)
		assert.Equal(t, exit.Refused, code)
		assert.Contains(t, errs, "names cluster other")
	}
	code, _, errs := tool(t, t.Context(), "status")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, errs, "no brokers are named")
	code, _, errs = tool(t, t.Context(), "lag", "--bootstrap-server", address, "--observers-only")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, errs, "needs an inventory")
}
