package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/release"
)

// pollEvery is the pause between two looks at a condition.
const pollEvery = 100 * time.Millisecond

// ErrAwait says that a condition did not come true in time.
var ErrAwait = errors.New("condition not met in time")

// errHopeless says that a condition can no longer come true.
var errHopeless = errors.New("process has ended")

// Await calls cond until it gives nil. After limit, or when ctx ends, it gives an error that names
// what was waited for and the last reason why it was not so.
func (c *Cluster) Await(ctx context.Context, limit time.Duration, what string, cond func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := cond(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
		if errors.Is(err, errHopeless) {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting %v until %s: %w; last: %w", limit, what, ErrAwait, err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// startLimit is how long a start of a node may take on a busy machine.
const startLimit = 240 * time.Second

// AwaitBrokers waits until each of the brokers itself answers and lists all of them.
func (c *Cluster) AwaitBrokers(ctx context.Context, ids ...int32) error {
	return c.Await(ctx, startLimit, fmt.Sprintf("brokers %v know each other", ids), func(ctx context.Context) error {
		for _, id := range ids {
			if !c.byID[id].Running() {
				return fmt.Errorf("broker %d, see %s/node.log: %w", id, filepath.Base(c.byID[id].Dir), errHopeless)
			}
			known, err := c.knows(ctx, id)
			if err != nil {
				return err
			}
			for _, other := range ids {
				if !slices.Contains(known, other) {
					return fmt.Errorf("broker %d knows %v only", id, known)
				}
			}
		}
		return nil
	})
}

// knows gives the brokers in the broker's own metadata.
func (c *Cluster) knows(ctx context.Context, broker int32) ([]int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := c.Ask(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		out = append(out, b.NodeID)
	}
	return out, nil
}

// DescribeQuorum makes the request for the controllers' quorum (KIP-595), which brokers forward.
func DescribeQuorum() *kmsg.DescribeQuorumRequest {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	return req
}

// ActiveController gives the id of the node that is the controller now, as the brokers know it:
// the quorum's leader, or in ZooKeeper mode the controller in the metadata. It is -1 while
// there is none.
func (c *Cluster) ActiveController(ctx context.Context) (int32, error) {
	if len(c.ControllerIDs()) == 0 {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, _, err := c.AskAny(ctx, req)
		if err != nil {
			return -1, err
		}
		return resp.(*kmsg.MetadataResponse).ControllerID, nil
	}
	resp, err := c.askForward(ctx, DescribeQuorum())
	if err != nil {
		return -1, err
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return -1, fmt.Errorf("describe quorum: %w", err)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return -1, fmt.Errorf("describe quorum: %d topics in the response, expected one with one partition", len(r.Topics))
	}
	p := r.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return -1, fmt.Errorf("describe quorum: %w", err)
	}
	return p.LeaderID, nil
}

// Restart starts a broker or controller that is down on its data and waits until it takes part.
// A ZooKeeper broker refuses to start while the registration of its killed predecessor is still
// there, so its session is waited out first.
func (c *Cluster) Restart(ctx context.Context, id int32) error {
	n := c.byID[id]
	if c.Spec.Mode == release.ZK && len(c.AnsweringBrokers()) > 0 {
		err := c.Await(ctx, startLimit, fmt.Sprintf("the old registration of broker %d is gone", id), func(ctx context.Context) error {
			for _, other := range c.AnsweringBrokers() {
				known, err := c.knows(ctx, other)
				if err != nil {
					return err
				}
				if slices.Contains(known, id) {
					return fmt.Errorf("broker %d still lists it", other)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := n.Start(); err != nil {
		return err
	}
	if !n.IsBroker() {
		return c.Await(ctx, startLimit, fmt.Sprintf("node %d listens", id), n.listening)
	}
	return c.AwaitBrokers(ctx, id)
}
