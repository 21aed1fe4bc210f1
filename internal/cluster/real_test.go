//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/cluster"
	lab "observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
)

// What a replica that does not lead tells of its own log, on upstream's own jars: there is no
// hook in the way of these answers.

func TestEachReplicaOf371ZooKeeperTellsItsOwnPosition(t *testing.T) {
	positions(t, "3.7.1", release.ZK)
}
func TestEachReplicaOf371KRaftTellsItsOwnPosition(t *testing.T) {
	positions(t, "3.7.1", release.KRaft)
}
func TestEachReplicaOf410TellsItsOwnPosition(t *testing.T) { positions(t, "4.1.0", release.KRaft) }
func TestEachReplicaOf431TellsItsOwnPosition(t *testing.T) { positions(t, "4.3.1", release.KRaft) }

// start runs three brokers of upstream's jars.
func start(t *testing.T, version string, mode release.Mode) (context.Context, *lab.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	spec := lab.Spec{Mode: mode, Brokers: 3, Java: "java"}
	if mode == release.KRaft {
		spec.Controllers = 1
	} else {
		spec.First = 2 // the controller: neither the first that dies nor the one that hangs
	}
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		spec.Classpath = append(spec.Classpath, a.Path)
	}
	c, err := lab.Start(ctx, spec, t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return ctx, c
}

func positions(t *testing.T, version string, mode release.Mode) {
	const topic = "orders"
	ctx, c := start(t, version, mode)
	create := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
	ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	ra.Replicas = []int32{1, 2, 3}
	rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
	rc := kmsg.NewCreateTopicsRequestTopicConfig()
	rc.Name, rc.Value = "min.insync.replicas", kmsg.StringPtr("1")
	rt.Configs = append(rt.Configs, rc)
	create.Topics = append(create.Topics, rt)
	created, err := c.Request(ctx, create)
	require.NoError(t, err)
	require.Zero(t, created.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	produce(t, ctx, c, topic, 10)

	client, err := cluster.Connect(cluster.Settings{Bootstrap: c.Addrs()}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	defer client.Close()
	look := func() (*cluster.Snapshot, *cluster.Partition, error) {
		s, err := client.Look(ctx, cluster.Scope{Topics: []string{topic}}, time.Now())
		if err != nil {
			return nil, nil, err
		}
		err = client.Positions(ctx, s, cluster.Epochs, func(*cluster.Topic, *cluster.Partition, int32) bool { return true })
		return s, &s.Topics[0].Partitions[0], err
	}

	// Everybody up: leader and followers answer.
	var first int32
	require.NoError(t, c.Await(ctx, time.Minute, "all replicas have ten records", func(context.Context) error {
		s, p, err := look()
		if err != nil {
			return err
		}
		first = p.LeaderEpoch
		for _, b := range []int32{1, 2, 3} {
			want := cluster.Position{Broker: b, LogEnd: cluster.Known[int64](10), LogStart: cluster.Known[int64](0), LastEpoch: cluster.Known(first)}
			if got := p.Position(b); got != want {
				return fmt.Errorf("broker %d: %+v", b, got)
			}
		}
		if p.HighWatermark != cluster.Known[int64](10) {
			return fmt.Errorf("high watermark %+v", p.HighWatermark)
		}
		assert.Empty(t, s.Missing)
		assert.Equal(t, cluster.Known[int32](1), s.Topics[0].MinISR)
		assert.True(t, s.Controller.Known)
		assert.Equal(t, mode == release.KRaft, s.Quorum != nil)
		return nil
	}))

	// Broker 3 stops, falls out of the ISR; 1 dies, 2 leads on under a new epoch; 2 dies. Back
	// comes 3: alive, no leader, five records behind.
	require.NoError(t, c.Node(3).Pause())
	await := func(what string, cond func(*cluster.Partition) bool) {
		require.NoError(t, c.Await(ctx, 150*time.Second, what, func(context.Context) error {
			_, p, err := look()
			if err == nil && !cond(p) {
				err = fmt.Errorf("leader %d, ISR %v", p.Leader, p.ISR)
			}
			return err
		}))
	}
	await("3 is out of the ISR", func(p *cluster.Partition) bool { return !slices.Contains(p.ISR, 3) })
	require.NoError(t, c.Node(1).Kill())
	await("2 leads", func(p *cluster.Partition) bool { return p.Leader == 2 })
	produce(t, ctx, c, topic, 5)
	_, p, err := look()
	require.NoError(t, err)
	second := p.LeaderEpoch
	assert.Greater(t, second, first)
	assert.Equal(t, cluster.Position{Broker: 2, LogEnd: cluster.Known[int64](15), LogStart: cluster.Known[int64](0), LastEpoch: cluster.Known(second)}, p.Position(2))
	assert.Equal(t, "its broker is not alive", p.Position(1).Problem)
	assert.False(t, p.Position(1).LogEnd.Known)
	require.NoError(t, c.Node(2).Kill())
	require.NoError(t, c.Node(3).Resume())
	var s *cluster.Snapshot
	require.NoError(t, c.Await(ctx, 2*time.Minute, "3 alone is alive, without a leader", func(context.Context) error {
		var err error
		if s, p, err = look(); err != nil {
			return err
		}
		if p.Leader != cluster.None || !s.Broker(3).Alive || s.Broker(1).Alive || s.Broker(2).Alive {
			return fmt.Errorf("leader %d, brokers %+v", p.Leader, s.Brokers)
		}
		return nil
	}))
	assert.Equal(t, cluster.Position{Broker: 3, LogEnd: cluster.Known[int64](10), LogStart: cluster.Known[int64](0), LastEpoch: cluster.Known(first)}, p.Position(3))
	assert.False(t, p.HighWatermark.Known)
	assert.True(t, p.ELR.Known, "where there is no such feature there are none")
	assert.False(t, p.Position(2).LogEnd.Known, "a dead broker's log is not known, and not 0")

	// Why the epoch comes from the batch itself.
	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.ReplicaID = -2
	ot := kmsg.NewListOffsetsRequestTopic()
	ot.Topic = topic
	op := kmsg.NewListOffsetsRequestTopicPartition()
	op.Timestamp = -1
	ot.Partitions = append(ot.Partitions, op)
	offsets.Topics = append(offsets.Topics, ot)
	resp, err := client.Ask(ctx, 3, offsets)
	require.NoError(t, err)
	listed := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	t.Logf("%s %s: last batch of 3 has epoch %d; ListOffsets says offset %d, epoch %d; the partition's epoch is %d", version, mode, first, listed.Offset, listed.LeaderEpoch, p.LeaderEpoch)
	assert.EqualValues(t, 10, listed.Offset)
	if mode == release.KRaft {
		assert.Equal(t, p.LeaderEpoch, listed.LeaderEpoch, "ListOffsets names the partition's epoch, not that of the last batch")
	} else { // a ZooKeeper broker hears of a new epoch only with a new leader
		assert.Less(t, listed.LeaderEpoch, p.LeaderEpoch)
	}

	ends := kmsg.NewPtrOffsetForLeaderEpochRequest()
	ends.ReplicaID = -2
	et := kmsg.NewOffsetForLeaderEpochRequestTopic()
	et.Topic = topic
	ep := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	ep.CurrentLeaderEpoch, ep.LeaderEpoch = -1, first
	et.Partitions = append(et.Partitions, ep)
	ends.Topics = append(ends.Topics, et)
	resp, err = client.Ask(ctx, 3, ends)
	require.NoError(t, err)
	code := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0].ErrorCode
	assert.Equal(t, kerr.NotLeaderForPartition, kerr.ErrorForCode(code), "OffsetForLeaderEpoch is for leaders")
}

// What was not committed, or of which a follower has not heard that it was, is just what counts when
// logs are compared after a crash.
func TestTheEpochOfTheLastBatchIsKnownBeyondTheHighWatermark(t *testing.T) {
	const topic = "orders"
	ctx, c := start(t, "4.1.0", release.KRaft)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = append(create.Topics, lab.Topic(topic, [][]int32{{1, 2, 3}}))
	created, err := c.Request(ctx, create)
	require.NoError(t, err)
	require.Zero(t, created.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	produce(t, ctx, c, topic, 10)
	for _, b := range []int32{2, 3} {
		require.NoError(t, c.Node(b).Kill()) // the ISR falls under its minimum of 2, and the watermark stands still
	}
	require.NoError(t, c.Await(ctx, time.Minute, "1 takes records", func(ctx context.Context) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.Node(1).Addr()), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		if err != nil {
			return err
		}
		defer cl.Close()
		return cl.ProduceSync(ctx, kgo.StringRecord("beyond")).FirstErr()
	}))
	client, err := cluster.Connect(cluster.Settings{Bootstrap: []string{c.Node(1).Addr()}}, quiet())
	require.NoError(t, err)
	defer client.Close()
	s, err := client.Look(ctx, cluster.Scope{Topics: []string{topic}}, time.Now())
	require.NoError(t, err)
	require.NoError(t, client.Positions(ctx, s, cluster.Epochs, func(_ *cluster.Topic, _ *cluster.Partition, b int32) bool { return b == 1 }))
	p := s.Topics[0].Partitions[0]
	require.Equal(t, cluster.Known[int64](10), p.HighWatermark)
	own := p.Position(1)
	assert.Equal(t, cluster.Known[int64](11), own.LogEnd)
	assert.True(t, own.LastEpoch.Known, own.Problem)
	assert.Equal(t, cluster.Known(p.LeaderEpoch), own.LastEpoch)
}

// produce waits until n records are acknowledged by all in-sync replicas.
func produce(t *testing.T, ctx context.Context, c *lab.Cluster, topic string, n int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.DefaultProduceTopic(topic))
	require.NoError(t, err)
	defer cl.Close()
	for i := range n {
		require.NoError(t, cl.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(i))).FirstErr())
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
