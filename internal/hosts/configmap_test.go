package hosts_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/hosts"
)

// kubectl stands in for the real one: it keeps one object in a file, and takes a replacement only
// when the resource version is that of the object.
const kubectl = `#!/bin/sh
set -eu
case "$2" in
get) cat "$STORE" ;;
replace)
  new=$(cat)
  have=$(sed -n 's/.*"resourceVersion":"\([0-9]*\)".*/\1/p' "$STORE")
  case "$new" in *"\"resourceVersion\":\"$have\""*) ;; *) echo "the object has been modified" >&2; exit 1 ;; esac
  printf "%s" "$new" | sed "s/\"resourceVersion\":\"$have\"/\"resourceVersion\":\"$((have + 1))\"/" > "$STORE" ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`

// mounts is a ConfigMap and the folders in which it is mounted.
type mounts struct {
	store, dir string
}

func kubernetes(t *testing.T) *mounts {
	t.Helper()
	m := &mounts{dir: t.TempDir()}
	m.store = filepath.Join(m.dir, "object.json")
	write(t, m.store, `{"kind":"ConfigMap","metadata":{"name":"ids","resourceVersion":"7"},"data":{"observer.ids":"4\n","other":"kept"}}`)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, "kubectl"), []byte(kubectl), 0o755))
	t.Setenv("STORE", m.store)
	return m
}

// mount makes the mounted file of a pod, a link through a link as the kubelet makes it.
func (m *mounts) mount(t *testing.T, id int32, text string) hosts.Node {
	t.Helper()
	pod := filepath.Join(m.dir, "pod-"+itoa(int(id)))
	require.NoError(t, os.MkdirAll(pod, 0o755))
	m.update(t, id, text)
	n := hosts.Node{ID: id, Roles: []hosts.Role{hosts.Broker}, File: filepath.Join(pod, "observer.ids"), Transport: hosts.TransportSpec{Kind: hosts.ConfigMap,
		Namespace: "kafka", Name: "ids", Item: "observer.ids", Kubectl: []string{filepath.Join(m.dir, "kubectl")}, Run: []string{"env"}}}
	return n
}

// update swaps the mounted folder, as the kubelet does.
func (m *mounts) update(t *testing.T, id int32, text string) {
	t.Helper()
	pod := filepath.Join(m.dir, "pod-"+itoa(int(id)))
	version, err := os.MkdirTemp(pod, "..version")
	require.NoError(t, err)
	write(t, filepath.Join(version, "observer.ids"), text)
	tmp := filepath.Join(pod, "..data_tmp")
	require.NoError(t, os.Symlink(filepath.Base(version), tmp))
	require.NoError(t, os.Rename(tmp, filepath.Join(pod, "..data")))
	if _, err := os.Lstat(filepath.Join(pod, "observer.ids")); err != nil {
		require.NoError(t, os.Symlink("..data/observer.ids", filepath.Join(pod, "observer.ids")))
	}
}

func TestAConfigMapIsWrittenOnceForAllItsNodes(t *testing.T) {
	m := kubernetes(t)
	one, two := open(t, m.mount(t, 1, "4\n")), open(t, m.mount(t, 2, "4\n"))
	ctx := t.Context()
	f, err := one.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, "4\n", string(f.Content))
	undo, err := one.Write(ctx, []byte("5\n"), f)
	require.NoError(t, err)
	again, err := two.Write(ctx, []byte("5\n"), f)
	require.NoError(t, err)
	assert.Nil(t, again.Wrote, "it says so already")
	text, err := os.ReadFile(m.store)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"other":"kept"`)
	assert.Contains(t, string(text), `"resourceVersion":"8"`)
	_, err = two.Write(ctx, []byte("6\n"), f)
	require.ErrorIs(t, err, hosts.ErrChanged)
	require.NoError(t, one.Rollback(ctx, undo))
	f, err = two.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, "4\n", string(f.Content))
}

func TestItIsWaitedUntilEveryNodeHasReadTheList(t *testing.T) {
	m := kubernetes(t)
	var gauges atomic.Value
	gauges.Store("kafka_observer_ids_file_state 1.0\nkafka_observer_ids_hash 0.0\n")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(gauges.Load().(string))) }))
	defer exporter.Close()
	third := m.mount(t, 3, "5\n")
	third.Metrics = exporter.URL
	nodes := []*hosts.Transport{open(t, m.mount(t, 1, "4\n")), open(t, m.mount(t, 2, "5\n")), open(t, third)}

	var told [][]hosts.Waiting
	left := hosts.Await(t.Context(), nodes, []byte("5\n"), time.Millisecond, func(w []hosts.Waiting) {
		told = append(told, w)
		switch len(told) {
		case 1:
			m.update(t, 1, "5\n")
		case 2:
			gauges.Store("kafka_observer_ids_file_state 1.0\nkafka_observer_ids_hash 36.0\n") // 31 + 5
		}
	})
	assert.Empty(t, left)
	require.Len(t, told, 2)
	assert.Equal(t, []int32{1, 3}, []int32{told[0][0].Node, told[0][1].Node})
	assert.Contains(t, told[0][0].Cause, "another one still")
	assert.Contains(t, told[1][0].Cause, "has not read the list")

	gauges.Store("kafka_observer_ids_file_state 2.0\nkafka_observer_ids_hash 36.0\n")
	ctx, cancel := context.WithCancel(t.Context())
	left = hosts.Await(ctx, nodes, []byte("5\n"), time.Millisecond, func([]hosts.Waiting) { cancel() })
	require.Len(t, left, 1)
	assert.Equal(t, int32(3), left[0].Node)
	assert.Contains(t, left[0].Cause, "cannot use its file")
}

func TestASubPathMountIsFoundOut(t *testing.T) {
	m := kubernetes(t)
	n := m.mount(t, 1, "5\n")
	require.NoError(t, os.Remove(n.File))
	write(t, n.File, "4\n")
	ctx, cancel := context.WithCancel(t.Context())
	left := hosts.Await(ctx, []*hosts.Transport{open(t, n)}, []byte("5\n"), time.Millisecond, func([]hosts.Waiting) { cancel() })
	require.Len(t, left, 1)
	assert.True(t, strings.Contains(left[0].Cause, "subPath"), left[0].Cause)
}
