package overview

import (
	"cmp"
	"slices"

	"observer-patch/internal/cluster"
)

// losses works out what the loss of one zone or of one broker would do. A partition counts when it
// takes writes now and would not any more.
type losses struct {
	report *Report
	quorum *cluster.Quorum
	byZone map[string]*Loss
	byNode map[int32]*Loss
	zoneOf map[int32]string
}

func newLosses(r *Report, s *cluster.Snapshot) *losses {
	l := &losses{report: r, quorum: s.Quorum, byZone: map[string]*Loss{}, byNode: map[int32]*Loss{}, zoneOf: map[int32]string{}}
	for _, n := range r.Nodes {
		l.zoneOf[n.ID] = n.Zone
		if n.Zone != "" {
			if l.byZone[n.Zone] == nil {
				l.byZone[n.Zone] = &Loss{Zone: n.Zone, Brokers: []int32{}}
			}
			if n.Broker {
				l.byZone[n.Zone].Brokers = append(l.byZone[n.Zone].Brokers, n.ID)
			}
		}
		if n.Broker && n.Alive.V {
			l.byNode[n.ID] = &Loss{Brokers: []int32{n.ID}}
		}
	}
	return l
}

// add takes a partition that is led and takes writes: its sync ISR, how many of them it needs, and
// its observers that are alive.
func (l *losses) add(name string, sync []int32, need int, observers []int32) {
	for i, b := range sync {
		if loss := l.byNode[b]; loss != nil && loss.note(name, len(sync)-1, need) {
			loss.standIn(observers)
		}
		zone := l.zoneOf[b]
		if zone == "" || slices.ContainsFunc(sync[:i], func(c int32) bool { return l.zoneOf[c] == zone }) {
			continue
		}
		left := 0
		for _, c := range sync {
			if l.zoneOf[c] != zone {
				left++
			}
		}
		l.byZone[zone].note(name, left, need)
	}
}

// note counts a partition with so many sync members left, and tells whether it would stop.
func (l *Loss) note(name string, left, need int) bool {
	if left >= need && left > 0 {
		return false
	}
	l.Stops++
	if left == 0 {
		l.Offline++
	}
	l.Example = cmp.Or(l.Example, name)
	return true
}

// standIn keeps those that help every partition that would stop: the first one sets them.
func (l *Loss) standIn(observers []int32) {
	if l.Stops == 1 {
		l.StandIns = slices.Clone(observers)
		return
	}
	l.StandIns = slices.DeleteFunc(l.StandIns, func(b int32) bool { return !slices.Contains(observers, b) })
}

func (l *losses) zones() []Loss {
	out := []Loss{}
	for _, loss := range l.byZone {
		loss.Quorum = l.losesQuorum(func(id int32) (bool, bool) { return l.zoneOf[id] == loss.Zone, l.zoneOf[id] != "" })
		out = append(out, *loss)
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Zone, b.Zone) })
	return out
}

func (l *losses) restarts() []Loss {
	out := []Loss{}
	for id, loss := range l.byNode {
		loss.Quorum = l.losesQuorum(func(voter int32) (bool, bool) { return voter == id, true })
		out = append(out, *loss)
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Brokers[0], b.Brokers[0]) })
	return out
}

// losesQuorum tells whether the controllers that follow now would be no majority without those
// that go; goes says of a voter whether it does, and whether that is known. A voter whose zone is
// not known is counted both ways, and the answer is unknown when they differ.
func (l *losses) losesQuorum(goes func(id int32) (gone, known bool)) cluster.Value[bool] {
	if l.quorum == nil {
		return cluster.Value[bool]{}
	}
	stay, unknown := 0, 0
	for _, id := range l.quorum.Following() {
		switch gone, known := goes(id); {
		case !known:
			unknown++
		case !gone:
			stay++
		}
	}
	all := len(l.quorum.Voters)
	worst, best := 2*stay <= all, 2*(stay+unknown) <= all
	if worst != best {
		return cluster.Value[bool]{}
	}
	return cluster.Known(worst)
}
