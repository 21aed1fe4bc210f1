package witness

import (
	"cmp"
	"math"
	"slices"

	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// Who changed a broker's mark.
const (
	ByAuto   = "auto"
	ByPerson = "person"
	// ByEither is a change that a person's command and auto both were at.
	ByEither = "either"
)

// Change is a change of a broker's mark in the files, from the first file to the last.
type Change struct {
	Broker int32
	Kind   observer.Change
	// From is when the first file was changed at the latest; To is the same of the last, +Inf when
	// the files never agreed again.
	From, To float64
	Writes   []Write
	By       string
	// Undone says that the files went back to what they were.
	Undone bool
}

// Write is one file of a change; Kind is the direction of that one.
type Write struct {
	At   float64
	Kind observer.Change
}

// Changes finds the changes of all marks, in order of their first file. Whatever no person's
// command accounts for is auto's, whether its log says so or not; files that the lab made differ do
// not count.
func (s Story) Changes() []Change {
	var out []Change
	for _, b := range s.Settings.Observers {
		out = append(out, s.changes(b)...)
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.From, b.From) })
	return out
}

func (s Story) changes(broker int32) []Change {
	marked := map[int32]bool{}
	for _, n := range s.Settings.Nodes {
		marked[n] = true
	}
	var out []Change
	var open *Change
	for _, f := range s.Files {
		now := slices.Contains(f.IDs, broker)
		if s.byLab(f) || marked[f.Node] == now {
			continue
		}
		kind := observer.Promote
		if now {
			kind = observer.Demote
		}
		if open == nil {
			open = &Change{Broker: broker, Kind: kind, From: f.At, To: math.Inf(1), By: s.by(broker, kind, f)}
		}
		marked[f.Node] = now
		open.Writes = append(open.Writes, Write{f.At, kind})
		n := 0
		for _, m := range marked {
			if m {
				n++
			}
		}
		if n == 0 || n == len(marked) {
			open.To, open.Undone = f.At, (n == 0) != (open.Kind == observer.Promote)
			out = append(out, *open)
			open = nil
		}
	}
	if open != nil {
		out = append(out, *open)
	}
	return out
}

func (s Story) byLab(f File) bool {
	return slices.ContainsFunc(s.Hands, func(h Hand) bool { return h.Node != 0 && h.Node == f.Node && h.From <= f.At && f.Before <= h.To })
}

// by tells who made a change that this file began.
func (s Story) by(broker int32, kind observer.Change, f File) string {
	i := slices.IndexFunc(s.Hands, func(h Hand) bool { return h.Node == 0 && h.Broker == broker && h.From <= f.At && f.Before <= h.To })
	switch {
	case i < 0:
		return ByAuto
	case s.begun(broker, kind, f.At) != nil:
		return ByEither
	case s.Hands[i].Refused:
		return ByEither
	}
	return ByPerson
}

// begun gives the BEGIN line of an action that was under way at the time, or that a kill had cut off
// and nobody has dealt with since.
func (s Story) begun(broker int32, kind observer.Change, at float64) *Line {
	var found *Line
	for i, l := range s.Audit {
		if l.At > at {
			break
		}
		switch {
		case l.Event == promoter.AuditFinished, l.Event == promoter.AuditOvertaken:
			found = nil // of whatever was cut off
		case l.Broker != broker:
		case l.Event == promoter.AuditBegin:
			found = nil
			if l.Rule == string(kind) {
				found = &s.Audit[i]
			}
		case l.Event == promoter.AuditPromote, l.Event == promoter.AuditDemote, l.Event == promoter.AuditFailed:
			found = nil
		}
	}
	return found
}

// busy tells whether the process that ran at the time was about an action of the kind with one of
// the brokers.
func (s Story) busy(kind observer.Change, at float64, brokers ...int32) bool {
	return slices.ContainsFunc(brokers, func(b int32) bool {
		begin := s.begun(b, kind, at)
		return begin != nil && !slices.ContainsFunc(s.Audit, func(l Line) bool {
			return l.Event == promoter.AuditStart && begin.At < l.At && l.At <= at
		})
	})
}
