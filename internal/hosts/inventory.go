// Package hosts reaches the identity files of a cluster's nodes: an inventory says where they
// are, a transport reads and replaces one in a single step, and a journal keeps who changed
// what. Nothing that comes from the inventory or from a node reaches a shell unquoted.
package hosts

import "time"

// Inventory says which nodes a cluster has and how their identity files are reached.
type Inventory struct {
	// Cluster is the cluster's id, as Kafka gives it; empty when the file does not say.
	Cluster string `yaml:"cluster"`
	// Nodes are ascending by id.
	Nodes []Node `yaml:"nodes"`
}

// Role is what a node does.
type Role string

// The roles. A combined KRaft node has both.
const (
	Broker     Role = "broker"
	Controller Role = "controller"
)

// Node is one node: a broker, a controller, or both.
type Node struct {
	// ID is the broker id or node id.
	ID    int32  `yaml:"id"`
	Roles []Role `yaml:"roles"`
	// Address is the host's name or address, for transports that need one.
	Address string `yaml:"address"`
	// Zone is the availability zone: what fails together. For brokers it has to be broker.rack.
	Zone string `yaml:"zone"`
	// File is the path of the identity file on the node.
	File string `yaml:"file"`
	// Service is the name of the node's service, for the commands that are printed for people.
	Service string `yaml:"service"`
	// Home is the Kafka home, the folder with libs, for the digests of the jars; may be empty.
	Home string `yaml:"home"`
	// Metrics is the URL of the node's Prometheus exporter, which shows what the node has read
	// (ops/jmx-exporter.yml); may be empty.
	Metrics string `yaml:"metrics"`
	// Transport says how the file is reached.
	Transport TransportSpec `yaml:"transport"`
}

// Kind is a way to reach a file.
type Kind string

// The kinds of transport.
const (
	// Local is a file of this machine.
	Local Kind = "local"
	// SSH is a file behind an SSH server.
	SSH Kind = "ssh"
	// Command is a file behind a program such as kubectl exec or a session manager.
	Command Kind = "command"
	// ConfigMap is a key of a Kubernetes ConfigMap that is mounted into the nodes.
	ConfigMap Kind = "configmap"
)

// Has tells whether the node has the role.
func (n Node) Has(r Role) bool {
	for _, have := range n.Roles {
		if have == r {
			return true
		}
	}
	return false
}

// How long reading or writing one node's file may take. A kubelet brings a changed ConfigMap into its
// pods at its next sync, a minute at most, with its cache's delay on top.
const (
	fileLimit      = 15 * time.Second
	configMapLimit = 3 * time.Minute
)

// WriteLimit gives how long a write of the node's file may take before it counts as failed.
func (n Node) WriteLimit() time.Duration {
	if n.Transport.Kind == ConfigMap {
		return configMapLimit
	}
	return fileLimit
}

// With gives the nodes that have the role, in the inventory's order.
func (i *Inventory) With(r Role) []Node {
	var out []Node
	for _, n := range i.Nodes {
		if n.Has(r) {
			out = append(out, n)
		}
	}
	return out
}

// Node gives the node with the id, and whether there is one.
func (i *Inventory) Node(id int32) (Node, bool) {
	for _, n := range i.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}
