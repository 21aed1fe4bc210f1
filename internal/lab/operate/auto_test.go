//go:build cluster

package operate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/promoter"
)

// The bounds with a scan every 10 s, from the moment the partition is under its minimum, and from
// the moment its ISR is whole again.
const (
	promoteBound = 14 * time.Second
	demoteBound  = 31 * time.Second
)

// begin runs auto until stop is called, which gives its exit code.
func (r *rig) begin(audit string, args ...string) (stop func() int) {
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan int, 1)
	go func() {
		env := &cli.Env{Out: io.Discard, Err: r.t.Output(), Data: observerpatch.Data(), Version: "cluster test"}
		done <- cli.Run(ctx, env, append(append([]string{"auto", "--audit-log", audit}, args...), r.args...))
	}()
	return func() int {
		cancel()
		return <-done
	}
}

// event waits for the first audit line of the event after the time.
func (r *rig) event(audit, event string, after time.Time) promoter.AuditLine {
	r.t.Helper()
	var found promoter.AuditLine
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, event+" is in the audit log", func(context.Context) error {
		text, err := os.ReadFile(audit)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var l promoter.AuditLine
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				return err
			}
			if l.Event == event && l.Time.After(after) {
				found = l
				return nil
			}
		}
		return errors.New("not yet")
	}))
	return found
}

// seen waits until every partition of the topic has an ISR that cond wants and gives the time.
func (r *rig) seen(topic, what string, cond func(isr []int32) bool) time.Time {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, what, func(ctx context.Context) error {
		v, err := probe.Metadata(ctx, r.cluster, topic)
		if err != nil {
			return err
		}
		for _, p := range v.Partitions {
			if !cond(p.ISR) {
				return fmt.Errorf("%s-%d: leader %d, ISR %v", p.Topic, p.ID, p.Leader, p.ISR)
			}
		}
		return nil
	}))
	return time.Now()
}

// freeAddr gives an address of this machine that nobody listens on.
func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// locked waits until the instance with these metrics holds the lock: taking it writes to a topic
// that the fault would stop.
func (r *rig) locked(metrics string) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, "auto holds the lock", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metrics+"/metrics", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("observer_patch_auto_lock_held 1\n")) {
			return errors.New("not yet")
		}
		return nil
	}))
}

func TestAutoPromotesAndDemotes(t *testing.T) {
	r := start(t, usual())
	r.topic("t", []int32{1, 2, 3, 4}, []int32{1, 3, 2, 4})
	r.produce("t", 1000)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	metrics := freeAddr(t)
	stop := r.begin(audit, "--enable", "--interval", "10s", "--metrics-listen", metrics)
	r.locked(metrics)
	// A second instance on another machine (another state folder) finds the lock taken.
	second := filepath.Join(t.TempDir(), "second.jsonl")
	other := rig{t: t, ctx: r.ctx, cluster: r.cluster, args: append(r.args[:len(r.args)-1:len(r.args)-1], t.TempDir())}
	stopOther := other.begin(second, "--enable", "--interval", "10s")

	killed := time.Now()
	for _, id := range []int32{2, 3} {
		require.NoError(t, r.cluster.Node(id).Kill())
	}
	under := r.seen("t", "the ISR is 1 alone", func(isr []int32) bool { return len(isr) == 1 })
	ok := r.event(audit, promoter.AuditPromote, killed)
	require.Equal(t, int32(4), ok.Broker)
	r.took("auto: PROMOTE-OK after the partitions fell under their minimum, scanning every 10 s", ok.Time.Sub(under), promoteBound)
	r.took("auto: PROMOTE-OK after kill -9 of two sync replicas", ok.Time.Sub(killed), 0)
	r.until("4 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	r.produce("t", 100)

	for _, id := range []int32{2, 3} {
		require.NoError(t, r.cluster.Restart(r.ctx, id))
	}
	whole := r.seen("t", "2 and 3 are back in the ISR", func(isr []int32) bool { return has(isr, 2) && has(isr, 3) })
	ok = r.event(audit, promoter.AuditDemote, whole.Add(-time.Second))
	r.took("auto: DEMOTE-OK after the ISR was whole", ok.Time.Sub(whole), demoteBound)
	r.until("4 is an observer again", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) })

	require.Equal(t, exit.Done, stop())
	require.Equal(t, exit.Done, stopOther())
	text, err := os.ReadFile(second)
	require.NoError(t, err)
	require.Contains(t, string(text), promoter.SkipNoLock)
	require.NotContains(t, string(text), promoter.AuditBegin)
	r.saw("a second instance with a state folder of its own does nothing", "no-lock in its audit log, no action")
}
