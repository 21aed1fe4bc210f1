package fault

import (
	"context"
	"fmt"

	"observer-patch/internal/lab/cluster"
)

// Cut cuts the link of the broker that is behind one: nothing reaches it and it reaches
// nobody, and no connection is closed. Healing joins it again.
type Cut struct{ Node int32 }

// Name gives "cut".
func (c Cut) Name() string { return "cut" }

// Targets gives the broker behind the link.
func (c Cut) Targets() []int32 { return []int32{c.Node} }

// Available asks that the broker runs and is behind a link.
func (c Cut) Available(cl *cluster.Cluster) error { return linked(cl, c.Node) }

// Inject cuts the link.
func (c Cut) Inject(_ context.Context, cl *cluster.Cluster) error { return cl.Cut() }

// Heal joins it.
func (c Cut) Heal(_ context.Context, cl *cluster.Cluster) error { return cl.Join() }

// Slow lets the link carry so many bits per second towards the broker. Healing ends the limit.
type Slow struct {
	Node int32
	Bits int
}

// Name gives "slow link" and the rate.
func (s Slow) Name() string { return fmt.Sprintf("slow link, %d kbit/s", s.Bits/1000) }

// Targets gives the broker behind the link.
func (s Slow) Targets() []int32 { return []int32{s.Node} }

// Available asks that the broker runs and is behind a link.
func (s Slow) Available(c *cluster.Cluster) error { return linked(c, s.Node) }

// Inject sets the limit.
func (s Slow) Inject(_ context.Context, c *cluster.Cluster) error { return c.Slow(s.Bits) }

// Heal ends it.
func (s Slow) Heal(_ context.Context, c *cluster.Cluster) error { return c.Slow(0) }

func linked(c *cluster.Cluster, id int32) error {
	if c.Spec.Linked != id {
		return fmt.Errorf("broker %d is not behind a link", id)
	}
	return running(c, []int32{id})
}
