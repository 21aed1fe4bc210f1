// Package cluster runs real upstream Kafka clusters as processes on this machine: KRaft with
// separate controllers or combined nodes, and ZooKeeper (3.x). Every process is ended by its
// own id, also when the lab itself dies.
package cluster

import (
	"fmt"
	"slices"

	"observer-patch/internal/release"
)

// Spec describes a cluster.
type Spec struct {
	// Mode is release.KRaft or release.ZK.
	Mode release.Mode
	// Brokers is how many brokers there are; their ids are 1, 2, ...
	Brokers int
	// Controllers is how many separate KRaft controllers there are (ids 101, 102, ...); 0 makes
	// every broker a combined node. It means nothing in ZooKeeper mode.
	Controllers int
	// Observers are the ids that every node's identity file starts with.
	Observers []int32
	// NoFile leaves the nodes without an identity file.
	NoFile bool
	// Features are given to the formatting of KRaft storage, e.g.
	// eligible.leader.replicas.version=0.
	Features []string
	// Properties are added to every broker and controller and win over the lab's own.
	Properties map[string]string
	// Classpath are the jars of every node, in order. Jars are other class paths by name; NodeJars
	// names those on which some nodes start. Swap changes it later.
	Classpath []string
	Jars      map[string][]string
	NodeJars  map[int32]string
	// First is a broker that takes part before any other starts, 0 for none. In ZooKeeper mode
	// that makes it the controller.
	First int32
	// Linked is a broker in a network of its own behind a link that can be cut, 0 for none. It needs
	// root and ip(8); CanLink tells.
	Linked int32
	// Eligible says that brokers know eligible leader replicas (KIP-966).
	Eligible bool
	// Users are names with passwords, Admin among them. With any, clients have to log in (SASL PLAIN)
	// and an authorizer asks for their rights; the lab logs in as Admin, who may do everything.
	Users map[string]string
	// Java is the java program.
	Java string
}

// FirstController is the id of the first separate controller, ZooKeeperID that of the one
// ZooKeeper server.
const (
	FirstController = 101
	ZooKeeperID     = 100
)

// Admin is the user that may do everything where a cluster has users.
const Admin = "admin"

func (s Spec) validate() error {
	switch {
	case len(s.Users) > 0 && (s.Mode != release.KRaft || s.Users[Admin] == ""):
		return fmt.Errorf("users %v: expected %s among them, and mode %s", sortedKeys(s.Users), Admin, release.KRaft)
	case s.Mode != release.KRaft && s.Mode != release.ZK:
		return fmt.Errorf("cluster mode %q: expected %s or %s", s.Mode, release.KRaft, release.ZK)
	case s.Brokers < 1 || s.Brokers > 99:
		return fmt.Errorf("%d brokers: expected 1 to 99", s.Brokers)
	case len(s.Classpath) == 0 || s.Java == "":
		return fmt.Errorf("cluster without a class path or a java program")
	case s.Mode == release.ZK && s.Controllers != 0:
		return fmt.Errorf("%d separate controllers: a ZooKeeper cluster has none", s.Controllers)
	}
	return nil
}

// classpath gives the class path with the name, the usual one for an empty name.
func (s Spec) classpath(name string) ([]string, error) {
	if name == "" {
		return s.Classpath, nil
	}
	if jars, ok := s.Jars[name]; ok {
		return jars, nil
	}
	return nil, fmt.Errorf("no jars named %q: the cluster has %v", name, sortedKeys(s.Jars))
}

// role is what a node does.
type role string

const (
	roleBroker     role = "broker"
	roleController role = "controller"
	roleCombined   role = "broker,controller"
	roleZooKeeper  role = "zookeeper"
)

// nodes lists the ids and roles of the spec, in the order in which they are started.
func (s Spec) nodes() []*Node {
	var out []*Node
	if s.Mode == release.ZK {
		out = append(out, &Node{ID: ZooKeeperID, role: roleZooKeeper})
	}
	for i := range s.Controllers {
		out = append(out, &Node{ID: FirstController + int32(i), role: roleController})
	}
	r := roleBroker
	if s.Mode == release.KRaft && s.Controllers == 0 {
		r = roleCombined
	}
	for i := range s.Brokers {
		out = append(out, &Node{ID: 1 + int32(i), role: r})
	}
	return out
}

// Settings are the properties that decide how fast a cluster reacts; they are recorded with
// every run. Everything that is not named here is upstream's default.
func Settings() map[string]string {
	return map[string]string{
		"replica.lag.time.max.ms":        "10000",
		"min.insync.replicas":            "2",
		"auto.create.topics.enable":      "false",
		"auto.leader.rebalance.enable":   "false",
		"unclean.leader.election.enable": "false",
		// Every broker is a zone of its own; consumers without a rack do not notice.
		"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
	}
}

// upkeep are properties that only make nodes small.
func upkeep(brokers int) map[string]string {
	rf := fmt.Sprint(min(3, brokers))
	return map[string]string{
		// A busy machine may need longer than the default minute until a broker has registered.
		"initial.broker.registration.timeout.ms":   "240000",
		"num.network.threads":                      "2",
		"num.io.threads":                           "4",
		"log.cleaner.dedupe.buffer.size":           "4194304",
		"offsets.topic.replication.factor":         rf,
		"offsets.topic.num.partitions":             "3",
		"transaction.state.log.replication.factor": rf,
		"transaction.state.log.min.isr":            fmt.Sprint(min(2, brokers)),
		"transaction.state.log.num.partitions":     "3",
		"group.initial.rebalance.delay.ms":         "0",
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
