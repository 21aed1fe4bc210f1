package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnreadableIdentityFileIsReplacedByAReadableOne(t *testing.T) {
	n := &Node{ID: 1, Dir: t.TempDir()}
	require.NoError(t, n.WriteIDs([]int32{4}))
	require.NoError(t, os.Chmod(n.IDsPath(), 0))
	require.NoError(t, n.WriteIDs([]int32{4, 5}))
	info, err := os.Stat(n.IDsPath())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	has, err := n.HasIDs([]int32{4, 5})
	require.NoError(t, err)
	require.True(t, has)
	has, err = n.HasIDs([]int32{4})
	require.NoError(t, err)
	require.False(t, has)
}

func TestOnlyLinesAfterTheMarkCount(t *testing.T) {
	n := &Node{ID: 1, Dir: t.TempDir()}
	end, err := n.LogEnd()
	require.NoError(t, err)
	require.Zero(t, end, "no log yet")
	require.NoError(t, os.WriteFile(filepath.Join(n.Dir, "node.log"), []byte("old word\n"), 0o644))
	end, err = n.LogEnd()
	require.NoError(t, err)
	_, err = n.FindLine(end, "word")
	require.ErrorIs(t, err, ErrNoLine)
	line, err := n.FindLine(0, "word")
	require.NoError(t, err)
	require.Equal(t, "old word", line)
	require.NoError(t, os.WriteFile(filepath.Join(n.Dir, "node.log"), []byte("old word\nhalf a wor"), 0o644))
	_, err = n.FindLine(end, "half")
	require.ErrorIs(t, err, ErrNoLine, "a line without an end is still being written")
}

func TestPortsAreTakenOnce(t *testing.T) {
	p, err := newPorts()
	require.NoError(t, err)
	defer p.release()
	q, err := newPorts()
	require.NoError(t, err)
	defer q.release()
	seen := map[int]bool{}
	for range 50 {
		for _, from := range []*ports{p, q} {
			port, err := from.take()
			require.NoError(t, err)
			require.False(t, seen[port], "port %d twice", port)
			seen[port] = true
		}
	}
}
