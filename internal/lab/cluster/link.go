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
// one broker runs. All other nodes listen on the near end's address, which stays local when the link is
// down: they go on talking to each other.
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

// Cut takes the link of the linked broker down: packets vanish, no connection is closed.
func (c *Cluster) Cut() error {
	return c.onLink(func(l *link) error { return ip("link set " + l.near + " down") })
}

// Join takes it up again, at full speed.
func (c *Cluster) Join() error {
	return c.onLink(func(l *link) error { return ip("link set " + l.near + " up") })
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
