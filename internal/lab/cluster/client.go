package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// askTimeout bounds one question to one broker, so that a dead or frozen one costs little.
const askTimeout = 2 * time.Second

// Ask sends req to one broker and to no other, and gives its response. Error codes inside the
// response are the caller's.
func (c *Cluster) Ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return c.ask(ctx, c.clients, askTimeout, broker, req)
}

// forwardTimeout bounds a question that the broker passes on to a controller.
const forwardTimeout = time.Second

// askForward is Ask over a connection of its own: a broker answers one request of a connection after
// the other, and one that waits for a lost quorum would hold up all others.
func (c *Cluster) askForward(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	errs := []error{errors.New("no broker answered")}
	for _, id := range c.AnsweringBrokers() {
		resp, err := c.ask(ctx, c.forwards, forwardTimeout, id, req)
		if err == nil {
			return resp, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (c *Cluster) ask(ctx context.Context, clients map[int32]*kgo.Client, limit time.Duration, broker int32, req kmsg.Request) (kmsg.Response, error) {
	cl, err := c.client(clients, broker)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("broker %d: %w", broker, err)
	}
	return resp, nil
}

// AskAny asks the answering brokers in order until one gives a response, and tells which.
func (c *Cluster) AskAny(ctx context.Context, req kmsg.Request) (kmsg.Response, int32, error) {
	errs := []error{errors.New("no broker answered")}
	for _, id := range c.AnsweringBrokers() {
		resp, err := c.Ask(ctx, id, req)
		if err == nil {
			return resp, id, nil
		}
		errs = append(errs, err)
	}
	return nil, 0, errors.Join(errs...)
}

func (c *Cluster) client(clients map[int32]*kgo.Client, broker int32) (*kgo.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cl, ok := clients[broker]; ok {
		return cl, nil
	}
	cl, err := kgo.NewClient(append(c.Login(), kgo.SeedBrokers(c.byID[broker].Addr()), kgo.RequestRetries(0), kgo.DialTimeout(askTimeout))...)
	if err != nil {
		return nil, fmt.Errorf("client of broker %d: %w", broker, err)
	}
	clients[broker] = cl
	return cl, nil
}

// Login gives the options of a client that may do everything; none where nobody has to log in.
func (c *Cluster) Login() []kgo.Opt {
	if len(c.Spec.Users) == 0 {
		return nil
	}
	return []kgo.Opt{kgo.SASL(plain.Auth{User: Admin, Pass: c.Spec.Users[Admin]}.AsMechanism())}
}

// Admin gives a client for administration, which finds the controller by itself.
func (c *Cluster) Admin() (*kadm.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		cl, err := kgo.NewClient(append(c.Login(), kgo.SeedBrokers(c.Addrs()...), kgo.DialTimeout(askTimeout), kgo.RetryTimeout(20*time.Second), kgo.MetadataMinAge(100*time.Millisecond))...)
		if err != nil {
			return nil, fmt.Errorf("admin client: %w", err)
		}
		c.admin = cl
	}
	return kadm.NewClient(c.admin), nil
}

// Request sends an administrative request to whichever broker has to answer it.
func (c *Cluster) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if _, err := c.Admin(); err != nil {
		return nil, err
	}
	return c.admin.Request(ctx, req)
}

// Topic gives the part of a CreateTopics request (KIP-4) for one topic with its assignment, one list of brokers per
// partition. Settings are name=value.
func Topic(name string, assignment [][]int32, settings ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for i, replicas := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), replicas
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, kmsg.StringPtr(value)
		t.Configs = append(t.Configs, c)
	}
	return t
}

// listening tells whether somebody accepts connections on the node's port.
func (n *Node) listening(ctx context.Context) error {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", n.Addr())
	if err != nil {
		return fmt.Errorf("port of node %d: %w", n.ID, err)
	}
	return conn.Close()
}
