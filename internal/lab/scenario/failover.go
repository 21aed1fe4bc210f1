package scenario

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
)

// s1 kills the leader.
func s1() Scenario {
	s := leaderKilled(2, Rate)
	s.ID, s.Title, s.Expect = "S1", "kill -9 the leader", "another ISR member leads, never the observer; writes go on"
	return s
}

// p2 kills it often enough to compare. The session timeout counts from the last heartbeat before the kill, so one
// failover alone varies by the interval of heartbeats: 2 s in KRaft, 6 s with ZooKeeper.
func p2() Scenario {
	const kills = 10
	s := leaderKilled(kills, Rate/4)
	judge := s.Judge
	s.Judge = func(h history.History, p Plan, o *Outcome) {
		judge(h, p, o)
		n := len(h.Faults("kill -9", history.Inject))
		o.require(check.That("the leader was killed as often as planned", n == kills, "%d of %d", n, kills))
	}
	s.ID, s.Title, s.Expect = "P2", "how long a failover takes", "another ISR member leads each time, never the observer; the times are there to be compared with upstream's of the same run, which no verdict does"
	s.Limit = 15 * time.Minute
	return s
}

// leaderKilled kills the leader of partition 0 so many times, under rate records a second and partition.
func leaderKilled(rounds, rate int) Scenario {
	return Scenario{
		Compare: true,
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.LoadAt(ctx, rate); err != nil {
				return err
			}
			for range rounds {
				leader, err := l.Leader(ctx, 0)
				if err != nil {
					return err
				}
				kill := fault.Kill{Nodes: []int32{leader}}
				if err := l.Inject(ctx, kill); err != nil {
					return err
				}
				if err := l.UntilEach(ctx, 60*time.Second, "another broker leads", func(p history.Partition) bool {
					return p.Leader >= 0 && p.Leader != leader && !slices.Contains(p.ISR, leader)
				}); err != nil {
					return err
				}
				if err := l.untilWritten(ctx, 20); err != nil {
					return err
				}
				if err := l.Heal(ctx, kill); err != nil {
					return err
				}
				if err := l.UntilWhole(ctx, 60*time.Second, l.Plan.Observers...); err != nil {
					return err
				}
			}
			return nil
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			var times []float64
			for _, k := range h.Faults("kill -9", history.Inject) {
				dead := k.Fault.Targets[0]
				led := before(h, p.Topic, k.Fault.Began)
				for _, id := range slices.Sorted(maps.Keys(led)) {
					was := led[id]
					if was.Leader != dead {
						continue
					}
					next, ok := h.First(p.Topic, k.At, func(s history.Sample) bool { return s.ID == id && s.Leader >= 0 && s.Leader != dead })
					if !ok {
						o.measure(Measure{Name: "failover", From: fmt.Sprintf("kill -9 of leader %d", dead), To: "another leader"}, false)
						continue
					}
					o.find(check.That("the new leader was in the ISR", was.InISR(next.Leader), "partition %d: %d after %d, ISR %v", id, next.Leader, dead, was.ISR))
					writes := acked(h, id, next.At, math.Inf(1))
					o.find(check.That("writes go on", len(writes) > 0, "partition %d: %d acknowledged after the failover", id, len(writes)))
					if id == 0 {
						times = append(times, next.At-k.At)
					}
				}
			}
			o.spread("failover", times, 0, "kill -9 of the leader", "another leader in a broker's metadata")
			o.stall(h, "kill -9")
		},
	}
}

// s2 kills a follower in the ISR that leads nothing.
func s2() Scenario {
	return Scenario{
		ID: "S2", Title: "kill -9 an ISR follower", Compare: true,
		Expect:     "the ISR shrinks, the leader stays, writes go on; the follower rejoins after its restart",
		Assignment: [][]int32{{1, 2, 3, 4}, {2, 1, 3, 4}},
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			kill := fault.Kill{Nodes: []int32{3}}
			if err := l.Inject(ctx, kill); err != nil {
				return err
			}
			if err := l.UntilEach(ctx, 60*time.Second, "the ISR is without 3", func(p history.Partition) bool { return !slices.Contains(p.ISR, 3) }); err != nil {
				return err
			}
			if err := l.untilWritten(ctx, 50); err != nil {
				return err
			}
			if err := l.Heal(ctx, kill); err != nil {
				return err
			}
			return l.UntilWhole(ctx, 60*time.Second, l.Plan.Observers...)
		},
		Judge: func(h history.History, p Plan, o *Outcome) {
			for _, k := range h.Faults("kill -9", history.Inject) {
				at, ok := h.AllParts(p.Topic, k.At, func(s history.Sample) bool { return !s.InISR(3) })
				o.measure(Measure{Name: "ISR shrink", MS: at - k.At, From: "kill -9 of follower 3", To: "the ISR without it in a broker's metadata"}, ok)
			}
			for _, k := range h.Faults("kill -9", history.Heal) {
				at, ok := h.AllParts(p.Topic, k.At, func(s history.Sample) bool { return s.InISR(3) })
				o.measure(Measure{Name: "rejoin", MS: at - k.Fault.Began, From: "start of the follower's process", To: "in the ISR of all partitions"}, ok)
			}
			led := map[int32]bool{}
			for _, s := range h.Samples(p.Topic) {
				if s.ID == 0 {
					led[s.Leader] = true
				}
			}
			o.find(check.That("the leader stays", len(led) == 1, "%d leaders seen for partition 0", len(led)))
			o.stall(h, "kill -9")
		},
	}
}

// leaveTwo promotes the observer and kills a sync replica, until leader and the observer alone are in
// the ISR and records were written to them.
func (l *Lab) leaveTwo(ctx context.Context, kill fault.Kill, leader int32) error {
	if err := l.Promote(); err != nil {
		return err
	}
	if err := l.UntilWhole(ctx, 30*time.Second); err != nil {
		return err
	}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	isr := []int32{leader, Observer}
	if err := l.UntilEach(ctx, 60*time.Second, fmt.Sprintf("the ISR is %d and %d", leader, Observer), func(p history.Partition) bool {
		return p.Leader == leader && slices.Equal(sorted(p.ISR), isr)
	}); err != nil {
		return err
	}
	return l.untilWritten(ctx, 20)
}

// untilWritten waits until every partition has grown by n records.
func (l *Lab) untilWritten(ctx context.Context, n int64) error {
	start, err := l.View(ctx)
	if err != nil {
		return err
	}
	return l.Until(ctx, 60*time.Second, fmt.Sprintf("every partition has %d more records", n), func(v history.View) error {
		for i, p := range v.Partitions {
			if p.Topic != l.Plan.Topic {
				continue
			}
			if p.HW < start.Partitions[i].HW+n || start.Partitions[i].HW < 0 {
				if start.Partitions[i].HW < 0 {
					start.Partitions[i].HW = p.HW
				}
				return fmt.Errorf("%s-%d: high watermark %d, was %d", p.Topic, p.ID, p.HW, start.Partitions[i].HW)
			}
		}
		return nil
	})
}

// stall adds the longest time that an acknowledged record took around each fault, and asks that
// records sent after it were acknowledged.
func (o *Outcome) stall(h history.History, name string) {
	longest, after := 0.0, 0
	for _, k := range h.Faults(name, history.Inject) {
		for _, op := range h.Ops() {
			if op.Outcome == history.Acked && op.End >= k.Fault.Began {
				longest = max(longest, op.End-op.Start)
				if op.Start > k.At {
					after++
				}
			}
		}
	}
	o.find(check.That("records sent after the fault are acknowledged", after > 0, "%d", after))
	o.measure(Measure{Name: "longest write", MS: longest, From: "record handed to the client, around the fault", To: "acknowledgement"}, after > 0)
}
