package scenario

import (
	"testing"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

func TestS10FindsAPartitionThatGoesOffline(t *testing.T) {
	// away is how alone looks while 2 is dead, back when it has returned, chosen who leads stable in the end.
	run := func(away, back history.Partition, chosen int32) *story {
		return tell(t, s10()).marked(4).sees(part(shrinks, 1, 1, 2, 3), part(alone, 1, 1, 2), part(stable, 1, 1, 3)).
			marked(1, 4).kill(2).
			sees(part(shrinks, 3, 1, 3), part(alone, 1, 1), part(stable, 1, 1, 3)).
			sees(part(shrinks, 3, 3), away, part(stable, 1, 1, 3)).heal(2).
			sees(part(shrinks, 3, 3, 2), back, part(stable, 1, 1, 3)).
			mark(preferred, stable, 0, "").sees(part(shrinks, 3, 3, 2), back, part(stable, chosen, 1, 3)).marked(4)
	}
	full := func(s *story) []string { return s.violated(s10(), release.Full, release.KRaft) }
	only(t, full(run(part(alone, 1, 1), part(alone, 2, 2), 3)))
	only(t, full(run(part(alone, -1, 1), part(alone, 2, 2), 3)), "no partition is without leader")
	only(t, full(run(part(alone, 1, 1), part(alone, 1, 1, 2), 3)), "leadership moves to a sync member")
	only(t, full(run(part(alone, 1, 1), part(alone, 4, 4), 3)), "leadership moves to a sync member")
	only(t, full(run(part(alone, 1, 1), part(alone, 2, 2), 1)), "a preferred election moves")
	base := func(s *story) []string { return s.violated(s10(), release.Base, release.KRaft) }
	only(t, base(run(part(alone, -1, 1), part(alone, -1, 1), 1)))
	only(t, base(run(part(alone, 1, 1), part(alone, 2, 2), 1)), "the trap")
}

func TestS11FindsAnObserverElectedFromTheELR(t *testing.T) {
	run := func(elected int32, slow float64, in ...int32) *story {
		return tell(t, s11()).marked(4).sees(part(0, 1, 1, 2)).marked().sees(part(0, 1, 1, 2, 4)).kill(1).sees(part(0, 2, 2, 4)).
			marked(4).sees(elr(part(0, 2, 2), in...)).kill(2).sees(part(0, elected)).mark(leaderless, 0, 0, "").
			heal(2).sees(part(0, elected)).marked().wait(slow).sees(part(0, 4, 4))
	}
	judge := func(s *story) []string { return s.violated(s11(), release.Full, release.KRaft) }
	only(t, judge(run(-1, 0, 4)))
	only(t, judge(run(4, 0, 4)), "the observer in the ELR is not elected")
	only(t, judge(run(-1, 0, 1)), "the observer was in the ELR")
	only(t, judge(run(-1, 11000, 4)), "recovery")
}

func TestS12FindsTheWrongChoice(t *testing.T) {
	run := func(best, led int32, lag, far int64, rest ...int32) *story {
		return tell(t, s12()).marked(4, 5).sees(part(0, 1, append([]int32{1, 2, 3}, rest...)...)).kill(1, 2, 3).sees(part(0, led)).
			mark(leaderless, 0, 0, "").sees(part(0, led)).mark(choice, 0, 900, "4").mark(choice, 0, 900-far, "5").mark(chosen, 0, int64(best), "").
			mark("loss-bound", 0, lag, "").marked(5).sees(part(0, best, best))
	}
	judge := func(s *story) []string { return s.violated(s12(), release.Full, release.KRaft) }
	only(t, judge(run(4, -1, 0, 500)))
	only(t, judge(run(4, -1, 3, 500)), "the one with less lag had everything")
	only(t, judge(run(4, -1, 0, 5)), "one observer was behind the other")
	only(t, judge(run(4, 5, 0, 500)), "neither leads while it is marked")
	only(t, judge(run(4, -1, 0, 500, 5)), "the other one is in no ISR")
	only(t, judge(run(5, -1, 0, 500)), "one observer was behind the other")
}

func TestS17FindsALeaderThatDoesNotComeBack(t *testing.T) {
	run := func(away, back int32, isr ...int32) *story {
		return tell(t, s17()).marked(4).sees(part(0, 1, 1, 2)).marked().kill(2).sees(part(0, 1, isr...)).marked(4).kill(1).
			sees(part(0, away, 4)).heal(1).sees(part(0, back, 1)).wait(9000).sees(part(0, back, 1))
	}
	full := func(s *story) []string { return s.violated(s17(), release.Full, release.KRaft) }
	only(t, full(run(-1, 1, 1, 4)))
	only(t, full(run(-1, -1, 1, 4)), "1 leads again was seen")
	only(t, full(run(4, 1, 1, 4)), "no leader while 1 is away")
	only(t, full(run(-1, 1, 1)), "the marked one was in the ISR")
	base := func(s *story) []string { return s.violated(s17(), release.Base, release.KRaft) }
	only(t, base(run(-1, -1, 1, 4)))
	only(t, base(run(-1, 1, 1, 4)), "the trap")
}

func TestS18FindsPartitionsOfObserversThatMisbehave(t *testing.T) {
	back := int32(3)
	run := func(created string, orphanLed int32, both []int32, written int, target []int32) *story {
		s := tell(t, s18()).marked(4, 5).sees(in(allMarked, on(part(0, 4, both...), 4, 5))).writes(allMarked, written).
			move(0, 4, 5).mark(movingMark, 0, 1, "").sees(on(part(0, 4, target...), 4, 5)).mark(movingMark, 0, 0, "").
			kill(3).mark(answer, 0, 0, created)
		if orphanLed != 0 {
			s.sees(in(orphan, on(part(0, orphanLed, orphanLed), 3, 4)))
		}
		s.heal(3)
		if orphanLed < 0 {
			s.sees(in(orphan, on(part(0, back, back), 3, 4)))
		}
		return s
	}
	kraft := func(s *story) []string { return s.violated(s18(), release.Full, release.KRaft) }
	ok := []int32{4, 5}
	only(t, kraft(run("refused", 0, ok, 300, ok)))
	only(t, kraft(run("created", 4, ok, 300, ok)), "creation is refused")
	only(t, kraft(run("refused", 0, []int32{4}, 300, ok)), "a partition with marked replicas only keeps them")
	only(t, kraft(run("refused", 0, ok, 299, ok)), "it takes writes")
	only(t, kraft(run("refused", 0, ok, 300, []int32{4})), "the reassignment to marked targets")
	zk := func(s *story) []string { return s.violated(s18(), release.Full, release.ZK) }
	only(t, zk(run("created", -1, ok, 300, ok)))
	only(t, zk(run("created", 4, ok, 300, ok)), "a topic made while its sync replica is down waits")
	back = 4
	only(t, zk(run("created", -1, ok, 300, ok)), "a topic made while its sync replica is down waits")
	base := func(s *story) []string { return s.violated(s18(), release.Base, release.KRaft) }
	away := func(leaves, returns []int32, orphanLed int32) *story {
		return tell(t, s18()).marked(4, 5).sees(in(allMarked, on(part(0, 4, 4, 5), 4, 5))).kill(5).sees(in(allMarked, on(part(0, 4, leaves...), 4, 5))).heal(5).
			sees(in(allMarked, on(part(0, 4, returns...), 4, 5))).wait(9000).sees(in(allMarked, on(part(0, 4, returns...), 4, 5))).
			kill(3).mark(answer, 0, 0, "created").sees(in(orphan, on(part(0, orphanLed, orphanLed), 3, 4))).heal(3)
	}
	only(t, base(away([]int32{4}, []int32{4}, 4)))
	only(t, base(away([]int32{4}, ok, 4)), "the trap: a partition with marked replicas only does not take back")
	only(t, base(away([]int32{4}, []int32{4}, 3)), "the trap: the observer leads")
	only(t, base(away(ok, ok, 4)), "a marked replica left the ISR", "the trap: a partition with marked replicas only does not take back")
}
