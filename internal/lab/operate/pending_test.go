//go:build cluster

package operate

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
)

// S20: a broker and a controller are away while 4 is promoted, and come back with the old list.
func TestNodesThatWereAwayGetTheListWhenTheyReturn(t *testing.T) {
	r := start(t, usual())
	r.topic("t", []int32{1, 2, 3, 4})
	r.produce("t", 100)
	for _, id := range []int32{3, 103} {
		require.NoError(t, r.cluster.Node(id).Kill())
	}
	r.until("3 is fenced", "t", func(_ int32, isr []int32) bool { return !has(isr, 3) })
	// Their machines are away too: nothing reaches their files.
	inventory := r.args[3]
	text, err := os.ReadFile(inventory)
	require.NoError(t, err)
	away := string(text)
	for _, id := range []int32{3, 103} {
		path := r.cluster.Node(id).IDsPath()
		require.Contains(t, away, path+"}")
		away = strings.ReplaceAll(away, path+"}", path+", transport: {kind: command, run: [/bin/false]}}")
	}
	require.NoError(t, os.WriteFile(inventory, []byte(away), 0o644))
	row := r.rows(exit.Done, "promote", "4", "--yes")[0]
	require.ElementsMatch(t, []any{3.0, 103.0}, row["pending"])
	require.Equal(t, []string{"4"}, r.ids(3))
	require.Len(t, r.rows(exit.Done, "pending"), 1)
	r.saw("a broker and a controller that are away do not stop a promotion", "done with the rest, 3 and 103 pending, kept for a later command")

	require.NoError(t, os.WriteFile(inventory, text, 0o644))
	require.Empty(t, r.rows(exit.Done, "pending", "--finish", "--yes"))
	require.Empty(t, r.ids(3))
	require.Empty(t, r.ids(103))
	for _, id := range []int32{103, 3} {
		require.NoError(t, r.cluster.Restart(r.ctx, id))
	}
	r.until("all are in the ISR", "t", func(_ int32, isr []int32) bool { return len(isr) == 4 })
	r.saw("pending --finish writes the files of those that came back", "both files empty, all four replicas in the ISR")
}
