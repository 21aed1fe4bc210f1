package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

const moveFile = "move.json"

// Mover changes assignments and throttles; a Connection is one.
type Mover interface {
	Reassign(ctx context.Context, parts []observer.Partition) error
	// Throttled gives the throttles that a broker knows of: its own rates and the topics' lists.
	Throttled(ctx context.Context, broker int32, topics []string) ([]string, error)
	SetThrottle(ctx context.Context, t Throttle) error
	ClearThrottle(ctx context.Context, t Throttle) error
}

// Move is a change of assignments under way. It is stored before anything is done, so that a run
// that was killed leaves no throttle that nobody knows of.
type Move struct {
	Changes   []placement.Change `json:"changes"`
	Observers []int32            `json:"observers"`
	Throttle  Throttle           `json:"throttle"`
	Since     time.Time          `json:"since"`
	Who       string             `json:"who"`
}

// String says what is under way, for people.
func (m Move) String() string {
	return fmt.Sprintf("a move of %d partitions since %s by %s is not finished, observer-patch plan --finish goes on with it", len(m.Changes), m.Since.UTC().Format(time.RFC3339), m.Who)
}

// Move gives the move that is under way, nil when none is.
func (s *Store) Move() (*Move, error) {
	var m Move
	ok, err := s.load(moveFile, &m)
	if err != nil || !ok {
		return nil, err
	}
	return &m, nil
}

// BeginMove does the changes: throttled, an observer's replacement in two steps, the second when
// the new one lacks nothing. It is refused while another move is under way or somebody else has
// set a throttle where this one would. It gives the command that takes the move back.
func (o *Operator) BeginMove(ctx context.Context, mover Mover, changes []placement.Change, observers []int32, rate int64, limit time.Duration) (string, error) {
	old, err := o.Store.Move()
	if err != nil {
		return "", err
	}
	if old != nil {
		return "", exit.With(exit.Refused, errors.New(old.String()))
	}
	m := Move{Observers: observers, Since: o.Now(), Who: o.Who, Throttle: ThrottleOf(changes, rate)}
	for _, c := range changes {
		if c.Differs() {
			m.Changes = append(m.Changes, c)
		}
	}
	if len(m.Changes) == 0 {
		return "", nil
	}
	for _, b := range m.Throttle.Brokers {
		set, err := mover.Throttled(ctx, b, m.Throttle.Topics())
		if err != nil {
			return "", fmt.Errorf("look for throttles: %w", err)
		}
		if len(set) > 0 {
			return "", exit.With(exit.Refused, fmt.Errorf("%s: throttles are set already, and removing them at the end would not be this tool's to do; remove them, or wait for who set them", set[0]))
		}
	}
	if _, foreign, err := o.ours(ctx, m); err != nil || len(foreign) > 0 {
		if err == nil {
			err = exit.With(exit.Refused, fmt.Errorf("%s: somebody else has reassigned it since the plan was made; run the command again", foreign[0]))
		}
		return "", err
	}
	if err := o.Store.save(moveFile, m); err != nil {
		return "", err
	}
	return o.finishMove(ctx, mover, m, limit)
}

// ours gives the move without the partitions that are neither where it found them nor where it
// puts them: somebody else has reassigned them since, or they are gone.
func (o *Operator) ours(ctx context.Context, m Move) (Move, []string, error) {
	v, err := o.Kafka.Look(ctx)
	if err != nil {
		return m, nil, err
	}
	var foreign []string
	var keep []placement.Change
	for _, c := range m.Changes {
		p, ok := find(v, c.Topic, c.ID)
		if target := p.Target(); ok && (slices.Equal(target, c.From) || slices.Equal(target, m.step(c)) || slices.Equal(target, c.To)) {
			keep = append(keep, c)
			continue
		}
		foreign = append(foreign, key(c.Topic, c.ID))
	}
	m.Changes = keep
	return m, foreign, nil
}

// step gives the first assignment of a change.
func (m Move) step(c placement.Change) []int32 {
	return c.Step(func(b int32) bool { return slices.Contains(m.Observers, b) })
}

// FinishMove goes on with a move that was cut off; none is no error. It gives the command that takes
// the move back, none where nothing of it was left to be moved.
func (o *Operator) FinishMove(ctx context.Context, mover Mover, limit time.Duration) (string, error) {
	m, err := o.Store.Move()
	if err != nil || m == nil {
		return "", err
	}
	return o.finishMove(ctx, mover, *m, limit)
}

// finishMove does what is left of a move, from wherever it is: every step looks before it acts.
func (o *Operator) finishMove(ctx context.Context, mover Mover, m Move, limit time.Duration) (string, error) {
	m, foreign, err := o.ours(ctx, m)
	if err != nil {
		return "", fmt.Errorf("%w; observer-patch plan --finish goes on", err)
	}
	if len(foreign) > 0 {
		o.Log.Warn("somebody else has reassigned these since, or they are gone: left alone", "partitions", foreign)
	}
	if m.Throttle.Rate > 0 {
		if err := mover.SetThrottle(ctx, m.Throttle); err != nil {
			return "", fmt.Errorf("throttle: %w; observer-patch plan --finish goes on", err)
		}
		if err := o.untilThrottled(ctx, mover, m.Throttle, true, limit); err != nil {
			return "", fmt.Errorf("%w; nothing more was reassigned; observer-patch plan --finish goes on", err)
		}
	}
	for step, to := range []func(placement.Change) []int32{m.step, func(c placement.Change) []int32 { return c.To }} {
		if err := o.moveTo(ctx, mover, m, step, to); err != nil {
			return "", fmt.Errorf("%w; observer-patch plan --finish goes on", err)
		}
		if err := o.untilCopied(ctx, m, to, limit); err != nil {
			return "", fmt.Errorf("%w; the cluster goes on copying, throttled; observer-patch plan --finish removes the throttle when it has ended", err)
		}
	}
	if m.Throttle.Rate > 0 {
		if err := mover.ClearThrottle(ctx, m.Throttle); err != nil {
			return "", fmt.Errorf("remove the throttle: %w; observer-patch plan --finish tries again", err)
		}
		if err := o.untilThrottled(ctx, mover, m.Throttle, false, limit); err != nil {
			return "", fmt.Errorf("%w; observer-patch plan --finish tries again", err)
		}
	}
	// What was deleted meanwhile is nothing to take back.
	if m, _, err = o.ours(ctx, m); err != nil {
		return "", fmt.Errorf("%w; observer-patch plan --finish tries again", err)
	}
	undo, err := o.Store.keep(beforeMove, m.Since, m.Changes)
	if err != nil {
		return "", fmt.Errorf("%w; observer-patch plan --finish tries again", err)
	}
	if undo != "" {
		undo += fmt.Sprintf(" --throttle %d", m.Throttle.Rate)
	}
	return undo, o.Store.drop(moveFile)
}

// untilThrottled waits until every live broker of the throttle knows all of it, or nothing of it: a
// copy that begins before is not bound, and a throttle that is only said to be removed binds on. A
// broker that is away learns of it when it comes back.
func (o *Operator) untilThrottled(ctx context.Context, mover Mover, t Throttle, all bool, limit time.Duration) error {
	what := "no broker is throttled any more"
	if all {
		what = "the throttle is in force"
	}
	_, err := o.until(ctx, limit, what, func(v observer.View) []string {
		topics := slices.DeleteFunc(t.Topics(), func(topic string) bool {
			return !slices.ContainsFunc(v.Partitions, func(p observer.Partition) bool { return p.Topic == topic })
		})
		want := 0
		if all {
			want = 2 + 2*len(topics) // two rates, two lists of each topic
		}
		var out []string
		for _, b := range t.Brokers {
			if !v.IsLive(b) {
				continue
			}
			switch set, err := mover.Throttled(ctx, b, topics); {
			case err != nil:
				out = append(out, err.Error())
			case len(set) != want:
				out = append(out, fmt.Sprintf("broker %d knows %d settings of the throttle, expected %d: %v", b, len(set), want, set))
			}
		}
		return out
	})
	return err
}

// moveTo submits the assignments that are not there yet.
func (o *Operator) moveTo(ctx context.Context, mover Mover, m Move, step int, to func(placement.Change) []int32) error {
	v, err := o.Kafka.Look(ctx)
	if err != nil {
		return err
	}
	var parts []observer.Partition
	for _, c := range m.Changes {
		p, ok := find(v, c.Topic, c.ID)
		if !ok || slices.Equal(p.Target(), c.To) || slices.Equal(p.Target(), to(c)) {
			continue
		}
		p.Replicas = to(c)
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil
	}
	o.Log.Info("reassignment", "partitions", len(parts), "step", step+1)
	return mover.Reassign(ctx, parts)
}

// untilCopied waits until no reassignment of the changes is running and the new observers lack
// nothing that is committed: a reassignment that adds an observer completes at once (R6).
func (o *Operator) untilCopied(ctx context.Context, m Move, to func(placement.Change) []int32, limit time.Duration) error {
	_, err := o.until(ctx, limit, "every copy is there", func(v observer.View) []string {
		var out []string
		var copying []observer.Partition
		for _, c := range m.Changes {
			p, ok := find(v, c.Topic, c.ID)
			switch {
			case !ok:
			case p.Error != "": // also where it is not known whether it is being reassigned
				out = append(out, p.String()+": "+p.Error)
			case len(p.Adding)+len(p.Removing) > 0 || !slices.Equal(p.Replicas, to(c)) && !slices.Equal(p.Replicas, c.To):
				out = append(out, fmt.Sprintf("%s: replicas %v, adding %v, removing %v", p, p.Replicas, p.Adding, p.Removing))
			case len(c.Copying) > 0:
				copying = append(copying, p)
			}
		}
		positions, err := o.Kafka.Positions(ctx, copying, false)
		if err != nil {
			return append(out, err.Error())
		}
		for _, c := range m.Changes {
			name := key(c.Topic, c.ID)
			if !slices.ContainsFunc(copying, func(p observer.Partition) bool { return p.String() == name }) {
				continue
			}
			hw, known := positions.Committed(name)
			for _, b := range c.Copying {
				pos, ok := positions.Replicas[name][b]
				switch {
				case !known || !ok || !pos.Known():
					out = append(out, fmt.Sprintf("%s: how far observer %d is, is not known", name, b))
				case pos.End < hw:
					out = append(out, fmt.Sprintf("%s: observer %d lacks %d records", name, b, hw-pos.End))
				}
			}
		}
		return out
	})
	return err
}

func find(v observer.View, topic string, id int32) (observer.Partition, bool) {
	for _, p := range v.Partitions {
		if p.Topic == topic && p.ID == id {
			return p, true
		}
	}
	return observer.Partition{}, false
}
