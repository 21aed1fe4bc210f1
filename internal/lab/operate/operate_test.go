//go:build cluster

package operate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/probe"
)

func TestOperatorsPromoteDemoteAndRescue(t *testing.T) {
	r := start(t, usual())
	r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4}, []int32{3, 1, 2, 4})
	r.produce("t", 3000)

	// A dry run changes nothing.
	row := r.rows(exit.Done, "promote", "4", "--dry-run")[0]
	require.Equal(t, "dry run", row["outcome"])
	require.Equal(t, []string{"4"}, r.ids(101))

	row = r.rows(exit.Done, "promote", "4", "--yes")[0]
	r.until("4 is in every ISR", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	for _, n := range r.cluster.Nodes {
		require.Empty(t, r.ids(n.ID), "node %d", n.ID)
	}
	r.saw("promote takes the id out of every file, and the observer joins every ISR", "in every ISR, %v s", row["seconds"])
	require.Equal(t, "nothing to do", r.rows(exit.Done, "promote", "4", "--yes")[0]["outcome"])

	// Refused: u would fall below its minimum, and 4 leads w.
	r.topic("u", []int32{1, 4})
	r.topic("w", []int32{4, 1, 2})
	row = r.rows(exit.Refused, "demote", "4", "--yes")[0]
	refused := fmt.Sprint(row["refusals"])
	require.Contains(t, refused, "min-isr")
	require.Contains(t, refused, "u-0")
	require.Contains(t, refused, "leads")
	require.Contains(t, refused, "w-0")
	require.Empty(t, r.ids(1))
	r.saw("demote is refused where the ISR would fall below its minimum, and where the broker leads", "exit code 5, min-isr and leads, no file written")
	admin, err := r.cluster.Admin()
	require.NoError(t, err)
	_, err = admin.DeleteTopic(r.ctx, "u")
	require.NoError(t, err)
	r.rows(exit.Refused, "demote", "4", "--yes")
	row = r.rows(exit.Done, "demote", "4", "--move-leaders", "--yes")[0]
	r.until("4 is in no ISR", "w", func(leader int32, isr []int32) bool { return leader == 1 && !has(isr, 4) })
	r.until("4 is in no ISR", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) })
	r.saw("demote --move-leaders moves the leaderships, and the broker leaves every ISR", "in no ISR, %v s", row["seconds"])

	r.rescue()
}

// rescue is S4: everything but the observer is killed.
func (r *rig) rescue() {
	t := r.t
	before := r.count("t")
	require.NoError(t, r.cluster.Await(r.ctx, 60*time.Second, "the observer has everything", func(ctx context.Context) error {
		// The watermark is asked of those who lead by the first look.
		leaders, err := probe.Metadata(ctx, r.cluster, "t")
		if err != nil {
			return err
		}
		v, err := probe.Look(ctx, r.cluster, func() float64 { return 0 }, leaders, "t")
		if err != nil {
			return err
		}
		for _, p := range v.Partitions {
			if p.HW < 0 || p.LEO[4] < p.HW {
				return fmt.Errorf("%s-%d: watermark %d, observer %d", p.Topic, p.ID, p.HW, p.LEO[4])
			}
		}
		return nil
	}))
	r.run(exit.Done, "record")
	for _, id := range []int32{1, 2, 3} {
		require.NoError(t, r.cluster.Node(id).Kill())
	}
	r.until("no leader", "t", func(leader int32, _ []int32) bool { return leader < 0 })

	out, errs := r.run(exit.Failed, "promote", "4", "--yes")
	require.Contains(t, out+errs, "observer-patch elect unclean")
	row := r.rows(exit.Refused, "elect", "unclean", "--topic", "t", "--yes")
	require.Contains(t, fmt.Sprint(row[0]["refusals"]), "data-loss")
	began := time.Now()
	rows := r.rows(exit.Done, "elect", "unclean", "--topic", "t", "--accept-data-loss", "--yes")
	r.took("elect unclean after the loss of every sync replica", time.Since(began), 30*time.Second)
	require.Len(t, rows, 3)
	for _, row := range rows {
		require.Equal(t, "led by 4", row["outcome"])
		bound := row["bound"].(map[string]any)
		require.Equal(t, true, bound["known"])
		require.Equal(t, 0.0, bound["records"], "the observer had caught up")
	}
	require.Equal(t, before, r.count("t"), "nothing is lost")
	r.saw("the bound that elect printed was kept", "0 records said to be lost at most, 0 of %d lost", before)

	for _, id := range []int32{1, 2, 3} {
		require.NoError(t, r.cluster.Restart(r.ctx, id))
	}
	r.until("all are back", "t", func(_ int32, isr []int32) bool { return len(isr) == 4 })
	r.run(exit.Done, "elect", "preferred", "--home", "--yes")
	r.rows(exit.Done, "demote", "4", "--move-leaders", "--yes")
	r.until("4 is an observer again", "t", func(leader int32, isr []int32) bool { return leader != 4 && !has(isr, 4) })
	require.Equal(t, before, r.count("t"))
}
