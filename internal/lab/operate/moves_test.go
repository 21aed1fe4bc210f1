//go:build cluster

package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
)

// load writes about so many bytes to the topic, with acks=all.
func (r *rig) load(topic string, size int) {
	r.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(200_000))
	require.NoError(r.t, err)
	defer cl.Close()
	value := make([]byte, 10_000)
	var records []*kgo.Record
	for range size / len(value) {
		records = append(records, &kgo.Record{Value: value})
	}
	require.NoError(r.t, cl.ProduceSync(r.ctx, records...).FirstErr())
}

// placed writes a placement of one sync replica in each of the first three zones and an observer
// in the last one.
func (r *rig) placed(observer int32) string {
	r.t.Helper()
	type constraint struct {
		Count       int               `json:"count"`
		Constraints map[string]string `json:"constraints"`
	}
	in := func(broker int32) constraint {
		return constraint{1, map[string]string{"rack": cluster.Rack(broker)}}
	}
	text, err := json.Marshal(map[string]any{"version": 1, "replicas": []constraint{in(1), in(2), in(3)}, "observers": []constraint{in(observer)}})
	require.NoError(r.t, err)
	name := filepath.Join(r.t.TempDir(), "layout.json")
	require.NoError(r.t, os.WriteFile(name, text, 0o644))
	return name
}

// throttles gives every throttle of the topic and of the brokers.
func (r *rig) throttles(ctx context.Context, topic string) ([]string, error) {
	admin, err := r.cluster.Admin()
	if err != nil {
		return nil, err
	}
	topics, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	brokers, err := admin.DescribeBrokerConfigs(ctx, r.cluster.BrokerIDs()...)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, res := range append(topics, brokers...) {
		if res.Err != nil {
			return nil, res.Err
		}
		for _, c := range res.Configs {
			if strings.Contains(c.Key, "replication.throttled") && c.MaybeValue() != "" {
				out = append(out, res.Name+" "+c.Key+"="+c.MaybeValue())
			}
		}
	}
	return out, nil
}

// watch looks at the topic again and again until stop is called, which gives every look.
func (r *rig) watch(topic string) (stop func() []history.View) {
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan []history.View, 1)
	go func() {
		var all []history.View
		last, _ := probe.Metadata(ctx, r.cluster, topic) // the first look has no watermark then
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if v, err := probe.Look(ctx, r.cluster, func() float64 { return 0 }, last, topic); err == nil {
				all, last = append(all, v), v
			}
			select {
			case <-ctx.Done():
				done <- all
				return
			case <-tick.C:
			}
		}
	}()
	return func() []history.View {
		cancel()
		return <-done
	}
}

func TestPlacementsFailbackAndDrill(t *testing.T) {
	all := start(t, cluster.Spec{Brokers: 5, Controllers: 1, Observers: []int32{4, 5}})
	all.topic("p", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4})
	all.load("p", 8_000_000)
	t.Run("an observer is replaced in two steps", func(t *testing.T) { all.in(t).replace() })
	t.Run("a move that was killed is finished", func(t *testing.T) { all.in(t).moveAfterKill() })
	t.Run("a move is taken back by the command that it prints", func(t *testing.T) { all.in(t).takeBack() })
	t.Run("somebody else's throttle is left alone", func(t *testing.T) { all.in(t).foreignThrottle() })
	t.Run("a topic is made by its placement", func(t *testing.T) { all.in(t).create() })
	t.Run("failback", func(t *testing.T) { all.in(t).failback() })
	t.Run("drill", func(t *testing.T) { all.in(t).drill() })
}

// replace moves the observer of p from 4 to 5 under a throttle.
func (r *rig) replace() {
	t, layout := r.t, "p="+r.placed(5)
	out, errs := r.run(exit.Failed, "plan", "--placement", layout)
	require.Contains(t, out, "zone-5")
	require.Contains(t, errs, "2 partitions differ")
	stop := r.watch("p")
	began := time.Now()
	// Brokers let the bytes of ten seconds pass before a rate bounds them.
	r.run(exit.Done, "plan", "--placement", layout, "--execute", "--throttle", "300000", "--yes")
	took := time.Since(began)
	views := stop()
	require.Greater(t, took, 10*time.Second, "8 MB at 300 kB/s, 3 MB at once")
	r.took("plan --execute: 8 MB to the new observer at 300 kB/s, throttle removed", took, time.Minute)

	beside, after := 0, 0
	for _, v := range views {
		for _, p := range v.Partitions {
			switch old, moved := has(p.Replicas, 4), has(p.Replicas, 5); {
			case old && moved:
				beside++
			case moved:
				after++
				require.GreaterOrEqual(t, p.LEO[5], p.HW, "%s-%d lost its old observer before the new one had everything", p.Topic, p.ID)
			default:
				require.True(t, old, "%s-%d is without an observer: %v", p.Topic, p.ID, p.Replicas)
			}
			require.False(t, has(p.ISR, 4) || has(p.ISR, 5), "%s-%d has an observer in its ISR %v", p.Topic, p.ID, p.ISR)
		}
	}
	require.Positive(t, beside, "the new observer was seen beside the old one")
	r.saw("the old observer goes only when the new one has every committed record", "%d looks with both, %d with the new one alone, none without", beside, after)
	r.settled("5", 5)
}

// settled wants the assignment with the observer at the end, and no throttle anywhere.
func (r *rig) settled(what string, observer int32) {
	r.t.Helper()
	v, err := probe.Metadata(r.ctx, r.cluster, "p")
	require.NoError(r.t, err)
	for _, p := range v.Partitions {
		require.Equal(r.t, observer, p.Replicas[len(p.Replicas)-1], "%v", p.Replicas)
		require.Len(r.t, p.Replicas, 4)
	}
	left, err := r.throttles(r.ctx, "p")
	require.NoError(r.t, err)
	require.Empty(r.t, left)
	r.saw("no throttle is left behind after the move to "+what, "none on the topic and on the brokers")
}

// moveAfterKill moves the observer back to 4, and the tool is killed while the data is copied.
func (r *rig) moveAfterKill() {
	t := r.t
	tool := r.spawn(nil, "plan", "--placement", "p="+r.placed(4), "--execute", "--throttle", "300000", "--yes")
	require.NoError(t, r.cluster.Await(r.ctx, time.Minute, "the copy is under way", func(ctx context.Context) error {
		v, err := probe.Metadata(ctx, r.cluster, "p")
		if err != nil {
			return err
		}
		for _, p := range v.Partitions {
			if !has(p.Replicas, 4) || !has(p.Replicas, 5) {
				return fmt.Errorf("replicas %v", p.Replicas)
			}
		}
		return nil
	}))
	tool.kill(t)
	left, err := r.throttles(r.ctx, "p")
	require.NoError(t, err)
	require.NotEmpty(t, left, "the killed tool left its throttle")
	out, _ := r.run(exit.Done, "status")
	require.Contains(t, out, "plan --finish", "status says that a move was cut off")
	r.saw("kill -9 of plan --execute while it copies", "%d throttle settings left, and status names 'plan --finish'", len(left))
	_, errs := r.run(exit.Refused, "plan", "--placement", "p="+r.placed(4), "--execute", "--yes")
	require.Contains(t, errs, "plan --finish")
	began := time.Now()
	r.run(exit.Done, "plan", "--finish", "--yes")
	r.took("plan --finish after the kill", time.Since(began), time.Minute)
	r.settled("4, which was killed in the middle", 4)
}

// takeBack moves the observer and puts one sync replica behind the others, and runs what is printed then.
func (r *rig) takeBack() {
	t, before := r.t, []int32{3, 1, 2, 4}
	r.topic("back", before)
	r.until("the topic is there", "back", func(leader int32, isr []int32) bool { return leader == 3 && len(isr) == 3 })
	replicas := func() []int32 {
		v, err := probe.Metadata(r.ctx, r.cluster, "back")
		require.NoError(t, err)
		return v.Partitions[0].Replicas
	}
	file := filepath.Join(t.TempDir(), "to.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"version":1,"partitions":[{"topic":"back","partition":0,"replicas":[1,2,3,5]}]}`), 0o644))
	_, said := r.run(exit.Done, "plan", "--assignment", file, "--execute", "--yes")
	require.Equal(t, []int32{1, 2, 3, 5}, replicas())
	_, command, ok := strings.Cut(said, "moved, taken back by: observer-patch ")
	require.True(t, ok, said)
	command, _, _ = strings.Cut(command, "\n")
	back := append(strings.Fields(strings.ReplaceAll(command, "'", "")), "--yes") // no word of it has a space
	r.run(exit.Done, back...)
	require.Equal(t, before, replicas())
	_, said = r.run(exit.Done, back...)
	require.NotContains(t, said, "moved")
	require.Equal(t, before, replicas(), "it can be run twice")
	r.saw("the command that plan --execute prints", "replicas [3 1 2 4], then [1 2 3 5], then [3 1 2 4] again; run once more it has nothing to do")
}

func (r *rig) foreignThrottle() {
	admin, err := r.cluster.Admin()
	require.NoError(r.t, err)
	rate := "1000000"
	set := func(op kadm.IncrementalOp) {
		got, err := admin.AlterBrokerConfigs(r.ctx, []kadm.AlterConfig{{Op: op, Name: "leader.replication.throttled.rate", Value: &rate}}, 2)
		require.NoError(r.t, err)
		require.NoError(r.t, got[0].Err)
	}
	set(kadm.SetConfig)
	r.seenThrottle(1)
	_, errs := r.run(exit.Refused, "plan", "--placement", "p="+r.placed(5), "--execute", "--yes")
	require.Contains(r.t, errs, "broker 2: leader.replication.throttled.rate=1000000")
	r.seenThrottle(1)
	set(kadm.DeleteConfig)
	r.seenThrottle(0)
	r.saw("a throttle that somebody else has set", "plan --execute refuses with exit code 5 and leaves it")
}

// seenThrottle waits until so many settings are in force.
func (r *rig) seenThrottle(n int) {
	r.t.Helper()
	require.NoError(r.t, r.cluster.Await(r.ctx, 20*time.Second, "the throttle is as it was set", func(ctx context.Context) error {
		left, err := r.throttles(ctx, "p")
		if err == nil && len(left) != n {
			err = fmt.Errorf("%v", left)
		}
		return err
	}))
}

func (r *rig) create() {
	r.run(exit.Done, "plan", "--placement", "new-*="+r.placed(5), "--create", "new-1", "--partitions", "3", "--yes")
	leads := map[int32]bool{}
	r.until("the topic is there", "new-1", func(leader int32, isr []int32) bool {
		leads[leader] = true
		return slices.Equal(slices.Sorted(slices.Values(isr)), []int32{1, 2, 3})
	})
	require.Len(r.t, leads, 3, "the leaders are spread")
	r.run(exit.Done, "plan", "--placement", "new-*="+r.placed(5))
	r.saw("plan --create", "three partitions, leaders spread over 1, 2, 3, the observer in no ISR")
}

// failback is the way back when 3 was away while 4 was promoted.
func (r *rig) failback() {
	t := r.t
	out, _ := r.run(exit.Refused, "failback", "4", "--plan")
	require.Empty(t, out)
	require.NoError(t, r.cluster.Node(1).Kill())
	r.until("1 is fenced", "p", func(_ int32, isr []int32) bool { return !has(isr, 1) })
	r.run(exit.Done, "promote", "4", "--yes")
	row := r.rows(exit.Done, "failback", "4", "--plan")[0]
	require.Contains(t, fmt.Sprint(row["waiting"]), "p-0: [1] not in the ISR")
	_, errs := r.run(exit.Failed, "failback", "4", "--timeout", "3s", "--yes")
	require.Contains(t, errs, "broker 4 stays promoted")
	require.Equal(t, []string{"5"}, r.ids(2))
	r.saw("failback while a sync replica is away", "stops after its timeout, and the broker stays promoted")
	require.NoError(t, r.cluster.Restart(r.ctx, 1))
	began := time.Now()
	r.run(exit.Done, "failback", "4", "--yes")
	r.took("failback from the start of the replica to the end of the demotion", time.Since(began), time.Minute)
	v, err := probe.Metadata(r.ctx, r.cluster, "p")
	require.NoError(t, err)
	for _, p := range v.Partitions {
		require.Equal(t, p.Replicas[0], p.Leader, "%s-%d is led at home", p.Topic, p.ID)
		require.False(t, has(p.ISR, 4), "%v", p.ISR)
	}
	for _, n := range r.cluster.Nodes {
		require.ElementsMatch(t, []string{"4", "5"}, r.ids(n.ID))
	}
	r.saw("after failback", "leaderships are at home, 4 is in no ISR and in every file")
}

func (r *rig) drill() {
	t := r.t
	out, errs := r.run(exit.Done, "drill", "4", "--dry-run")
	require.Regexp(t, `4 +dry run`, out)
	require.Contains(t, errs, "promote broker 4")
	began := time.Now()
	out, _ = r.run(exit.Done, "drill", "4", "--yes")
	require.Regexp(t, `4 +done`, out)
	r.took("drill: promoted, led the canary, went back", time.Since(began), time.Minute)
	admin, err := r.cluster.Admin()
	require.NoError(t, err)
	require.NoError(t, r.cluster.Await(r.ctx, 20*time.Second, "the canary is gone", func(ctx context.Context) error {
		topics, err := admin.ListTopics(ctx)
		if err == nil && topics.Has("observer-patch-drill") {
			err = errors.New("still there")
		}
		return err
	}))
	r.until("4 is an observer", "p", func(_ int32, isr []int32) bool { return !has(isr, 4) })
	for _, n := range r.cluster.Nodes {
		require.ElementsMatch(t, []string{"4", "5"}, r.ids(n.ID))
	}
	require.NoError(t, r.cluster.Node(3).Kill())
	require.NoError(t, r.cluster.Node(1).Kill())
	r.until("under the minimum", "p", func(_ int32, isr []int32) bool { return len(isr) == 1 })
	out, errs = r.run(exit.Refused, "drill", "4", "--yes")
	require.Regexp(t, `4 +refused`, out)
	require.Contains(t, errs, "min-isr")
	r.saw("drill on a cluster in trouble", "refused with exit code 5: min-isr")
}
