package hosts_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// object gives the stored object as text.
func (m *mounts) object(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(m.store)
	require.NoError(t, err)
	return string(text)
}

// kubelet mounts what is stored, in one pod after the other, until the test ends.
func (m *mounts) kubelet(t *testing.T, pods ...int32) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		last := ""
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			var o struct{ Data map[string]string }
			if text := m.object(t); text != last && json.Unmarshal([]byte(text), &o) == nil {
				last = text
				for _, id := range pods {
					m.update(t, id, o.Data["observer.ids"])
				}
			}
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
}

func TestAConfigMapIsWrittenOnceForAllItsNodes(t *testing.T) {
	m := kubernetes(t)
	one, two := open(t, m.mount(t, 1, "4\n")), open(t, m.mount(t, 2, "4\n"))
	m.kubelet(t, 1, 2)
	ctx := t.Context()
	f, err := one.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, "4\n", string(f.Content))
	undo, err := one.Write(ctx, []byte("5\n"), f)
	require.NoError(t, err)
	_, err = two.Write(ctx, []byte("5\n"), f)
	require.NoError(t, err)
	assert.Contains(t, m.object(t), `"other":"kept"`)
	assert.Contains(t, m.object(t), `"resourceVersion":"8"`, "written once")
	_, err = two.Write(ctx, []byte("6\n"), f)
	require.ErrorIs(t, err, hosts.ErrChanged)
	require.NoError(t, one.Rollback(ctx, undo))
	assert.Contains(t, m.object(t), `"observer.ids":"4\n"`)
	require.NoError(t, two.Rollback(ctx, undo), "it is back already")
	assert.Contains(t, m.object(t), `"resourceVersion":"9"`)
}

func TestAWriteOfAConfigMapIsOverWhenTheNodeHasReadIt(t *testing.T) {
	m := kubernetes(t)
	var gauges atomic.Value
	gauges.Store("kafka_observer_ids_file_state 1.0\nkafka_observer_ids_hash 0.0\n")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(gauges.Load().(string))) }))
	defer exporter.Close()
	late, told := open(t, m.mount(t, 1, "4\n")), m.mount(t, 2, "4\n")
	told.Metrics = exporter.URL
	gauged := open(t, told)
	m.kubelet(t, 2) // none comes to node 1
	before, err := late.Read(t.Context())
	require.NoError(t, err)
	briefly := func(w *hosts.Transport, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := w.Write(ctx, []byte("5\n"), before)
		require.ErrorContains(t, err, "has not read it in time")
		require.ErrorContains(t, err, want)
	}
	briefly(late, "another one still")
	m.update(t, 1, "5\n")
	_, err = late.Write(t.Context(), []byte("5\n"), before)
	require.NoError(t, err)

	briefly(gauged, "the node has not read the list")
	gauges.Store("kafka_observer_ids_file_state 2.0\nkafka_observer_ids_hash 36.0\n")
	briefly(gauged, "cannot use its file")
	gauges.Store("kafka_observer_ids_file_state 1.0\nkafka_observer_ids_hash 36.0\n") // 31 + 5
	_, err = gauged.Write(t.Context(), []byte("5\n"), before)
	require.NoError(t, err)
}

// The node has not read it in time, and would later.
func TestAWriteOfAConfigMapThatIsGivenUpIsPutBack(t *testing.T) {
	m := kubernetes(t)
	late := open(t, m.mount(t, 1, "4\n"))
	before, err := late.Read(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	undo, err := late.Write(ctx, []byte("5\n"), before)
	require.ErrorContains(t, err, "has not read it in time")
	require.Contains(t, m.object(t), `"observer.ids":"5\n"`)
	require.Equal(t, "5\n", string(undo.Wrote), "or nobody would put it back")
	require.NoError(t, late.Rollback(t.Context(), undo))
	require.Contains(t, m.object(t), `"observer.ids":"4\n"`)
	require.NoError(t, late.Rollback(t.Context(), undo), "it is back already")
}

func TestASubPathMountIsFoundOut(t *testing.T) {
	m := kubernetes(t)
	n := m.mount(t, 1, "4\n")
	require.NoError(t, os.Remove(n.File))
	write(t, n.File, "4\n")
	_, err := open(t, n).Read(t.Context())
	assert.ErrorContains(t, err, "subPath")
}
