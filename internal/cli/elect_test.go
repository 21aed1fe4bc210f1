package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/exit"
)

// A partition that is not known may be leaderless: it is not left out without a word.
func TestAnElectionIsRefusedWhereAPartitionIsNotKnown(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"), kfake.ClusterID("abc"))
	t.Cleanup(c.Close)
	dir := t.TempDir()
	ids, inventory := filepath.Join(dir, "ids"), filepath.Join(dir, "inventory.yaml")
	require.NoError(t, os.WriteFile(ids, []byte("4\n"), 0o644))
	require.NoError(t, os.WriteFile(inventory, []byte("nodes: [{id: 0, roles: [broker, controller], file: "+ids+", transport: {kind: local}}]\n"), 0o644))
	args := []string{"elect", "preferred", "--bootstrap-server", c.ListenAddrs()[0], "--inventory", inventory, "--state-dir", dir}
	works(t, args...)
	c.ControlKey(int16(kmsg.ListPartitionReassignments), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := r.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil, true
	})
	code, _, errs := tool(t, t.Context(), args...)
	assert.Equal(t, exit.Refused, code)
	assert.Contains(t, errs, "orders-0: its state is not known: whether a reassignment is running is not known")
}
