package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

const (
	// atOnce is how many nodes of one step are written at the same time.
	atOnce = 8
	// undoLimit bounds putting files back after the run was asked to end.
	undoLimit = time.Minute
)

// distribute writes the list on every node, step by step. It is a success when the controllers'
// majority and all live brokers have it; what is left is kept as pending. Otherwise, and when ctx
// ends in the middle, everything written is put back in the reverse order.
// Earlier are what a run that was cut off has replaced already.
func (o *Operator) distribute(ctx context.Context, v observer.View, change observer.Change, before, list []int32, earlier ...hosts.Undo) (observer.Distribution, error) {
	d := &distribution{operator: o, failed: map[int32]error{}, content: observer.RenderFile(list, o.Strict),
		note: Pending{Change: change, Before: before, List: list, Since: o.Now(), Who: o.Who, Undo: earlier}}
	for _, n := range v.Nodes {
		d.note.Nodes = append(d.note.Nodes, n.ID)
		if !n.Known {
			d.failed[n.ID] = errors.New(n.Cause) // not tried: it would hold up the others
		}
	}
	if err := o.Store.save(pendingFile, d.note); err != nil {
		return observer.Distribution{}, err
	}
	verdict, err := d.write(ctx, v, change.Order(v.Nodes))
	if err == nil && verdict.Done() {
		d.note.Nodes, d.note.Complete, d.note.Undo = verdict.Pending, true, nil
		if len(verdict.Pending) == 0 {
			return verdict, o.Store.drop(pendingFile)
		}
		o.Log.Warn("nodes that could not be reached get the list later: observer-patch pending", "nodes", verdict.Pending)
		return verdict, o.Store.save(pendingFile, d.note)
	}
	if err == nil {
		err = observer.Refused(verdict.Refusals)
	}
	return verdict, exit.With(exit.Failed, errors.Join(fmt.Errorf("list %v was not distributed: %w", list, err), d.undo(ctx)))
}

// distribution is one run of distribute.
type distribution struct {
	operator *Operator
	content  []byte

	mu     sync.Mutex
	note   Pending
	failed map[int32]error
}

func (d *distribution) write(ctx context.Context, v observer.View, steps [][]int32) (observer.Distribution, error) {
	for i, step := range steps {
		var g errgroup.Group
		g.SetLimit(atOnce)
		todo := slices.DeleteFunc(slices.Clone(step), func(node int32) bool { return d.failed[node] != nil })
		for _, node := range todo {
			g.Go(func() error { return d.one(ctx, node) })
		}
		if err := g.Wait(); err != nil {
			return observer.Distribution{}, err
		}
		if ctx.Err() != nil {
			return observer.Distribution{}, ctx.Err()
		}
		// A step that already spoils the result makes the next one pointless.
		if soFar := v.JudgeDistribution(d.failed); i < len(steps)-1 && !soFar.Done() {
			return soFar, nil
		}
	}
	return v.JudgeDistribution(d.failed), nil
}

// one writes one node. Only an error of the store is an error: a node's own is judged later.
func (d *distribution) one(ctx context.Context, node int32) error {
	undo, err := d.operator.Files.Write(ctx, node, d.content)
	d.mu.Lock()
	defer d.mu.Unlock()
	if undo.Wrote != nil {
		d.note.Undo = append(d.note.Undo, undo)
	}
	if err != nil {
		d.failed[node] = err
		d.operator.Log.Warn("identity file not written", "node", node, "error", err)
	} else {
		d.note.Nodes = observer.Without(d.note.Nodes, node)
		d.operator.Log.Info("identity file written", "node", node, "list", d.note.List)
	}
	return d.operator.Store.save(pendingFile, d.note)
}

// undo puts back what was written, the last one first, also when ctx has ended.
func (d *distribution) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	var errs []error
	var left []hosts.Undo
	for _, u := range slices.Backward(d.note.Undo) {
		if err := d.operator.Files.Rollback(ctx, u); err != nil {
			errs = append(errs, err)
			left = append(left, u)
			continue
		}
		d.operator.Log.Info("identity file put back", "node", u.Node)
	}
	if len(left) == 0 {
		return errors.Join(append(errs, d.operator.Store.drop(pendingFile))...)
	}
	slices.Reverse(left)
	d.note.Undo = left
	errs = append(errs, fmt.Errorf("%d nodes have the list %v and the others %v: write one list on all of them", len(left), d.note.List, d.note.Before), d.operator.Store.save(pendingFile, d.note))
	return errors.Join(errs...)
}
