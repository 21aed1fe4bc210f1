//go:build metrics

// Package metrics reads the gauges of live nodes over JMX, and tries the files in ops/ on real
// scrapes: the rules of the JMX exporter, the alerts and the dashboard.
package metrics

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

// limit bounds one leg on a machine with two busy cores.
const limit = 25 * time.Minute

// bundleVariable names a folder with bundles that were built before; without it one is built.
const bundleVariable = "OBSERVER_PATCH_TEST_DIST"

var pageFolder = flag.String("pages", "", "folder for a page of evidence per leg; empty: none")

// observer is the broker that is marked.
const observer = 3

// rig is a cluster of three brokers, the third an observer, and what looks at it.
type rig struct {
	t       *testing.T
	ctx     context.Context
	cluster *cluster.Cluster
	jdk     toolchain.JDK
	// gauges is the folder with the compiled Gauges.
	gauges string
	page   *page
}

func TestGaugesAndTheFilesInOpsOnZooKeeper(t *testing.T) { leg(t, "3.7.1", release.ZK) }
func TestGaugesAndTheFilesInOpsOnKRaft(t *testing.T)     { leg(t, "4.1.0", release.KRaft) }

func leg(t *testing.T, version string, mode release.Mode) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	t.Setenv("KAFKA_OBSERVER_PARTITION_METRICS", "true")
	r := &rig{t: t, ctx: ctx, page: &page{title: version + " " + string(mode)}}
	r.start(version, mode)
	defer func() { r.page.write(t, *pageFolder) }()

	r.create("orders", []int32{1, 2, observer}, []int32{2, 1, observer})
	r.produce("orders", 500)
	r.gaugesOfNodes()
	r.gaugesOfPartitions()
	r.nothingLeaks(10, 100)
	p := r.prometheus()
	p.everyQueryOfTheDashboardHasSeries()
	p.everyMetricOfTheRulesHasSeries()
	p.everyAlertFires()
}

func (r *rig) start(version string, mode release.Mode) {
	t, ctx := r.t, r.ctx
	dist := os.Getenv(bundleVariable)
	if dist == "" {
		dist = t.TempDir()
		env := &cli.Env{Out: t.Output(), Err: t.Output(), Data: observerpatch.Data(), Version: "metrics test"}
		require.Equal(t, 0, cli.Run(ctx, env, []string{"build", "--version", version, "--mode", string(mode), "--no-proof", "--out", dist}))
	}
	var upstream []string
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		upstream = append(upstream, a.Path)
	}
	classpath, _, err := campaign.Overlay(upstream, filepath.Join(dist, version+"-"+string(mode)))
	require.NoError(t, err)
	r.jdk, err = toolchain.FindJDK(toolchain.Want{Major: maventest.Lock(t).Releases[version].Javac, AnyVersion: true}, os.Getenv)
	require.NoError(t, err)
	r.gauges = t.TempDir()
	out, err := exec.CommandContext(ctx, r.jdk.Tool("javac"), "-J-XX:TieredStopAtLevel=1", "-d", r.gauges, "testdata/Gauges.java").CombinedOutput()
	require.NoError(t, err, "%s", out)
	spec := cluster.Spec{Mode: mode, Brokers: 3, Observers: []int32{observer}, Classpath: classpath, Java: r.jdk.Tool("java")}
	if mode == release.KRaft {
		spec.Controllers = 1
	}
	r.cluster, err = cluster.Start(ctx, spec, t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.cluster.Close()) })
}

// await waits until cond gives nil.
func (r *rig) await(what string, cond func() error) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 3*time.Minute, what, func(context.Context) error { return cond() }))
}

// create creates a topic with these assignments and waits until its partitions have leaders.
func (r *rig) create(topic string, assignments ...[]int32) {
	r.t.Helper()
	r.createAll([]string{topic}, assignments...)
	r.await(topic+" has leaders", func() error {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &topic
		req.Topics = append(req.Topics, t)
		resp, _, err := r.cluster.AskAny(r.ctx, req)
		if err != nil {
			return err
		}
		for _, p := range resp.(*kmsg.MetadataResponse).Topics[0].Partitions {
			if p.Leader < 0 {
				return fmt.Errorf("partition %d has no leader", p.Partition)
			}
		}
		return kerr.ErrorForCode(resp.(*kmsg.MetadataResponse).Topics[0].ErrorCode)
	})
}

func (r *rig) createAll(topics []string, assignments ...[]int32) {
	r.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 120_000
	minISR := "2"
	if len(assignments[0]) < 3 {
		minISR = "1"
	}
	for _, name := range topics {
		req.Topics = append(req.Topics, cluster.Topic(name, assignments, "min.insync.replicas="+minISR))
	}
	resp, err := r.cluster.Request(r.ctx, req)
	require.NoError(r.t, err)
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		require.NoError(r.t, kerr.ErrorForCode(t.ErrorCode), "create %s", t.Topic)
	}
}

func (r *rig) deleteAll(topics []string) {
	r.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 120_000, topics
	for _, name := range topics {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := r.cluster.Request(r.ctx, req)
	require.NoError(r.t, err)
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		require.NoError(r.t, kerr.ErrorForCode(t.ErrorCode), "delete %v", t.Topic)
	}
}

func (r *rig) produce(topic string, records int) {
	r.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...), kgo.RequiredAcks(kgo.AllISRAcks()))
	require.NoError(r.t, err)
	defer c.Close()
	for i := range records {
		c.Produce(r.ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "record %d", i)}, nil)
	}
	require.NoError(r.t, c.Flush(r.ctx))
}

// java runs Gauges in a JVM of its own.
func (r *rig) java(args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(r.ctx, r.jdk.Tool("java"), append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", r.gauges, "Gauges"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("Gauges %v: %w: %s", args, err, errs.String())
	}
	return out.String(), nil
}

// read gives the gauges of a node that match a pattern of object names.
func (r *rig) read(node int32, pattern string) map[string]int64 {
	r.t.Helper()
	out, err := r.java("read", strconv.Itoa(r.cluster.Node(node).PID()), pattern)
	require.NoError(r.t, err)
	values := map[string]int64{}
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(r.t, ok, line)
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(r.t, err, line)
		values[name] = n
	}
	return values
}

var (
	nodeGauges   = []string{"IdsFileState", "IsObserver", "ObserverCount", "ObserverIdsHash"}
	brokerGauges = []string{"CaughtUpObserverCount", "IdsFileState", "IsObserver", "MaxObserverLag", "MaxObserverLagMs", "ObserverCount", "ObserverIdsHash",
		"ObserverReplicaCount", "ObserversInIsrCount"}
)

// ours gives the gauges of kafka.observer by their names.
func (r *rig) ours(node int32) map[string]int64 {
	out := map[string]int64{}
	for name, value := range r.read(node, "kafka.observer:*") {
		short, ok := strings.CutPrefix(name, "kafka.observer:name=")
		require.True(r.t, ok, name)
		short, ok = strings.CutSuffix(short, ",type=ObserverMetrics")
		require.True(r.t, ok, name)
		out[short] = value
	}
	return out
}

// nodes gives the ids of all brokers and isolated controllers.
func (r *rig) nodes() []int32 { return slices.Concat(r.cluster.BrokerIDs(), r.cluster.ControllerIDs()) }

func (r *rig) gaugesOfNodes() {
	t := r.t
	hash := r.ours(1)["ObserverIdsHash"]
	require.NotZero(t, hash)
	led := int64(0)
	for _, id := range r.nodes() {
		want := brokerGauges
		if !r.cluster.Node(id).IsBroker() {
			want = nodeGauges
		}
		var g map[string]int64
		r.await(fmt.Sprintf("node %d sees its observers caught up", id), func() error {
			if g = r.ours(id); g["CaughtUpObserverCount"] != g["ObserverReplicaCount"] || g["MaxObserverLag"] != 0 {
				return fmt.Errorf("%v", g)
			}
			return nil
		})
		require.Equal(t, want, sortedKeys(g), "node %d", id)
		require.EqualValues(t, 1, g["ObserverCount"])
		require.EqualValues(t, 1, g["IdsFileState"])
		require.Equal(t, hash, g["ObserverIdsHash"], "node %d", id)
		require.EqualValues(t, map[bool]int64{true: 1}[id == observer], g["IsObserver"], "node %d", id)
		require.Zero(t, g["ObserversInIsrCount"])
		led += g["ObserverReplicaCount"]
		r.page.gauges(id, r.cluster.Node(id).IsBroker(), g)
	}
	require.EqualValues(t, 2, led, "each partition of orders has one observer")
}

func (r *rig) gaugesOfPartitions() {
	sum := map[string]int64{}
	for _, id := range r.cluster.BrokerIDs() {
		for name, value := range r.read(id, "kafka.cluster:type=Partition,topic=orders,*") {
			short, _, _ := strings.Cut(strings.TrimPrefix(name, "kafka.cluster:name="), ",")
			sum[short] += value
		}
	}
	for name, want := range map[string]int64{"ObserverReplicasCount": 2, "ObserversInIsrCount": 0, "CaughtUpReplicasCount": 6, "IsNotCaughtUp": 0,
		"ReplicasCount": 6, "InSyncReplicasCount": 4, "UnderReplicated": 0} {
		require.Contains(r.t, sum, name)
		require.Equal(r.t, want, sum[name], "%s over all brokers: two partitions of three replicas, one an observer", name)
	}
}

// perPartition are the four gauges of a partition that are ours.
var perPartition = []string{"ObserverReplicasCount", "ObserversInIsrCount", "CaughtUpReplicasCount", "IsNotCaughtUp"}

// leaks gives how many gauges of the topics leak-* a broker has, and how many of kafka.observer.
func (r *rig) leaks(broker int32) []int {
	r.t.Helper()
	args := []string{"count", strconv.Itoa(r.cluster.Node(broker).PID())}
	for _, name := range perPartition {
		args = append(args, "kafka.cluster:type=Partition,name="+name+",topic=leak-*,*")
	}
	out, err := r.java(append(args, "kafka.observer:*")...)
	require.NoError(r.t, err)
	var counts []int
	for word := range strings.FieldsSeq(out) {
		n, err := strconv.Atoi(word)
		require.NoError(r.t, err)
		counts = append(counts, n)
	}
	return counts
}

// nothingLeaks creates and deletes topics in rounds; afterwards each broker has the gauges that it had.
func (r *rig) nothingLeaks(rounds, topics int) {
	began := time.Now()
	n := len(brokerGauges)
	for round := range rounds {
		var names []string
		for i := range topics {
			names = append(names, fmt.Sprintf("leak-%d-%d", round, i))
		}
		r.createAll(names, []int32{1, observer})
		for _, stage := range []struct {
			what string
			want []int
		}{{"appear", []int{topics, topics, topics, topics, n}}, {"are gone", []int{0, 0, 0, 0, n}}} {
			if stage.want[0] == 0 {
				r.deleteAll(names)
			}
			for _, broker := range []int32{1, observer} {
				r.await(fmt.Sprintf("round %d: gauges %s on broker %d", round, stage.what, broker), func() error {
					if have := r.leaks(broker); !slices.Equal(stage.want, have) {
						return fmt.Errorf("expected %v, found %v", stage.want, have)
					}
					return nil
				})
			}
		}
	}
	r.page.leak(rounds*topics, time.Since(began))
}
