// Package fault holds what can be done to a cluster. A fault is one small type; a scenario decides
// when it happens, the lab records it.
package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"observer-patch/internal/lab/cluster"
)

// Fault is something bad that can be made to happen, and undone.
type Fault interface {
	// Name goes into the history, e.g. "kill -9".
	Name() string
	// Targets are the ids of the nodes it hits.
	Targets() []int32
	// Available tells why it cannot be injected now, nil when it can.
	Available(c *cluster.Cluster) error
	// Inject makes it happen; it has happened when Inject returns.
	Inject(ctx context.Context, c *cluster.Cluster) error
	// Heal undoes it; the cluster has its node back when Heal returns.
	Heal(ctx context.Context, c *cluster.Cluster) error
}

// Kill is kill -9 of some nodes, as close together as possible. Healing restarts them on their data.
type Kill struct{ Nodes []int32 }

// Name gives "kill -9".
func (k Kill) Name() string { return "kill -9" }

// Targets gives the killed nodes.
func (k Kill) Targets() []int32 { return k.Nodes }

// Available asks that all of them run.
func (k Kill) Available(c *cluster.Cluster) error { return running(c, k.Nodes) }

// Inject kills them and waits until the processes are gone.
func (k Kill) Inject(_ context.Context, c *cluster.Cluster) error {
	var g errgroup.Group
	for _, id := range k.Nodes {
		g.Go(c.Node(id).Kill)
	}
	return g.Wait()
}

// Heal restarts them side by side.
func (k Kill) Heal(ctx context.Context, c *cluster.Cluster) error {
	var g errgroup.Group
	for _, id := range k.Nodes {
		g.Go(func() error { return c.Restart(ctx, id) })
	}
	return g.Wait()
}

// Pause is SIGSTOP: a node that keeps its connections and answers nothing, as a long garbage
// collection or a stalled virtual machine does. Healing is SIGCONT.
type Pause struct{ Node int32 }

// Name gives "pause".
func (p Pause) Name() string { return "pause" }

// Targets gives the paused node.
func (p Pause) Targets() []int32 { return []int32{p.Node} }

// Available asks that it runs.
func (p Pause) Available(c *cluster.Cluster) error { return running(c, p.Targets()) }

// Inject pauses it.
func (p Pause) Inject(_ context.Context, c *cluster.Cluster) error { return c.Node(p.Node).Pause() }

// Heal resumes it.
func (p Pause) Heal(_ context.Context, c *cluster.Cluster) error { return c.Node(p.Node).Resume() }

func running(c *cluster.Cluster, ids []int32) error {
	if len(ids) == 0 {
		return errors.New("no node named")
	}
	i := slices.IndexFunc(ids, func(id int32) bool { return c.Node(id) == nil || !c.Node(id).Answers() })
	if i >= 0 {
		return fmt.Errorf("node %d is not running", ids[i])
	}
	return nil
}
