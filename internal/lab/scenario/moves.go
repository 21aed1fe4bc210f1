package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/history"
)

// movingMark says, with value 1 or 0, whether a partition has a reassignment that is not complete, as
// ListPartitionReassignments answered. It is recorded when the answer changes.
const movingMark = "moving"

// Reassign submits new assignments of partitions of the plan's topic; an empty one cancels what is
// pending. Each that is accepted is recorded.
func (l *Lab) Reassign(ctx context.Context, targets map[int32][]int32) error {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = l.Plan.Topic
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		p.Partition, p.Replicas = id, targets[id]
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	began := l.Rec.Now()
	resp, err := l.Cluster.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("reassign %v: %w", targets, err)
	}
	r := resp.(*kmsg.AlterPartitionAssignmentsResponse)
	if r.ErrorCode != 0 {
		return fmt.Errorf("reassign %v: %w", targets, brokerError(r.ErrorCode, r.ErrorMessage))
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("reassign partition %d to %v: %w", p.Partition, targets[p.Partition], brokerError(p.ErrorCode, p.ErrorMessage))
			}
			l.Log.Info("reassignment", "partition", p.Partition, "target", targets[p.Partition])
			delete(l.pending, p.Partition) // what is heard next is about this one
			l.Rec.Record(history.Event{Move: &history.Move{Topic: t.Topic, Partition: p.Partition, Target: targets[p.Partition], Began: began}})
		}
	}
	_, err = l.moving(ctx)
	return err
}

// moving gives the partitions of the plan's topic with a pending reassignment, and records what changed.
func (l *Lab) moving(ctx context.Context) ([]int32, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = 5000
	t := kmsg.NewListPartitionReassignmentsRequestTopic()
	t.Topic, t.Partitions = l.Plan.Topic, l.partitions()
	req.Topics = append(req.Topics, t)
	resp, err := l.Cluster.Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("list reassignments: %w", err)
	}
	r := resp.(*kmsg.ListPartitionReassignmentsResponse)
	if r.ErrorCode != 0 {
		return nil, fmt.Errorf("list reassignments: %w", brokerError(r.ErrorCode, r.ErrorMessage))
	}
	now := map[int32]bool{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			now[p.Partition] = true
			l.pend(p.Partition, true, fmt.Sprintf("replicas %v, adding %v, removing %v", p.Replicas, p.AddingReplicas, p.RemovingReplicas))
		}
	}
	for _, id := range l.partitions() {
		if !now[id] {
			l.pend(id, false, "")
		}
	}
	return slices.Sorted(maps.Keys(now)), nil
}

func (l *Lab) pend(partition int32, now bool, text string) {
	if l.pending == nil {
		l.pending = map[int32]bool{}
	}
	if was, known := l.pending[partition]; known && was == now {
		return
	}
	l.pending[partition] = now
	value := int64(0)
	if now {
		value = 1
	}
	l.Rec.Record(history.Event{Mark: &history.Mark{Name: movingMark, Partition: partition, Value: value, Text: text}})
}

// UntilMoved waits until none of the partitions has a pending reassignment.
func (l *Lab) UntilMoved(ctx context.Context, limit time.Duration, partitions ...int32) error {
	return l.Cluster.Await(ctx, limit, fmt.Sprintf("the reassignments of %v are complete", partitions), func(ctx context.Context) error {
		moving, err := l.moving(ctx)
		if err != nil {
			return err
		}
		for _, id := range partitions {
			if slices.Contains(moving, id) {
				return fmt.Errorf("partition %d is still moving", id)
			}
		}
		return nil
	})
}

// Roll restarts nodes in order, one at a time, on the jars with the name (the leg's own for an empty
// one), and waits after each broker until the ISRs are whole.
func (l *Lab) Roll(ctx context.Context, name string, observers []int32, nodes ...int32) error {
	for _, id := range nodes {
		n := l.Cluster.Node(id)
		stop, cancel := context.WithTimeout(ctx, time.Minute)
		err := n.Stop(stop)
		cancel()
		if err != nil {
			return err
		}
		if err := l.Cluster.Swap(id, name); err != nil {
			return err
		}
		if err := l.Cluster.Restart(ctx, id); err != nil {
			return err
		}
		l.Log.Info("restarted", "node", id, "jars", name)
		l.Rec.Record(history.Event{Jars: &history.Jars{Node: id, Name: name}})
		if !n.IsBroker() {
			err = l.Cluster.Await(ctx, time.Minute, "a controller is active", func(ctx context.Context) error {
				c, err := l.Cluster.ActiveController(ctx)
				if err == nil && c < 0 {
					err = errors.New("none yet")
				}
				return err
			})
			if err != nil {
				return err
			}
			continue
		}
		if err := l.UntilWhole(ctx, time.Minute, observers...); err != nil {
			return err
		}
	}
	return nil
}
