package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

func (s *story) jars(node int32, name string) *story {
	return s.add(history.Event{Jars: &history.Jars{Node: node, Name: name}})
}

func TestS13FindsANodeThatWasLeftOutAndAnUpgradeThatChangesSomething(t *testing.T) {
	run := func(skip int32, isr ...int32) *story {
		s := tell(t, s13()).marked()
		nodes := s13().NewPlan("4.1.0", release.KRaft, release.Full, false, nil).nodes()
		for _, id := range nodes {
			if id != skip {
				s.jars(id, "").writes("s13", 1)
			}
		}
		s.sees(part(0, 1, isr...)).mark(rolledOut, 0, 7, "").marked(4).sees(part(0, 1, 1, 2, 3)).marked().sees(part(0, 1, 1, 2, 3, 4))
		for _, id := range nodes {
			s.jars(id, Upstream)
		}
		return s.mark(rolledBack, 0, 7, "")
	}
	judge := func(s *story) []string { return s.violated(s13(), release.Full, release.KRaft) }
	only(t, judge(run(-1, 1, 2, 3, 4)))
	only(t, judge(run(2, 1, 2, 3, 4)), "every node was restarted there and back")
	only(t, judge(run(-1, 1, 2, 3)), "patched and without a file")
}

func TestS13UpgradeWantsTheMistake(t *testing.T) {
	run := func(mistake string) *story {
		s := tell(t, s13Upgrade()).marked(4)
		nodes := s13Upgrade().NewPlan("3.9.2", release.KRaft, release.Full, false, nil).nodes()
		s.jars(2, mistake)
		for _, id := range nodes {
			s.jars(id, Next).writes("s13-upgrade", 1)
		}
		s.mark(rolledOut, 0, 7, "")
		for _, id := range nodes {
			s.jars(id, "")
		}
		return s.mark(rolledBack, 0, 7, "")
	}
	judge := func(s *story) []string { return s.violated(s13Upgrade(), release.Full, release.KRaft) }
	only(t, judge(run(NextUpstream)))
	only(t, judge(run(Next)), "one broker ran without the patch")
}

func TestS14FindsACutThatIsNoticed(t *testing.T) {
	run := func(during int32, behind int64, slow float64) *story {
		cut := part(0, during, 1, 2, 3)
		cut.HW, cut.LEO = 9+behind, nil
		s := tell(t, s14()).marked(4).sees(part(0, 1, 1, 2, 3)).writes("s14", 400).fault("cut", history.Inject, 4).writes("s14", 400)
		for i := range s.h {
			if op := s.h[i].Op; op != nil && op.Start > 650 {
				op.End += slow
			}
		}
		return s.wait(slow).sees(cut).fault("cut", history.Heal, 4).sees(part(0, 1, 1, 2, 3))
	}
	judge := func(s *story) []string { return s.violated(s14(), release.Full, release.KRaft) }
	only(t, judge(run(1, 100, 0)))
	only(t, judge(run(2, 100, 0)), "ISR and leaders stay")
	only(t, judge(run(1, 0, 0)), "the observer fell behind")
	only(t, judge(run(1, 100, 3000)), "p99 during")
}

func TestS15FindsWhenWhatIsSaidToHoldDoesNot(t *testing.T) {
	run := func(controller int64, late, led, headedBy int32, early ...int32) *story {
		s := tell(t, s15Controllers()).marked(4).mark(activeMark, 0, controller, "").sees(part(0, 2, early...), in(headed, part(0, headedBy, 4)))
		s.wait(DemotionWindow)
		if late == Observer {
			s.sees(part(0, 2, 1, 2, 3, 4))
		}
		return s.sees(part(0, 2, 1, 2, 3)).kill(2).sees(part(0, led, 1, 3)).writes("s15-controllers", 10)
	}
	judge := func(s *story) []string { return s.violated(s15Controllers(), release.Full, release.KRaft) }
	all := []int32{1, 2, 3, 4}
	only(t, judge(run(101, 0, 3, 4, all...)))
	only(t, judge(run(1, 0, 3, 4, all...)), "the active controller was of the kind")
	only(t, judge(run(101, 4, 3, 4, all...)), "holds: the observer leaves the ISR")
	only(t, judge(run(101, 0, 4, 4, all...)), "holds: the observer is not elected")
	only(t, judge(run(101, 0, 3, 1, all...)), "does not hold: the observer never leads")
	only(t, judge(run(101, 0, 3, 1, 1, 2, 3)), "does not hold: a new topic starts", "does not hold: the observer never leads")
}

func TestS15FindsAnUnpatchedBrokerThatBehavesOtherwise(t *testing.T) {
	run := func(first, headedBy, end int32) *story {
		isr := func(id int32) []int32 { return append([]int32{1, 2, 3}, []int32{4}[:id/4]...) }
		return tell(t, s15Brokers()).marked(4).mark(activeMark, 0, 101, "").sees(part(0, 1, isr(first)...), in(headed, part(0, headedBy, 1, 2))).
			fault("pause", history.Inject, 4).writes("s15-brokers", 5).fault("pause", history.Heal, 4).
			marked().sees(part(0, 1, 1, 2, 3, 4)).marked(4).wait(DemotionWindow).sees(part(0, 1, isr(end)...))
	}
	judge := func(s *story) []string { return s.violated(s15Brokers(), release.Full, release.KRaft) }
	only(t, judge(run(0, 1, 4)))
	only(t, judge(run(4, 1, 4)), "holds: the committed ISR is without")
	only(t, judge(run(0, 4, 4)), "holds: a topic headed by the observer")
	only(t, judge(run(0, 1, 0)), "does not hold: a demoted broker leaves")
}

func TestS19FindsAnElectionWithoutQuorum(t *testing.T) {
	run := func(during int32, isr int32, acked bool, back int32) *story {
		s := tell(t, s19()).marked(4).sees(part(0, 1, 1, 2, 3)).kill(1, 2).sees(part(0, 3, 3)).heal(1, 2).sees(part(0, 1, 1, 2, 3)).
			kill(101, 102, 1, 2).marked()
		s.wait(2000).sees(part(0, during, 1, 2, isr))
		if acked {
			s.writes("s19", 1)
		}
		return s.marked(4).heal(101).sees(part(0, back, 3))
	}
	judge := func(s *story) []string { return s.violated(s19(), release.Full, release.KRaft) }
	only(t, judge(run(1, 3, false, 3)))
	only(t, judge(run(-1, 3, false, 3)))
	only(t, judge(run(3, 3, false, 3)), "without quorum nobody is elected")
	only(t, judge(run(1, 4, false, 3)), "without quorum a promotion has no effect")
	only(t, judge(run(1, 3, true, 3)), "without quorum no record is acknowledged")
	only(t, judge(run(1, 3, false, 1)), "quorum back: failover was seen")
}

func TestT1FindsAViewThatDiffers(t *testing.T) {
	read := func(rack string, broker int32, n int64) history.Event {
		return history.Event{Read: &history.Read{Topic: "t1", Committed: true, End: 3, Rack: rack, Broker: broker, Runs: []history.Run{{Producer: "tx", N: n}}}}
	}
	run := func(before, after history.Event, outcome string) *story {
		op := history.Op{Producer: "tx", Topic: "t1", Outcome: outcome}
		done := op
		done.Outcome = history.Acked
		s := tell(t, s0()).marked(4).add(history.Event{Op: &done}).kill(1)
		op.Start = s.at + 1
		return s.add(history.Event{Op: &op}).heal(1).add(before).marked().add(after).add(read("", 0, 2))
	}
	judge := func(s *story, set release.Set) []string { return s.violated(t1(), set, release.KRaft) }
	good, short, leader := read("zone-4", 4, 2), read("zone-4", 4, 1), read("zone-4", 1, 2)
	only(t, judge(run(good, good, history.Aborted), release.Full))
	only(t, judge(run(short, good, history.Aborted), release.Full), "the read_committed view of broker 4 equals the leader's, while")
	only(t, judge(run(good, leader, history.Aborted), release.Full), "the read_committed view of broker 4 equals the leader's, once")
	only(t, judge(run(leader, good, history.Aborted), release.Base))
	only(t, judge(run(good, good, history.Acked), release.Full), "transactions were committed and aborted", "transactions went on")
}

func TestRulesThatAreToBreakAreNotedOnlyWithTheirSet(t *testing.T) {
	h := tell(t, s17()).marked(4).sees(part(0, 4, 4)).h
	broken := func(set release.Set) int {
		n := 0
		for _, f := range s17().JudgeRun(h, s17().NewPlan("4.1.0", release.KRaft, set, false, nil)).Findings {
			if !f.OK && (f.Rule == s17().BaseBreaks[0] || f.Rule == s17().BaseBreaks[1]) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, broken(release.Full))
	require.Zero(t, broken(release.Base))
}
