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
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/promoter"
)

// instance is auto in a process of its own.
type instance struct {
	*process
	audit   string
	metrics string
	// prefix are the words before its program: they lead to where its metrics are served.
	prefix []string
}

// auto starts an instance with the state folder, and whatever words come before the program.
func (r *rig) auto(state string, prefix []string, args ...string) *instance {
	r.t.Helper()
	i := &instance{audit: filepath.Join(state, "audit.jsonl"), metrics: freeAddr(r.t), prefix: prefix}
	own := r.args[: len(r.args)-1 : len(r.args)-1]
	args = append([]string{"auto", "--enable", "--interval", "10s", "--audit-log", i.audit, "--metrics-listen", i.metrics}, args...)
	i.process = r.spawnAlone(prefix, append(append(args, own...), state)...)
	return i
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

// scrape reads the instance's metrics, in its own network.
func (i *instance) scrape(ctx context.Context) ([]byte, error) {
	if len(i.prefix) > 0 {
		host, port, err := net.SplitHostPort(i.metrics)
		if err != nil {
			return nil, err
		}
		get := fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3`, host, port)
		line := append(slices.Clone(i.prefix), "bash", "-c", get)
		return exec.CommandContext(ctx, line[0], line[1:]...).Output()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// gauge gives a figure of the instance's metrics.
func (i *instance) gauge(ctx context.Context, name string) (int, error) {
	text, err := i.scrape(ctx)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "observer_patch_auto_"+name+" "); ok {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, fmt.Errorf("no %s in the metrics", name)
}

// locked waits until the instance holds the lock.
func (r *rig) locked(i *instance) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, "auto holds the lock", func(ctx context.Context) error {
		held, err := i.gauge(ctx, "lock_held")
		if err == nil && held == 0 {
			err = errors.New("not yet")
		}
		return err
	}))
}

const scans = `scans_total{outcome="ok"}`

// scanned waits until the instance has begun and ended another n scans.
func (r *rig) scanned(i *instance, n int) {
	r.t.Helper()
	first := -1
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, "auto scans", func(ctx context.Context) error {
		now, err := i.gauge(ctx, scans)
		if err != nil {
			return err
		}
		if first < 0 {
			first = now
		}
		if now <= first+n { // the first of them may have begun before
			return fmt.Errorf("%d scans, %d at first", now, first)
		}
		return nil
	}))
}

// lines gives the audit lines of the event.
func (r *rig) lines(audit, event string) []promoter.AuditLine {
	r.t.Helper()
	text, err := os.ReadFile(audit)
	require.NoError(r.t, err)
	var out []promoter.AuditLine
	for line := range bytes.Lines(text) {
		var l promoter.AuditLine
		require.NoError(r.t, json.Unmarshal(line, &l))
		if l.Event == event {
			out = append(out, l)
		}
	}
	return out
}

// commitLimit is how long a commit of busy may take.
const commitLimit = 500 * time.Millisecond

// busy has another group commit offsets to the only partition of __consumer_offsets all the time, as
// consumers do. It gives how many commits there were, and how many of them failed.
func (r *rig) busy() (counts func() (int64, int64)) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...))
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	var all, failed atomic.Int64
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			one, end := context.WithTimeout(ctx, commitLimit)
			offsets := kadm.Offsets{}
			offsets.AddOffset("t", 0, 1, -1)
			resp, err := kadm.NewClient(cl).CommitOffsets(one, "consumers", offsets)
			end()
			all.Add(1)
			if err != nil || resp.Error() != nil {
				failed.Add(1)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	r.t.Cleanup(func() { cancel(); <-done; cl.Close() })
	return func() (int64, int64) { return all.Load(), failed.Load() }
}

// coordinator gives the broker that coordinates the group of auto's lock.
func (r *rig) coordinator() int32 {
	r.t.Helper()
	admin, err := r.cluster.Admin()
	require.NoError(r.t, err)
	c := admin.FindGroupCoordinators(r.ctx, "observer-patch-auto")["observer-patch-auto"]
	require.NoError(r.t, c.Err)
	return c.NodeID
}

// fall kills the coordinator of the lock and one other of brokers 1 to 3, and gives their ids, when
// they were killed, and when the topic was seen to be under its minimum.
func (r *rig) fall(topic string) (dead []int32, killed, under time.Time) {
	r.t.Helper()
	dead = []int32{r.coordinator()}
	dead = append(dead, dead[0]%3+1)
	killed = time.Now()
	for _, id := range dead {
		require.NoError(r.t, r.cluster.Node(id).Kill())
	}
	under = r.seen(topic, "one sync replica is left", func(isr []int32) bool { return len(isr) == 1 })
	r.until("__consumer_offsets is under its minimum", "__consumer_offsets", func(_ int32, isr []int32) bool { return len(isr) == 1 })
	return dead, killed, under
}

// recover starts them again and gives when the ISR was whole.
func (r *rig) recover(topic string, dead []int32) time.Time {
	r.t.Helper()
	for _, id := range dead {
		require.NoError(r.t, r.cluster.Restart(r.ctx, id))
	}
	return r.seen(topic, "all are back in the ISR", func(isr []int32) bool { return has(isr, 1) && has(isr, 2) && has(isr, 3) })
}

// crowded is usual with one partition for all groups: whatever any of them writes is in the lock's
// way.
func crowded(properties map[string]string) cluster.Spec {
	s := usual()
	s.Properties = map[string]string{"offsets.topic.num.partitions": "1"}
	maps.Copy(s.Properties, properties)
	return s
}

// rule waits for the first SKIP by the rule after the time.
func (r *rig) rule(audit, rule string, after time.Time) (found promoter.AuditLine) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, "auto skips by "+rule, func(context.Context) error {
		for _, l := range r.lines(audit, promoter.AuditSkip) {
			if l.Rule == rule && l.Time.After(after) {
				found = l
				return nil
			}
		}
		return errors.New("not yet")
	}))
	return found
}
