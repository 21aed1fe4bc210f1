package scenario

import (
	"context"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/traffic"
	"observer-patch/internal/release"
)

// t1 produces transactions across a failover and reads them through the observer's rack.
func t1() Scenario {
	return Scenario{
		ID: "T1", Title: "transactions with commits and aborts across kill -9 of a leader, read through the observer's zone",
		Expect:   "a read_committed consumer in the observer's zone is served by the observer, while it is one and after its promotion, and sees what the leader's consumers see",
		Base:     "as with set full, but served by the observer only after its promotion",
		MinAcked: 200,
		Run: func(ctx context.Context, l *Lab) error {
			t, err := l.transact(ctx)
			if err != nil {
				return err
			}
			if err := l.untilWritten(ctx, 200); err != nil {
				return err
			}
			leader, err := l.Leader(ctx, 0)
			if err != nil {
				return err
			}
			kill := fault.Kill{Nodes: []int32{leader}}
			if err := l.Inject(ctx, kill); err != nil {
				return err
			}
			if err := l.UntilEach(ctx, 60*time.Second, "another broker leads", func(p history.Partition) bool { return p.Leader >= 0 && p.Leader != leader }); err != nil {
				return err
			}
			if err := l.untilWritten(ctx, 100); err != nil {
				return err
			}
			if err := l.Heal(ctx, kill); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 60*time.Second, Observer); err != nil {
				return err
			}
			if err := t.Stop(); err != nil {
				return err
			}
			if err := l.UntilEach(ctx, 30*time.Second, "all replicas have everything", func(p history.Partition) bool {
				return p.HW >= 0 && p.HW == p.LEO[p.Leader] && p.LEO[Observer] == p.HW
			}); err != nil {
				return err
			}
			if l.Plan.Set == release.Full {
				if err := l.readRack(ctx, Observer); err != nil {
					return err
				}
			}
			if err := l.Promote(); err != nil {
				return err
			}
			if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
				return err
			}
			return l.readRack(ctx, Observer)
		},
		Judge: judgeT1,
	}
}

// transact starts the transactional producer; the run ends it.
func (l *Lab) transact(ctx context.Context) (*traffic.Transactions, error) {
	return traffic.StartTransactions(ctx, l.Cluster.Addrs(), traffic.Options{Name: "tx", Topic: l.Plan.Topic,
		Partitions: int32(len(l.Plan.Assignment)), Size: recordSize, Timeout: giveUp}, l.Rec)
}

// readRack reads every partition with read_committed from the broker's zone.
func (l *Lab) readRack(ctx context.Context, broker int32) error {
	v, err := l.View(ctx)
	if err != nil {
		return err
	}
	for _, p := range v.Partitions {
		view := traffic.View{End: p.HW, Committed: true, Rack: cluster.Rack(broker), Limit: time.Minute}
		if err := traffic.Read(ctx, l.Cluster.Addrs(), p.Topic, p.ID, view, l.Rec); err != nil {
			return err
		}
	}
	return nil
}

func judgeT1(h history.History, p Plan, o *Outcome) {
	outcomes := map[string]int{}
	for _, op := range h.Ops() {
		outcomes[op.Outcome]++
	}
	o.require(check.That("transactions were committed and aborted", outcomes[history.Acked] > 0 && outcomes[history.Aborted] > 0,
		"%d records committed, %d aborted, %d unknown", outcomes[history.Acked], outcomes[history.Aborted], outcomes[history.Unknown]))
	kills := h.Faults("kill -9", history.Inject)
	after := 0
	for _, k := range kills {
		after = len(slices.DeleteFunc(h.Ops(), func(op history.Op) bool { return op.Outcome != history.Aborted || op.Start < k.At }))
	}
	o.require(check.That("transactions went on after the failover", after > 0, "%d kills, %d records aborted by plan or not after it", len(kills), after))
	at := map[bool]history.History{}
	edits := changes(h)
	for _, e := range h {
		if e.Read != nil && e.Read.Rack != "" {
			promoted := len(edits) > 0 && e.At > edits[0].began
			at[promoted] = append(at[promoted], e)
		}
	}
	plain := slices.DeleteFunc(slices.Clone(h), func(e history.Event) bool { return e.Read != nil && e.Read.Rack != "" })
	for _, promoted := range []bool{false, true} {
		if !promoted && p.Set == release.Base {
			continue
		}
		f := check.ThroughRack(append(slices.Clone(plain), at[promoted]...), cluster.Rack(Observer), Observer)
		if promoted {
			f.Rule += ", once it is promoted"
		} else {
			f.Rule += ", while it is an observer"
		}
		o.find(f)
	}
}
