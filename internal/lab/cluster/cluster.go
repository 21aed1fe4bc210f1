package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/release"
)

// Cluster is a running cluster. Close it, whatever happened.
type Cluster struct {
	Spec  Spec
	Dir   string
	Nodes []*Node

	byID    map[int32]*Node
	ports   *ports
	link    *link
	spawner *spawner
	log     *slog.Logger

	mu      sync.Mutex
	clients map[int32]*kgo.Client
	// forwards are for requests that brokers pass on to a controller.
	forwards map[int32]*kgo.Client
	admin    *kgo.Client
}

// Start makes a cluster below dir, which must be new or empty, and waits until every broker
// knows every other one. On an error nothing is left running; the files stay.
func Start(ctx context.Context, spec Spec, dir string, log *slog.Logger) (*Cluster, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{Spec: spec, Dir: dir, byID: map[int32]*Node{}, clients: map[int32]*kgo.Client{}, forwards: map[int32]*kgo.Client{}, log: log}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	began := time.Now()
	if err := c.lay(); err != nil {
		return err
	}
	if c.Spec.Mode == release.KRaft {
		if err := c.format(ctx); err != nil {
			return err
		}
	}
	nodes := slices.Clone(c.Nodes)
	slices.SortStableFunc(nodes, func(a, b *Node) int { return order(a, c.Spec.First) - order(b, c.Spec.First) })
	for _, n := range nodes {
		if err := n.Start(); err != nil {
			return err
		}
		if n.role == roleZooKeeper {
			if err := c.Await(ctx, 30*time.Second, "ZooKeeper answers", n.listening); err != nil {
				return err
			}
		}
		if n.ID == c.Spec.First {
			if err := c.AwaitBrokers(ctx, n.ID); err != nil {
				return err
			}
		}
	}
	if err := c.AwaitBrokers(ctx, c.BrokerIDs()...); err != nil {
		return err
	}
	c.log.Info("cluster is up", "mode", c.Spec.Mode, "brokers", c.Spec.Brokers, "controllers", c.Spec.Controllers, "took", time.Since(began).Round(100*time.Millisecond))
	return nil
}

// lay reserves ports and writes every node's folder.
func (c *Cluster) lay() (err error) {
	if c.spawner, err = newSpawner(); err != nil {
		return err
	}
	if c.ports, err = newPorts(); err != nil {
		return err
	}
	if c.Spec.Linked != 0 {
		if c.link, err = newLink(); err != nil {
			return err
		}
	}
	for _, node := range c.Spec.nodes() {
		node.Dir = filepath.Join(c.Dir, fmt.Sprintf("node-%d", node.ID))
		node.java, node.spawner, node.host = c.Spec.Java, c.spawner, "127.0.0.1"
		if c.link != nil {
			c.link.place(node, node.ID == c.Spec.Linked)
		}
		if node.classpath, err = c.Spec.classpath(c.Spec.NodeJars[node.ID]); err != nil {
			return err
		}
		if node.Port, err = c.ports.take(); err != nil {
			return err
		}
		if node.role == roleCombined {
			if node.quorumPort, err = c.ports.take(); err != nil {
				return err
			}
		}
		c.Nodes = append(c.Nodes, node)
		c.byID[node.ID] = node
	}
	for _, n := range c.Nodes {
		if err := c.writeFiles(n); err != nil {
			return err
		}
	}
	return nil
}

// order says when a node starts: ZooKeeper and controllers, the first broker, the others.
func order(n *Node, first int32) int {
	switch {
	case !n.IsBroker():
		return 0
	case n.ID == first:
		return 1
	}
	return 2
}

// Swap has the node's next start use the class path with the name, the usual one for an empty name.
func (c *Cluster) Swap(id int32, name string) error {
	jars, err := c.Spec.classpath(name)
	if err != nil {
		return err
	}
	n := c.byID[id]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.classpath = jars
	return nil
}

// Eligible tells whether brokers know eligible leader replicas (KIP-966).
func (c *Cluster) Eligible() bool { return c.Spec.Eligible }

// Rack is the zone of a broker: each is in one of its own.
func Rack(broker int32) string { return fmt.Sprintf("zone-%d", broker) }

// Close kills every process and waits until all are gone. It may be called more than once.
func (c *Cluster) Close() error {
	c.mu.Lock()
	for _, clients := range []map[int32]*kgo.Client{c.clients, c.forwards} {
		for _, cl := range clients {
			cl.Close()
		}
		clear(clients)
	}
	if c.admin != nil {
		c.admin.Close()
		c.admin = nil
	}
	c.mu.Unlock()
	var errs []error
	for _, n := range slices.Backward(c.Nodes) { // brokers before ZooKeeper and controllers
		errs = append(errs, n.Kill())
	}
	if c.spawner != nil {
		c.spawner.close()
		c.spawner = nil
	}
	if c.link != nil {
		errs = append(errs, c.link.remove())
		c.link = nil
	}
	if c.ports != nil {
		c.ports.release()
		c.ports = nil
	}
	return errors.Join(errs...)
}

// Remove deletes the cluster's files; the cluster must be closed.
func (c *Cluster) Remove() error {
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("remove cluster folder: %w", err)
	}
	return nil
}

// Node gives the node with the id, nil when there is none.
func (c *Cluster) Node(id int32) *Node { return c.byID[id] }

// BrokerIDs gives the ids of all brokers, running or not.
func (c *Cluster) BrokerIDs() []int32 { return c.ids((*Node).IsBroker) }

// ControllerIDs gives the ids of the KRaft quorum; in ZooKeeper mode there are none.
func (c *Cluster) ControllerIDs() []int32 { return c.ids((*Node).IsController) }

// AnsweringBrokers gives the ids of the brokers whose process is alive and not paused.
func (c *Cluster) AnsweringBrokers() []int32 {
	return c.ids(func(n *Node) bool { return n.IsBroker() && n.Answers() })
}

func (c *Cluster) ids(want func(*Node) bool) []int32 {
	var out []int32
	for _, n := range c.Nodes {
		if want(n) {
			out = append(out, n.ID)
		}
	}
	return out
}

// kafkaNodes are all nodes but ZooKeeper, the first one being in the quorum.
func (c *Cluster) kafkaNodes() []*Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return n.role == roleZooKeeper })
}

// Addrs gives the addresses of all brokers, for clients of scenarios.
func (c *Cluster) Addrs() []string {
	var out []string
	for _, id := range c.BrokerIDs() {
		out = append(out, c.byID[id].Addr())
	}
	return out
}

// WriteIDs writes the identity files of the nodes, in the order given.
func (c *Cluster) WriteIDs(ids []int32, nodes ...int32) error {
	for _, id := range nodes {
		if err := c.byID[id].WriteIDs(ids); err != nil {
			return err
		}
	}
	return nil
}
