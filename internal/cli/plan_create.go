package cli

import (
	"context"
	"fmt"
	"os"

	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
	"observer-patch/internal/promoter"
)

// make makes a topic by its placement, the leaders spread over its sync replicas.
func (f *planFlags) make(ctx context.Context, env *Env, o *promoter.Operator, conn *promoter.Connection, layouts []layout, brokers []placement.Broker) error {
	want, ok := of(layouts, f.create)
	if !ok {
		return exit.With(exit.Usage, fmt.Errorf("--create %s: no --placement matches it", f.create))
	}
	if f.partitions < 1 || f.partitions > 10000 {
		return exit.With(exit.Usage, fmt.Errorf("--partitions %d: expected 1 to 10000", f.partitions))
	}
	rows := []planned{}
	var parts []observer.Partition
	for i := range f.partitions {
		c, err := placement.Assign(want, placement.Partition{Topic: f.create, ID: i, Leader: -1}, brokers)
		if err != nil {
			return err
		}
		n := want.Sync()
		to := append([]int32{}, c.To...)
		for k := range n {
			to[k] = c.To[(k+int(i))%n]
		}
		parts = append(parts, observer.Partition{Topic: f.create, ID: i, Replicas: to})
		rows = append(rows, planned{Partition: parts[i].String(), Problems: []string{}, To: to, Added: to, From: []int32{}, Removed: []int32{}})
	}
	if !f.dryRun {
		if err := f.confirm(env, os.Stdin, fmt.Sprintf("Make topic %s with %d partitions?", f.create, f.partitions)); err != nil {
			return err
		}
		if err := change(o, func() error { return conn.Create(ctx, parts) }); err != nil {
			return err
		}
		tell(env, "made, taken back, with all records, by: kafka-topics.sh --delete --topic "+hosts.Quote(f.create))
	}
	return printRows(env.Out, f.format, rows, plannedTable)
}
