package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batch is what the header of a record batch says (KIP-98, message format 2).
type batch struct {
	first, last int64
	// epoch is the leader epoch under which it was appended.
	epoch int32
	// time is the time stamp of its first record, by the producer's clock or the leader's; zero
	// when the log cleaner has put another time in its place.
	time time.Time
}

// batchRef is a replica and an offset whose batch is wanted.
type batchRef struct {
	ref
	offset int64
}

const (
	// fetchBatch is how many partitions are fetched from in one request, fetchBytes how much each
	// of them sends at most. A batch that is larger comes when it is asked for alone.
	fetchBatch = 16
	fetchBytes = 1 << 20
	// headerBytes is the length of a batch's header.
	headerBytes = 61
)

var errTooLarge = errors.New("the broker did not send the batch")

// batches fetches from one broker's own logs, up to their ends, the batch that holds each
// wanted offset, and tells answer of its header.
func (c *Client) batches(ctx context.Context, s *Snapshot, broker int32, wanted []batchRef, answer func(batchRef, batch, error)) {
	for start := 0; start < len(wanted); {
		part := together(wanted[start:])
		var alone []batchRef
		err := c.fetch(ctx, s, broker, part, func(b batchRef, found batch, err error) {
			if errors.Is(err, errTooLarge) {
				alone = append(alone, b)
				return
			}
			answer(b, found, err)
		})
		for _, b := range alone {
			if err == nil {
				err = c.fetch(ctx, s, broker, []batchRef{b}, answer)
			}
		}
		if err != nil {
			for _, b := range wanted[start:] {
				answer(b, batch{}, err)
			}
			return
		}
		start += len(part)
	}
}

// together gives what goes into one request: a partition may stand there only once.
func together(wanted []batchRef) []batchRef {
	n := 1
	for n < len(wanted) && n < fetchBatch && (wanted[n].topic != wanted[n-1].topic || wanted[n].partition != wanted[n-1].partition) {
		n++
	}
	return wanted[:n]
}

// fetch sends one request; its error is that of the whole request.
func (c *Client) fetch(ctx context.Context, s *Snapshot, broker int32, wanted []batchRef, answer func(batchRef, batch, error)) error {
	req := kmsg.NewPtrFetchRequest()
	// Up to version 14 the replica's id stands in the request, from 15 in a state of its own.
	req.ReplicaID, req.ReplicaState.ID = futureLocal, futureLocal
	req.MaxBytes = fetchBatch * fetchBytes
	for i, b := range wanted {
		if i == 0 || wanted[i-1].topic != b.topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = s.Topics[b.topic].Name, s.Topics[b.topic].ID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = s.at(b.ref).ID, b.offset, fetchBytes
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	r, err := c.Ask(ctx, broker, req)
	if err != nil {
		return err
	}
	resp := r.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	type place struct{ topic, partition int }
	asked := map[place]batchRef{}
	for _, b := range wanted {
		asked[place{b.topic, b.partition}] = b
	}
	for _, t := range resp.Topics {
		topic, ok := s.topicPlace(t.Topic)
		if t.Topic == "" { // from version 13 topics go by id
			topic, ok = topicByID(s, wanted, t.TopicID)
		}
		if !ok {
			continue
		}
		for _, p := range t.Partitions {
			partition, ok := s.Topics[topic].partitionPlace(p.Partition)
			b, was := asked[place{topic, partition}]
			if !ok || !was {
				continue
			}
			delete(asked, place{topic, partition})
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				answer(b, batch{}, err)
				continue
			}
			found, err := batchWith(p.RecordBatches, b.offset)
			answer(b, found, err)
		}
	}
	for _, b := range asked {
		answer(b, batch{}, errors.New("not answered"))
	}
	return nil
}

func topicByID(s *Snapshot, wanted []batchRef, id [16]byte) (int, bool) {
	for _, b := range wanted {
		if s.Topics[b.topic].ID == id {
			return b.topic, true
		}
	}
	return 0, false
}

// horizon is the attribute that says that a batch's time is the one until which the log cleaner
// keeps its deletions.
const horizon = 1 << 6

// batchWith finds the first batch that does not end before the offset. Where compaction has left
// a gap, it begins after it.
func batchWith(raw []byte, offset int64) (batch, error) {
	for len(raw) >= headerBytes {
		if magic := raw[16]; magic != 2 {
			return batch{}, fmt.Errorf("message format %d, expected 2", magic)
		}
		b := batch{first: int64(binary.BigEndian.Uint64(raw)), epoch: int32(binary.BigEndian.Uint32(raw[12:]))}
		b.last = b.first + int64(int32(binary.BigEndian.Uint32(raw[23:])))
		if binary.BigEndian.Uint16(raw[21:])&horizon == 0 {
			b.time = time.UnixMilli(int64(binary.BigEndian.Uint64(raw[27:])))
		}
		if offset <= b.last {
			return b, nil
		}
		size := 12 + int(int32(binary.BigEndian.Uint32(raw[8:])))
		if size < headerBytes || size > len(raw) {
			break
		}
		raw = raw[size:]
	}
	return batch{}, errTooLarge
}
