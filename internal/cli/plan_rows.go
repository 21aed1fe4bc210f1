package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// planned is one line of the result of plan.
type planned struct {
	Partition string   `json:"partition"`
	Problems  []string `json:"problems"`
	From      []int32  `json:"from"`
	To        []int32  `json:"to"`
	Added     []int32  `json:"added"`
	Removed   []int32  `json:"removed"`
	// Bytes are those of the copies to be made, -1 when the size is not known.
	Bytes int64 `json:"bytes"`
}

// estimate says how much is copied and how long that takes at least.
func (f *planFlags) estimate(ctx context.Context, env *Env, conn *promoter.Connection, parts []observer.Partition, rows []planned) {
	sizes := conn.Sizes(ctx, parts)
	perBroker := map[int32]int64{}
	total, unknown := int64(0), 0
	for i := range rows {
		size, ok := sizes[rows[i].Partition]
		if !ok && len(rows[i].Added) > 0 {
			unknown++
			continue
		}
		rows[i].Bytes = size * int64(len(rows[i].Added))
		total += rows[i].Bytes
		for _, b := range rows[i].Added {
			perBroker[b] += size
		}
	}
	if total == 0 && unknown == 0 {
		return
	}
	text := fmt.Sprintf("to copy: %d bytes in all", total)
	for _, b := range slices.Sorted(maps.Keys(perBroker)) {
		text += fmt.Sprintf("; %d to broker %d", perBroker[b], b)
		if f.throttle > 0 {
			text += fmt.Sprintf(", %d s at least", (perBroker[b]+f.throttle-1)/f.throttle)
		}
	}
	if unknown > 0 {
		text += fmt.Sprintf("; the size of %d partitions is not known", unknown)
	}
	tell(env, text)
}

func plannedTable(t table.Writer, rows []planned) {
	t.AppendHeader(table.Row{"partition", "from", "to", "bytes", "why"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Partition, fmt.Sprint(r.From), fmt.Sprint(r.To), r.Bytes, strings.Join(r.Problems, "; ")})
	}
}
