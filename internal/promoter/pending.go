package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

const pendingFile = "pending.json"

// Pending is a list that does not lie on every node yet: a distribution that is under way, was
// killed, or is a success but for nodes that could not be reached.
type Pending struct {
	Change observer.Change `json:"change"`
	// Before was in force when it began, List is what shall be.
	Before []int32 `json:"before"`
	List   []int32 `json:"list"`
	// Nodes are still without it.
	Nodes []int32 `json:"nodes"`
	// Complete is set when enough nodes have it; otherwise the distribution was cut off and has to
	// be finished or undone.
	Complete bool         `json:"complete"`
	Since    time.Time    `json:"since"`
	Who      string       `json:"who"`
	Undo     []hosts.Undo `json:"undo,omitempty"`
}

// String says what is pending, for people.
func (p Pending) String() string {
	state := "cut off"
	if p.Complete {
		state = "in force"
	}
	return fmt.Sprintf("%s of %s by %s, list %v (before: %v), %s, still to be written on nodes %v", p.Change, p.Since.UTC().Format(time.RFC3339), p.Who, p.List, p.Before, state, p.Nodes)
}

// TakenBackBy gives the commands that take the change of p back, none when its list is not in force: the
// change has come to nothing then, or nobody knows.
func (o *Operator) TakenBackBy(ctx context.Context, p Pending) ([]string, error) {
	v, err := o.View(ctx)
	if err != nil {
		return nil, err
	}
	ids, refusals := v.InForce()
	if len(refusals) > 0 || !slices.Equal(observer.With(ids), observer.With(p.List)) {
		return nil, nil
	}
	var out []string
	for _, b := range observer.Without(p.Before, p.List...) {
		out = append(out, undo(observer.Promote, b))
	}
	for _, b := range observer.Without(p.List, p.Before...) {
		out = append(out, undo(observer.Demote, b))
	}
	return out, nil
}

// Pending gives what is pending in the store, nil when nothing is.
func (s *Store) Pending() (*Pending, error) {
	var p Pending
	ok, err := s.load(pendingFile, &p)
	if err != nil || !ok {
		return nil, err
	}
	return &p, nil
}

// ErrOvertaken says that what was pending is no longer wanted: the list in force is another one.
var ErrOvertaken = errors.New("somebody has changed the list since")

// ErrTakenBack says that a demotion that was cut off has been undone, for the reason that follows.
var ErrTakenBack = errors.New("it was cut off and has been taken back")

// Finish writes what is pending on the nodes that can be reached now. A list that somebody has
// changed since is not written any more: a person has precedence; the pending note is dropped then
// and the error is ErrOvertaken. It gives what is left, nil when nothing is.
func (o *Operator) Finish(ctx context.Context) (*Pending, error) {
	p, err := o.Store.Pending()
	if err != nil || p == nil {
		return nil, err
	}
	v, err := o.View(ctx)
	if err != nil {
		return p, err
	}
	if !v.Majority {
		return p, errors.New("no active controller with a majority of the quorum answers: what is pending stays so")
	}
	if !p.Complete {
		return o.resume(ctx, v, p)
	}
	wanted := false
	controllers := slices.ContainsFunc(v.Nodes, func(n observer.Node) bool { return n.Controller })
	for _, n := range v.Nodes {
		if !n.Known || slices.Contains(p.Nodes, n.ID) || !n.Controller && !v.IsLive(n.ID) {
			continue
		}
		if !slices.Equal(observer.With(n.IDs), observer.With(p.List)) {
			if err := o.Store.drop(pendingFile); err != nil {
				return p, err
			}
			return nil, fmt.Errorf("pending list %v: node %d has %v: %w", p.List, n.ID, n.IDs, ErrOvertaken)
		}
		wanted = wanted || n.Controller || !controllers
	}
	var errs []error
	for _, node := range slices.Clone(p.Nodes) {
		i := slices.IndexFunc(v.Nodes, func(n observer.Node) bool { return n.ID == node })
		switch {
		case i < 0:
			o.Log.Warn("pending list: the node is not in the inventory any more", "node", node)
			p.Nodes = observer.Without(p.Nodes, node)
			continue
		case !v.Nodes[i].Known:
			errs = append(errs, fmt.Errorf("node %d: %s", node, v.Nodes[i].Cause))
			continue
		case slices.Equal(observer.With(v.Nodes[i].IDs), observer.With(p.List)):
			p.Nodes = observer.Without(p.Nodes, node)
			continue
		case !wanted:
			errs = append(errs, fmt.Errorf("node %d: whether the pending list %v is still wanted is not known, since no controller that has it can be asked", node, p.List))
			continue
		}
		if _, err := o.Files.Write(ctx, node, observer.RenderFile(p.List, o.Strict)); err != nil {
			errs = append(errs, err)
			continue
		}
		o.Log.Info("pending list written", "node", node, "list", p.List)
		p.Nodes = observer.Without(p.Nodes, node)
	}
	if len(p.Nodes) == 0 {
		return nil, o.Store.drop(pendingFile)
	}
	return p, errors.Join(append(errs, o.Store.save(pendingFile, p))...)
}

// resume deals with a distribution that was cut off. Where no file was written, or somebody has
// written another list everywhere since, there is nothing to finish. A promotion is finished: it
// loses nothing. A demotion is finished when it would still be allowed, and taken back otherwise, also
// when that cannot be found out, so that it stands in the way of no promotion: ErrTakenBack.
func (o *Operator) resume(ctx context.Context, v observer.View, p *Pending) (*Pending, error) {
	if ids, refusals := v.InForce(); len(refusals) == 0 && !slices.Equal(observer.With(ids), observer.With(p.List)) {
		if err := o.Store.drop(pendingFile); err != nil {
			return p, err
		}
		if slices.Equal(observer.With(ids), observer.With(p.Before)) {
			o.Log.Info("a distribution was cut off before its first file", "list", p.List)
			return nil, nil
		}
		return nil, fmt.Errorf("a distribution of %v was cut off, and every node has %v: %w", p.List, ids, ErrOvertaken)
	}
	for _, n := range v.Nodes {
		have := observer.With(n.IDs)
		if n.Known && !slices.Equal(have, observer.With(p.List)) && !slices.Equal(have, observer.With(p.Before)) {
			return p, fmt.Errorf("a distribution of %v was cut off, and node %d has %v, expected %v or %v: write the same list on all nodes, then run this again", p.List, n.ID, n.IDs, p.Before, p.List)
		}
	}
	change, before, list := p.Change, p.Before, p.List
	var takenBack error
	if change == observer.Demote {
		for _, b := range observer.Without(list, before...) {
			why := ""
			all, err := o.shown(ctx, v, b)
			if err != nil {
				why = err.Error()
			} else if refusals := all.CheckDemotion(b, before, false); len(refusals) > 0 {
				why = refusals[0].String()
			}
			if why != "" {
				takenBack = exit.With(exit.Refused, fmt.Errorf("demotion of broker %d: %w: %s", b, ErrTakenBack, why))
				o.Log.Warn("a demotion was cut off and is taken back", "broker", b, "reason", why)
				change, before, list = observer.Promote, p.List, p.Before
			}
		}
	}
	o.Log.Info("a distribution was cut off and is done again", "list", list, "nodes", p.Nodes)
	if _, err := o.distribute(ctx, v, change, before, list, p.Undo...); err != nil {
		return p, err
	}
	left, err := o.Store.Pending()
	return left, errors.Join(err, takenBack)
}
