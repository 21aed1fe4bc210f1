//go:build cluster

// Package operate drives the operators' commands against a real cluster of jars just built: what
// they say has to be what the cluster then does.
package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

const (
	version = "4.1.0"
	// limit bounds the whole test on a machine with two busy cores.
	limit = 12 * time.Minute
)

// bundleVariable names a folder with bundles that were built before; without it one is built.
const bundleVariable = "OBSERVER_PATCH_TEST_DIST"

// rig is a running cluster with an inventory and a state folder.
type rig struct {
	t       *testing.T
	ctx     context.Context
	cluster *cluster.Cluster
	args    []string
	state   string
	part    *part
}

// tool runs the command line and gives its exit code, results and messages.
func tool(t *testing.T, ctx context.Context, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Out: &out, Err: io.MultiWriter(&errs, t.Output()), Data: observerpatch.Data(), Version: "cluster test"}
	code := cli.Run(ctx, env, args)
	return code, out.String(), errs.String()
}

// run runs an operator's command against the cluster and wants its exit code.
func (r *rig) run(code int, args ...string) (string, string) {
	r.t.Helper()
	got, out, errs := tool(r.t, r.ctx, append(args, r.args...)...)
	require.Equal(r.t, code, got, "observer-patch %v\n%s%s", args, out, errs)
	return out, errs
}

// rows runs a command with -o json.
func (r *rig) rows(code int, args ...string) []map[string]any {
	r.t.Helper()
	out, _ := r.run(code, append(args, "-o", "json")...)
	var rows []map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(out), &rows))
	return rows
}

// start runs a cluster of the spec, which says how many nodes there are and who is an observer.
func start(t *testing.T, spec cluster.Spec) *rig {
	t.Helper()
	return startFor(t, spec, limit)
}

// startFor is start for a test that takes another time.
func startFor(t *testing.T, spec cluster.Spec, limit time.Duration) *rig {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	spec.Mode = release.KRaft
	spec.Classpath, spec.Java = patched(t, ctx)
	c, err := cluster.Start(ctx, spec, t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	r := &rig{t: t, ctx: ctx, cluster: c, state: t.TempDir(), part: report(t)}
	r.args = []string{"--bootstrap-server", strings.Join(c.Addrs(), ","), "--inventory", r.inventory(), "--state-dir", r.state}
	return r
}

// usual is the recommended layout: three sync brokers, an observer, three controllers.
func usual() cluster.Spec {
	return cluster.Spec{Brokers: 4, Controllers: 3, Observers: []int32{4}}
}

// in gives the rig for a part of the test.
func (r *rig) in(t *testing.T) *rig {
	part := *r
	part.t = t
	return &part
}

// patched gives the class path with the changed jars, and the java program.
func patched(t *testing.T, ctx context.Context) (classpath []string, java string) {
	t.Helper()
	dist := os.Getenv(bundleVariable)
	if dist == "" {
		dist = t.TempDir()
		code, _, errs := tool(t, ctx, "build", "--version", version, "--mode", "kraft", "--out", dist)
		require.Equal(t, exit.Done, code, errs)
	}
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	classpath, _, err := campaign.Overlay(upstream, filepath.Join(dist, version+"-kraft"))
	require.NoError(t, err)
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	return classpath, jdk.Tool("java")
}

// inventory writes the nodes' inventory: every file is one of this machine.
func (r *rig) inventory() string {
	var b strings.Builder
	b.WriteString("defaults:\n  transport: {kind: local}\nnodes:\n")
	for _, n := range r.cluster.Nodes {
		roles := "broker"
		if n.IsController() {
			roles = "controller"
		}
		require.NoError(r.t, os.MkdirAll(n.Dir, 0o755))
		fmt.Fprintf(&b, "- {id: %d, roles: [%s], file: %s}\n", n.ID, roles, n.IDsPath())
	}
	name := filepath.Join(r.t.TempDir(), "nodes.yaml")
	require.NoError(r.t, os.WriteFile(name, []byte(b.String()), 0o644))
	return name
}

// topic makes a topic with the assignment and min.insync.replicas 2.
func (r *rig) topic(name string, assignment ...[]int32) {
	r.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, cluster.Topic(name, assignment))
	resp, err := r.cluster.Request(r.ctx, req)
	require.NoError(r.t, err)
	require.NoError(r.t, kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode))
}

// ids gives what a node's file says.
func (r *rig) ids(node int32) []string {
	text, err := os.ReadFile(r.cluster.Node(node).IDsPath())
	require.NoError(r.t, err)
	var out []string
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// until waits until every partition of the topic meets the condition.
func (r *rig) until(what, topic string, cond func(leader int32, isr []int32) bool) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 90*time.Second, what, func(ctx context.Context) error {
		v, err := probe.Metadata(ctx, r.cluster, topic)
		if err != nil {
			return err
		}
		for _, p := range v.Partitions {
			if !cond(p.Leader, p.ISR) {
				return fmt.Errorf("%s-%d: leader %d, ISR %v", p.Topic, p.ID, p.Leader, p.ISR)
			}
		}
		return nil
	}))
}

// produce sends n records with acks=all and wants every one acknowledged.
func (r *rig) produce(topic string, n int) {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	require.NoError(r.t, err)
	defer cl.Close()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Value: fmt.Appendf(nil, "%d", i)})
	}
	require.NoError(r.t, cl.ProduceSync(r.ctx, records...).FirstErr())
}

// count gives how many records a topic has, by its leaders.
func (r *rig) count(topic string) int64 {
	r.t.Helper()
	admin, err := r.cluster.Admin()
	require.NoError(r.t, err)
	ends, err := admin.ListEndOffsets(r.ctx, topic)
	require.NoError(r.t, err)
	sum := int64(0)
	ends.Each(func(o kadm.ListedOffset) {
		require.NoError(r.t, o.Err)
		sum += o.Offset
	})
	return sum
}

func has(list []int32, id int32) bool { return slices.Contains(list, id) }
