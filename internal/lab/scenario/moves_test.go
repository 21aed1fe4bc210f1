package scenario

import (
	"testing"

	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// moved tells of S9 as it should be; end are the replicas at the end where they are others, left is
// a partition whose move never ends, lone an ISR that was seen in between.
func moved(t *testing.T, end map[int32][]int32, left int32, lone ...int32) *story {
	s := tell(t, s9()).marked(4, 5)
	for id := adding; id <= replacing; id++ {
		s.move(id, s9Moves[id]...).mark(movingMark, id, 1, "")
		if id != left {
			s.mark(movingMark, id, 0, "")
		}
	}
	s.move(cancelling, 3, 2, 4, 5).mark(movingMark, cancelling, 1, "").move(cancelling).mark(movingMark, cancelling, 0, "")
	s.move(marking, 1, 3, 4, 5).mark(movingMark, marking, 1, "").move(marking, 1, 3, 4, 5).mark(resubmitted, marking, 0, "")
	s.mark(movingMark, marking, 0, "")
	if len(lone) > 0 {
		s.sees(part(marking, 1, lone...))
	}
	var parts []history.Partition
	for id := adding; id <= marking; id++ {
		r := s9Moves[id]
		if id == cancelling {
			r = s9Start[id]
		}
		if end[id] != nil {
			r = end[id]
		}
		parts = append(parts, on(part(id, 1, 1, 2), r...))
	}
	return s.sees(parts...)
}

func TestS9FindsAMoveThatDoesNotEndAsItShould(t *testing.T) {
	full := func(s *story) []string { return s.violated(s9(), release.Full, release.KRaft) }
	only(t, full(moved(t, nil, -1)))
	only(t, full(moved(t, nil, moving)), "moving a sync replica completes", "moving a sync replica was seen")
	only(t, full(moved(t, map[int32][]int32{adding: {1, 2, 3}}, -1)), "adding an observer completes")
	only(t, full(moved(t, map[int32][]int32{cancelling: {3, 2, 4, 5}}, -1)), "cancelling completes")
	only(t, full(moved(t, map[int32][]int32{marking: {1, 2, 3, 4}}, -1)), "marking in mid-move completes")
	only(t, full(moved(t, nil, -1, 4)), "the ISR always has a sync replica")
}

func TestS9UnderBaseShowsTheTrap(t *testing.T) {
	stuck := func(early bool) *story {
		s := tell(t, s9()).marked(4, 5)
		for _, id := range []int32{adding, moving} {
			s.move(id, s9Moves[id]...).mark(movingMark, id, 1, "")
			if early {
				s.mark(movingMark, id, 0, "")
			}
		}
		s.marked()
		if !early {
			s.mark(movingMark, adding, 0, "").mark(movingMark, moving, 0, "")
		}
		return s
	}
	only(t, stuck(false).violated(s9(), release.Base, release.ZK))
	only(t, stuck(true).violated(s9(), release.Base, release.ZK), "the trap: partition 0", "the trap: partition 1")
}
