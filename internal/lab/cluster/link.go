package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
)

// link is a pair of virtual interfaces between the machine's network and one of its own, in which
// one broker runs. All other nodes listen on the near end's address: they go on talking to each other
// when the link is cut.
type link struct {
	space     string // network namespace
	near, far string // interfaces
	nearAddr  string
	farAddr   string
}

// CanLink tells why a broker cannot be put behind a link on this machine, nil when it can.
func CanLink() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	l, err := newLink()
	if err != nil {
		return err
	}
	return l.remove()
}

func newLink() (*link, error) {
	n := rand.IntN(1 << 14)
	id := fmt.Sprintf("%x-%x", os.Getpid(), n)
	net := fmt.Sprintf("10.%d.%d", 192+n>>8, n&0xff)
	l := &link{space: "lab-" + id, near: "ln" + id, far: "lf" + id, nearAddr: net + ".1", farAddr: net + ".2"}
	for _, args := range []string{
		"netns add " + l.space,
		"link add " + l.near + " type veth peer name " + l.far + " netns " + l.space,
		"addr add " + l.nearAddr + "/30 dev " + l.near,
		"link set " + l.near + " up",
		"-n " + l.space + " addr add " + l.farAddr + "/30 dev " + l.far,
		"-n " + l.space + " link set lo up",
		"-n " + l.space + " link set " + l.far + " up",
	} {
		if err := ip(args); err != nil {
			return nil, errors.Join(err, l.remove())
		}
	}
	return l, nil
}

// place gives a node its address, and its network when it is the one behind the link.
func (l *link) place(n *Node, behind bool) {
	n.host = l.nearAddr
	if behind {
		n.host, n.prefix = l.farAddr, l.inside()
	}
}

func (l *link) inside() []string { return []string{"ip", "netns", "exec", l.space} }

// remove deletes the network; the interfaces go with it.
func (l *link) remove() error { return ip("netns delete " + l.space) }

func ip(args string) error { return network("ip", args) }

func network(tool, args string) error {
	if out, err := exec.Command(tool, strings.Fields(args)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", tool, args, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Cut cuts the link of the linked broker: packets vanish, no connection is closed, nobody says that
// there is no way.
func (c *Cluster) Cut() error { return c.onLink((*link).cut) }

// Join lets packets through again.
func (c *Cluster) Join() error { return c.onLink((*link).join) }

// nobody is a hardware address (locally administered) that no interface of a link has.
const nobody = "02:00:00:00:00:01"

// cut has each end send to a hardware address that the other one does not have. An interface that is
// taken down would take its route with it: packets would go to the machine's gateway, and somebody
// there may answer.
func (l *link) cut() error {
	return errors.Join(
		ip("neigh replace "+l.farAddr+" lladdr "+nobody+" dev "+l.near+" nud permanent"),
		ip("-n "+l.space+" neigh replace "+l.nearAddr+" lladdr "+nobody+" dev "+l.far+" nud permanent"))
}

func (l *link) join() error {
	return errors.Join(
		ip("neigh del "+l.farAddr+" dev "+l.near),
		ip("-n "+l.space+" neigh del "+l.nearAddr+" dev "+l.far))
}

// Slow lets the link carry so many bits per second towards the broker; 0 ends the limit.
func (c *Cluster) Slow(bits int) error {
	return c.onLink(func(l *link) error {
		if bits == 0 {
			return network("tc", "qdisc del dev "+l.near+" root")
		}
		return network("tc", fmt.Sprintf("qdisc replace dev %s root tbf rate %dbit burst 16kb latency 400ms", l.near, bits))
	})
}

// Behind gives the words that run a program in the network of the linked broker: it is cut off with
// the broker. Without a link there are none.
func (c *Cluster) Behind() []string {
	if c.link == nil {
		return nil
	}
	return c.link.inside()
}

func (c *Cluster) onLink(do func(*link) error) error {
	if c.link == nil {
		return errors.New("no broker of this cluster is behind a link")
	}
	return do(c.link)
}
