package scenario

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// s17 marks a member of an ISR of two and kills the other one before the ISR has shrunk.
func s17() Scenario {
	return Scenario{
		ID: "S17", Title: "a marked member survives in the ISR: mark 4 in ISR 1,4, kill -9 and restart 1 (ELR off; S11 has it on)",
		Expect:     "no leader while 1 is away, 1 leads again when it is back, without any promotion",
		Base:       "1 is back and does not lead: it is no longer in the ISR (KRaft), or the marked member was elected (ZooKeeper)",
		BaseBreaks: []string{check.NoneLeads, check.OutOfISR},
		Layout:     withoutELR, Assignment: [][]int32{{1, 2, 4}, {1, 2, 4}},
		Run:   runS17,
		Judge: judgeS17,
	}
}

func runS17(ctx context.Context, l *Lab) error {
	load, err := l.Load(ctx)
	if err != nil {
		return err
	}
	second, leader := fault.Kill{Nodes: []int32{2}}, fault.Kill{Nodes: []int32{1}}
	if err := l.leaveTwo(ctx, second, 1); err != nil {
		return err
	}
	load.Stop()
	// The controller looks at its file twice a second and fences 1 many seconds after its death, so
	// it knows by then; the leader looks whom to evict every 5 s, so it has no time to.
	if err := l.Demote(Observer); err != nil {
		return err
	}
	if err := l.Inject(ctx, leader); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 60*time.Second, "1 leads no more", func(p history.Partition) bool { return p.Leader != 1 }); err != nil {
		return err
	}
	if err := l.Stays(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := l.Heal(ctx, leader); err != nil {
		return err
	}
	if l.Plan.Set == release.Base {
		if err := l.Stays(ctx, 8*time.Second); err != nil {
			return err
		}
		if err := l.Promote(); err != nil {
			return err
		}
		if err := l.Until(ctx, 30*time.Second, "every partition has a leader", func(v history.View) error {
			for _, p := range v.Partitions {
				if p.Leader < 0 {
					_, err := l.Elect(ctx, kadm.ElectPreferredReplica, p.Topic, p.ID)
					return errNoLeader(p, err)
				}
			}
			return nil
		}); err != nil {
			return err
		}
	} else if err := l.UntilEach(ctx, 30*time.Second, "1 leads again", func(p history.Partition) bool { return p.Leader == 1 }); err != nil {
		return err
	}
	if err := l.Heal(ctx, second); err != nil {
		return err
	}
	if l.Plan.Set == release.Base {
		if err := l.UntilWhole(ctx, 60*time.Second); err != nil {
			return err
		}
		if err := l.stepDown(ctx, Observer); err != nil {
			return err
		}
	}
	if err := l.UntilWhole(ctx, 60*time.Second, Observer); err != nil {
		return err
	}
	after, err := l.Produce(ctx, "after", Rate, 200)
	if err != nil {
		return err
	}
	after.Wait()
	return nil
}

func judgeS17(h history.History, p Plan, o *Outcome) {
	kills, healed, edits := h.Faults("kill -9", history.Inject), h.Faults("kill -9", history.Heal), changes(h)
	if len(kills) < 2 || len(healed) == 0 || len(edits) < 2 {
		o.require(check.That("4 was marked and 1 was killed and restarted", false, "%d kills, %d edits", len(kills), len(edits)))
		return
	}
	led := before(h, p.Topic, kills[1].Fault.Began)
	with := len(led) > 0
	for _, s := range led {
		with = with && slices.Equal(sorted(s.ISR), []int32{1, Observer})
	}
	o.require(check.That("the marked one was in the ISR when 1 died", with, "ISR 1,4 in the last sample before, 1 killed %.0f ms after the edit", kills[1].At-edits[1].at))
	back := healed[0].At
	end := back + 8000
	if len(edits) > 2 {
		end = edits[2].began
	}
	away, by4, n := 0, 0, 0
	for _, s := range h.Samples(p.Topic) {
		if s.From < kills[1].At || s.At > healed[0].Fault.Began {
			continue
		}
		n++
		switch s.Leader {
		case Observer:
			by4++
		case -1:
			away++
		}
	}
	o.require(check.That("1 was seen to be away", away+by4 > 0, "%d of %d samples without leader, %d led by 4", away, n, by4))
	again, ok := h.AllParts(p.Topic, back, func(s history.Sample) bool { return s.Leader == 1 })
	if p.Set == release.Base {
		o.find(check.That("the trap: 1 is back and does not lead", !ok || again > end, "1 leads all partitions at %.0f ms, it was back at %.0f ms; %d samples led by the marked 4", again, back, by4))
		return
	}
	o.find(check.That("no leader while 1 is away", by4 == 0, "%d samples led by 4", by4))
	o.measure(Measure{Name: "1 leads again", MS: again - healed[0].Fault.Began, From: "start of its process", To: "leader of all partitions, without promotion"}, ok)
}
