package promoter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

const (
	// nodeLimit bounds reading or writing one node's file.
	nodeLimit = 8 * time.Second
	// lostFor is how long a node that could not be reached is not asked again: one that is gone
	// must not hold up every step of a rescue.
	lostFor = 30 * time.Second
)

// Opener opens the way to a node's file.
type Opener func(ctx context.Context, n hosts.Node) (*hosts.Transport, error)

// Inventory is the Files of an inventory's nodes.
type Inventory struct {
	nodes []hosts.Node
	open  Opener
	now   func() time.Time

	mu   sync.Mutex
	seen map[int32]hosts.File
	ways map[int32]*hosts.Transport
	lost map[int32]lost
}

// lost is a node that could not be reached.
type lost struct {
	at  time.Time
	err error
}

// NewInventory makes the Files of the inventory. Close it.
func NewInventory(inv *hosts.Inventory, open Opener, now func() time.Time) *Inventory {
	return &Inventory{nodes: inv.Nodes, open: open, now: now, seen: map[int32]hosts.File{}, ways: map[int32]*hosts.Transport{}, lost: map[int32]lost{}}
}

// Close ends all connections.
func (i *Inventory) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	var errs []error
	for _, way := range i.ways {
		errs = append(errs, way.Close())
	}
	i.ways = map[int32]*hosts.Transport{}
	return errors.Join(errs...)
}

// Read reads the file of every node, several at a time.
func (i *Inventory) Read(ctx context.Context) []observer.Node {
	out := make([]observer.Node, len(i.nodes))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for k, n := range i.nodes {
		g.Go(func() error {
			out[k] = observer.Node{ID: n.ID, Broker: n.Has(hosts.Broker), Controller: n.Has(hosts.Controller)}
			f, err := i.read(ctx, n)
			if err != nil {
				out[k].Cause = err.Error()
				return nil
			}
			parsed := f.IDs()
			if len(parsed.IDs) == 0 && !parsed.Blank && !parsed.None {
				out[k].Cause = fmt.Sprintf("%s has tokens and no id among them: %s; the node goes on with the list it had", n.File, parsed.UnknownTokens())
				return nil
			}
			out[k].Known, out[k].IDs, out[k].Absent = true, parsed.IDs, !f.Exists
			return nil
		})
	}
	_ = g.Wait() // every error is a node's cause
	return out
}

func (i *Inventory) read(ctx context.Context, n hosts.Node) (hosts.File, error) {
	i.mu.Lock()
	gone, ok := i.lost[n.ID]
	i.mu.Unlock()
	if ok && i.now().Sub(gone.at) < lostFor {
		return hosts.File{}, fmt.Errorf("%w (%.0f s ago)", gone.err, i.now().Sub(gone.at).Seconds())
	}
	f, err := i.ask(ctx, n)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.seen[n.ID] = f
		delete(i.lost, n.ID)
		return f, nil
	}
	i.forget(n.ID)
	// Whoever was interrupted has learnt nothing of the node.
	if ctx.Err() == nil {
		i.lost[n.ID] = lost{i.now(), err}
	}
	return f, err
}

// ask reads a node's file over its way.
func (i *Inventory) ask(ctx context.Context, n hosts.Node) (hosts.File, error) {
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	way, err := i.way(ctx, n)
	if err != nil {
		return hosts.File{}, err
	}
	return way.Read(ctx)
}

// way gives the open transport of a node.
func (i *Inventory) way(ctx context.Context, n hosts.Node) (*hosts.Transport, error) {
	i.mu.Lock()
	way := i.ways[n.ID]
	i.mu.Unlock()
	if way != nil {
		return way, nil
	}
	way, err := i.open(ctx, n)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ways[n.ID] = way
	return way, nil
}

// forget closes a way that has failed, so that the next look opens it anew.
func (i *Inventory) forget(node int32) {
	if way := i.ways[node]; way != nil {
		_ = way.Close() // it has failed already
		delete(i.ways, node)
	}
	delete(i.seen, node)
}

// Write replaces a node's file when it is still what Read saw.
func (i *Inventory) Write(ctx context.Context, node int32, content []byte) (hosts.Undo, error) {
	n, err := i.node(node)
	if err != nil {
		return hosts.Undo{Node: node}, err
	}
	i.mu.Lock()
	expect, ok := i.seen[node]
	i.mu.Unlock()
	if !ok {
		if expect, err = i.read(ctx, n); err != nil {
			return hosts.Undo{Node: node}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, n.WriteLimit())
	defer cancel()
	way, err := i.way(ctx, n)
	if err != nil {
		return hosts.Undo{Node: node}, err
	}
	if expect.Exists && bytes.Equal(expect.Content, content) {
		return hosts.Undo{Node: node, Before: expect}, nil
	}
	u, err := way.Write(ctx, content, expect)
	if errors.Is(err, hosts.ErrChanged) {
		// Nodes that share one file, as with a ConfigMap, have it already.
		if now, rerr := way.Read(ctx); rerr == nil && now.Exists && bytes.Equal(now.Content, content) {
			u, err = hosts.Undo{Node: node, Before: now}, nil
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.seen, node)
	if err != nil {
		i.forget(node)
	}
	return u, err
}

// Rollback puts back what Write replaced.
func (i *Inventory) Rollback(ctx context.Context, u hosts.Undo) error {
	n, err := i.node(u.Node)
	if err != nil {
		return err
	}
	way, err := i.way(ctx, n)
	if err != nil {
		return err
	}
	i.mu.Lock()
	delete(i.seen, u.Node)
	i.mu.Unlock()
	return way.Rollback(ctx, u)
}

func (i *Inventory) node(id int32) (hosts.Node, error) {
	for _, n := range i.nodes {
		if n.ID == id {
			return n, nil
		}
	}
	return hosts.Node{}, fmt.Errorf("node %d is not in the inventory", id)
}
