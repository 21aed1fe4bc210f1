//go:build cluster

package operate

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	kafka "observer-patch/internal/cluster"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/traffic"
	"observer-patch/internal/promoter"
)

// untold gives the partitions of t that are led and whose leader cannot tell its high watermark.
func (r *rig) untold(client *kafka.Client) (names []string) {
	r.t.Helper()
	s, err := client.Look(r.ctx, kafka.Scope{Topics: []string{"t"}}, time.Now())
	require.NoError(r.t, err)
	require.NoError(r.t, client.Positions(r.ctx, s, kafka.Logs, func(*kafka.Topic, *kafka.Partition, int32) bool { return true }))
	for _, p := range s.Topics[0].Partitions {
		if p.Leader >= 0 && !p.HighWatermark.Known && p.CommittedBelow.Known {
			names = append(names, fmt.Sprintf("t-%d", p.ID))
		}
	}
	return names
}

// A leader is killed while it takes records. The next one has not heard that the last of them are
// committed, and under its minimum its watermark does not move: it cannot tell how far it is
// committed until the observer helps out.
func TestAutoPromotesWhereTheNewLeaderCannotTellItsWatermark(t *testing.T) {
	r := start(t, cluster.Spec{Brokers: 3, Controllers: 1, Observers: []int32{3}, Properties: map[string]string{"offsets.topic.num.partitions": "1"}})
	var assignment [][]int32
	for range 16 {
		assignment = append(assignment, []int32{1, 2, 3})
	}
	r.topic("t", assignment...)
	a := r.auto(t.TempDir(), nil)
	r.locked(a)
	rec, err := history.NewRecorder(filepath.Join(t.TempDir(), "history.jsonl"))
	require.NoError(t, err)
	p, err := traffic.Start(r.ctx, r.cluster.Addrs(), traffic.Options{Name: "p", Topic: "t", Partitions: int32(len(assignment)), Rate: 100, Size: 500, Timeout: 20 * time.Second}, rec)
	require.NoError(t, err)
	t.Cleanup(func() { p.Stop(); require.NoError(t, rec.Close()) })
	require.NoError(t, r.cluster.Await(r.ctx, time.Minute, "every partition takes records", func(context.Context) error {
		if n := r.count("t"); n < 1000 {
			return fmt.Errorf("%d records", n)
		}
		return nil
	}))

	killed := time.Now()
	require.NoError(t, r.cluster.Node(1).Kill())
	under := r.seen("t", "2 is left", func(isr []int32) bool { return len(isr) == 1 && isr[0] == 2 })
	client, err := kafka.Connect(kafka.Settings{Bootstrap: r.cluster.Addrs()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	names := r.untold(client)
	require.NotEmpty(t, names, "every leader tells its watermark: that is not the situation")
	ok := r.event(a.audit, promoter.AuditPromote, killed)
	require.Equal(t, int32(3), ok.Broker)
	r.took(fmt.Sprintf("auto: PROMOTE-OK after the partitions fell under their minimum, the leader killed under load, %d of %d new leaders cannot tell their watermark", len(names), len(assignment)), ok.Time.Sub(under), promoteBound)
	r.until("3 helps out", "t", func(_ int32, isr []int32) bool { return has(isr, 3) })
	require.NoError(t, r.cluster.Await(r.ctx, time.Minute, "every leader tells its watermark again", func(context.Context) error {
		if names := r.untold(client); len(names) > 0 {
			return fmt.Errorf("%v cannot", names)
		}
		return nil
	}))
}
