package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/cluster"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

// Brokers gives the live brokers with their racks and how many replicas they hold; those with one
// of the ids are observers.
func (c *Connection) Brokers(ctx context.Context, ids []int32) ([]placement.Broker, error) {
	s, err := c.Client.Look(ctx, cluster.Scope{}, c.Now())
	if err != nil {
		return nil, err
	}
	held := map[int32]int{}
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			for _, r := range p.Replicas {
				held[r]++
			}
		}
	}
	var out []placement.Broker
	for _, b := range s.Brokers {
		if b.Alive {
			out = append(out, placement.Broker{ID: b.ID, Rack: b.Rack, Observer: slices.Contains(ids, b.ID), Replicas: held[b.ID]})
		}
	}
	return out, nil
}

// Create makes a topic with the assignment of the partitions, which are all of one topic. It needs
// CREATE on the topic or the cluster.
func (c *Connection) Create(ctx context.Context, parts []observer.Partition) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(electTimeout / time.Millisecond)
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = parts[0].Topic, -1, -1
	for _, p := range parts {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = p.ID, p.Replicas
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, t)
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return err
	}
	for _, t := range r.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			if t.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *t.ErrorMessage)
			}
			return denied(fmt.Errorf("make topic %s: %w", t.Topic, err), "CREATE on the topic")
		}
	}
	return nil
}

// Delete deletes a topic; one that is not there is no error. It needs DELETE on the topic.
func (c *Connection) Delete(ctx context.Context, topic string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(electTimeout / time.Millisecond)
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics, req.TopicNames = append(req.Topics, t), []string{topic}
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return err
	}
	for _, t := range r.(*kmsg.DeleteTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return denied(fmt.Errorf("delete topic %s: %w", topic, err), "DELETE on the topic")
		}
	}
	return nil
}
