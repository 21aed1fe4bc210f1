package hosts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/hosts"
)

func changes(t *testing.T, path string) []hosts.Change {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []hosts.Change
	for line := range bytes.Lines(text) {
		var c hosts.Change
		if json.Unmarshal(line, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

func TestEveryChangeIsInTheJournalBeforeAndAfterItIsMade(t *testing.T) {
	dir := t.TempDir()
	file, path := filepath.Join(dir, "observer.ids"), filepath.Join(dir, "state", "changes.jsonl")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j, err := hosts.OpenJournal(path, "ann", "desk", func() time.Time { return at })
	require.NoError(t, err)
	n := hosts.Node{ID: 3, File: file, Transport: hosts.TransportSpec{Kind: hosts.Local}}
	w, err := hosts.Open(t.Context(), n, hosts.Options{Journal: j, ClusterID: "abc", Why: "demote 4"})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []byte("4\n"), hosts.File{})
	require.NoError(t, err)
	begun := hosts.Change{Time: at, Who: "ann", Machine: "desk", Why: "demote 4", Cluster: "abc", Node: 3, File: file, Step: "begun", After: "4\n"}
	done := begun
	done.Step = "done"
	assert.Equal(t, []hosts.Change{begun, done}, changes(t, path))

	_, err = w.Write(t.Context(), []byte("4\n"), hosts.File{})
	require.NoError(t, err, "it says so already")
	assert.Len(t, changes(t, path), 2)

	_, err = w.Write(t.Context(), []byte("5\n"), hosts.File{})
	require.ErrorIs(t, err, hosts.ErrChanged)
	all := changes(t, path)
	require.Len(t, all, 4)
	assert.Equal(t, "failed", all[3].Step)
	assert.Contains(t, all[3].Error, "changed by somebody else")
}

func TestWhatCannotBeRecordedIsNotChanged(t *testing.T) {
	dir := t.TempDir()
	file, path := filepath.Join(dir, "observer.ids"), filepath.Join(dir, "changes.jsonl")
	j, err := hosts.OpenJournal(path, "ann", "desk", time.Now)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o755))
	w, err := hosts.Open(t.Context(), hosts.Node{ID: 3, File: file, Transport: hosts.TransportSpec{Kind: hosts.Local}}, hosts.Options{Journal: j})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []byte("4\n"), hosts.File{})
	require.ErrorContains(t, err, "nothing was changed")
	assert.NoFileExists(t, file)
}

func TestLinesOfTheJournalStayWholeWhenRunsMeet(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "changes.jsonl")
	write(t, path, `{"who":"half a li`) // a run was killed here
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			j, err := hosts.OpenJournal(path, "ann", "desk", time.Now)
			if !assert.NoError(t, err) {
				return
			}
			file := filepath.Join(dir, itoa(i))
			w, err := hosts.Open(t.Context(), hosts.Node{ID: int32(i), File: file, Transport: hosts.TransportSpec{Kind: hosts.Local}}, hosts.Options{Journal: j})
			assert.NoError(t, err)
			_, err = w.Write(t.Context(), bytes.Repeat([]byte("4 "), 2000), hosts.File{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	assert.Len(t, changes(t, path), 16)
}
