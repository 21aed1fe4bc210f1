// Package probe looks at a running cluster from outside, as a client may: metadata, high
// watermarks, and every replica's own log end offset.
package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/history"
)

// Asker sends requests to chosen brokers; a cluster does.
type Asker interface {
	Ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error)
	AskAny(ctx context.Context, req kmsg.Request) (kmsg.Response, int32, error)
	AnsweringBrokers() []int32
	ActiveController(ctx context.Context) (int32, error)
	// Eligible tells whether brokers answer DescribeTopicPartitions (KIP-966).
	Eligible() bool
}

// Replica ids in a ListOffsets request: consumers get the high watermark from the leader alone,
// the debugging id gets the log end offset from any replica, leader or not.
const (
	consumer  = -1
	debugging = -2
)

// Metadata asks one answering broker for the topics and tells which one answered.
func Metadata(ctx context.Context, a Asker, topics ...string) (history.View, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, via, err := a.AskAny(ctx, req)
	if err != nil {
		return history.View{}, fmt.Errorf("metadata: %w", err)
	}
	m := resp.(*kmsg.MetadataResponse)
	v := history.View{Via: via, Controller: -1}
	for _, b := range m.Brokers {
		v.Brokers = append(v.Brokers, b.NodeID)
	}
	slices.Sort(v.Brokers)
	for _, t := range m.Topics {
		if t.ErrorCode != 0 {
			return v, fmt.Errorf("metadata of %s: %w", *t.Topic, kerr.ErrorForCode(t.ErrorCode))
		}
		for _, p := range t.Partitions {
			v.Partitions = append(v.Partitions, history.Partition{Topic: *t.Topic, ID: p.Partition, Leader: p.Leader, Epoch: p.LeaderEpoch,
				Replicas: p.Replicas, ISR: p.ISR, HW: -1})
		}
	}
	slices.SortFunc(v.Partitions, func(x, y history.Partition) int {
		if x.Topic != y.Topic {
			if x.Topic < y.Topic {
				return -1
			}
			return 1
		}
		return int(x.ID - y.ID)
	})
	return v, nil
}

// Look takes one View. The order, watermarks, metadata, log ends, is what makes 'in the ISR with a
// log end below the watermark' a proof: the watermark only grows, and so does the log end.
func Look(ctx context.Context, a Asker, now func() float64, last history.View, topics ...string) (history.View, error) {
	from := now()
	hw := map[key]int64{}
	for _, p := range last.Partitions {
		if p.Leader >= 0 && slices.Contains(a.AnsweringBrokers(), p.Leader) {
			for k, offset := range offsets(ctx, a, p.Leader, consumer, []history.Partition{p}) {
				hw[k] = offset
			}
		}
	}
	v, err := Metadata(ctx, a, topics...)
	if err != nil {
		return v, err
	}
	v.From = from
	if c, err := a.ActiveController(ctx); err == nil {
		v.Controller = c
	}
	if a.Eligible() {
		if err := eligible(ctx, a, &v); err != nil {
			return v, err
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, b := range a.AnsweringBrokers() {
		wg.Go(func() {
			ends := offsets(ctx, a, b, debugging, v.Partitions)
			mu.Lock()
			defer mu.Unlock()
			for i := range v.Partitions {
				p := &v.Partitions[i]
				if end, ok := ends[key{p.Topic, p.ID}]; ok && slices.Contains(p.Replicas, b) {
					if p.LEO == nil {
						p.LEO = map[int32]int64{}
					}
					p.LEO[b] = end
				}
			}
		})
	}
	wg.Wait()
	for i := range v.Partitions {
		p := &v.Partitions[i]
		if w, ok := hw[key{p.Topic, p.ID}]; ok {
			p.HW = w
		}
	}
	return v, nil
}

type key struct {
	topic     string
	partition int32
}

// offsets asks one broker for the end offsets of the partitions as the given replica id sees them.
// Partitions it has no answer for are missing.
func offsets(ctx context.Context, a Asker, broker, replica int32, parts []history.Partition) map[key]int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = replica
	for _, p := range parts {
		if len(req.Topics) == 0 || req.Topics[len(req.Topics)-1].Topic != p.Topic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
		}
		q := kmsg.NewListOffsetsRequestTopicPartition()
		q.Partition, q.Timestamp, q.CurrentLeaderEpoch = p.ID, -1, -1
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, q)
	}
	out := map[key]int64{}
	resp, err := a.Ask(ctx, broker, req)
	if err != nil {
		return out
	}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 {
				out[key{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return out
}
