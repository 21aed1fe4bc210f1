package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Depth says how much is asked of a replica.
type Depth int

const (
	// Ends are log end offsets only.
	Ends Depth = iota
	// Logs are log start offsets beside them, and the leaders' high watermarks.
	Logs
	// Epochs are the leader epochs of the last batches beside those, for which each broker sends
	// the last batch of each replica: not for very many partitions at once.
	Epochs
)

// Replica ids that a request may bear instead of a broker's: a consumer's is answered by leaders
// only and sees up to the high watermark; the debugging one is answered by every replica, led or
// not, in ListOffsets up to the log end, in Fetch up to the replica's own high watermark; that of a
// replica that moves between disks is answered by every replica and fetches up to the log end
// (upstream's FetchRequest.isConsumer and FetchIsolation, the same in 3.6.2 to 4.3.1; the first two
// seen on 3.7.1, 4.1.0 and 4.3.1, the last one on 4.1.0).
const (
	consumer    int32 = -1
	debugging   int32 = -2
	futureLocal int32 = -3
)

// Special time stamps of ListOffsets.
const (
	latest   int64 = -1
	earliest int64 = -2
)

// offsetBatch is how many partitions are asked for in one request.
const offsetBatch = 5000

// ref is one replica of a snapshot: the places of its topic, partition and position.
type ref struct{ topic, partition, position int }

// Positions asks brokers where the logs of their replicas stand, and fills in the partitions'
// Positions: those of the replicas that want chooses. Each broker answers for itself, so that it
// works for followers, observers and partitions without a leader.
//
// The order is high watermarks, then logs of replicas that do not lead, then leaders' logs. So a
// replica that reaches the high watermark has everything that was committed when the looking
// began, and the difference between a leader's end and another replica's is never told too small.
//
// It needs DESCRIBE on the topics; Epochs needs READ too. What is not answered stays unknown and
// says why.
func (c *Client) Positions(ctx context.Context, s *Snapshot, depth Depth, want func(t *Topic, p *Partition, broker int32) bool) error {
	leaders, others := map[int32][]ref{}, map[int32][]ref{}
	var led []ref
	for i := range s.Topics {
		t := &s.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			p.Positions = nil
			for _, b := range p.Replicas {
				if want(t, p, b) {
					p.Positions = append(p.Positions, Position{Broker: b, Problem: "not answered"})
				}
			}
			slices.SortFunc(p.Positions, func(a, b Position) int { return cmp.Compare(a.Broker, b.Broker) })
			for k := range p.Positions {
				q := &p.Positions[k]
				switch {
				case !s.Broker(q.Broker).Alive:
					q.Problem = "its broker is not alive"
				case q.Broker == p.Leader:
					leaders[q.Broker] = append(leaders[q.Broker], ref{i, j, k})
				default:
					others[q.Broker] = append(others[q.Broker], ref{i, j, k})
				}
			}
			if depth >= Logs && len(p.Positions) > 0 && p.Leader >= 0 {
				led = append(led, ref{i, j, -1})
			}
		}
	}
	if depth >= Logs {
		c.highWatermarks(ctx, s, led)
	}
	for _, replicas := range []map[int32][]ref{others, leaders} {
		var wg sync.WaitGroup
		for broker, refs := range replicas {
			wg.Go(func() { c.logs(ctx, s, depth, broker, refs) })
		}
		wg.Wait()
	}
	return ctx.Err()
}

// highWatermarks asks each leader for its high watermark, and for its log end where it cannot tell.
func (c *Client) highWatermarks(ctx context.Context, s *Snapshot, partitions []ref) {
	byLeader := map[int32][]ref{}
	for _, r := range partitions {
		leader := s.at(r).Leader
		byLeader[leader] = append(byLeader[leader], r)
	}
	var wg sync.WaitGroup
	for broker, refs := range byLeader {
		wg.Go(func() {
			var untold []ref
			c.offsets(ctx, s, broker, consumer, latest, refs, func(r ref, offset int64, err error) {
				switch {
				case err == nil:
					s.at(r).HighWatermark = Known(offset)
				case errors.Is(err, kerr.OffsetNotAvailable):
					untold = append(untold, r)
				}
			})
			// Before any other replica is asked: what these have then is not short of it by the time between.
			c.offsets(ctx, s, broker, debugging, latest, untold, func(r ref, offset int64, err error) {
				if err == nil {
					s.at(r).CommittedBelow = Known(offset)
				}
			})
		})
	}
	wg.Wait()
}

// logs asks one broker for its replicas' logs.
func (c *Client) logs(ctx context.Context, s *Snapshot, depth Depth, broker int32, refs []ref) {
	answer := func(take func(*Position, int64)) func(ref, int64, error) {
		return func(r ref, offset int64, err error) {
			q := &s.at(r).Positions[r.position]
			if err != nil {
				q.Problem = why(err, "DESCRIBE on the topic")
				return
			}
			q.Problem = ""
			take(q, offset)
		}
	}
	c.offsets(ctx, s, broker, debugging, latest, refs, answer(func(q *Position, o int64) { q.LogEnd = Known(o) }))
	if depth < Logs {
		return
	}
	refs = slices.DeleteFunc(slices.Clone(refs), func(r ref) bool { return !s.at(r).Positions[r.position].LogEnd.Known })
	c.offsets(ctx, s, broker, debugging, earliest, refs, answer(func(q *Position, o int64) { q.LogStart = Known(o) }))
	if depth < Epochs {
		return
	}
	var ask []batchRef
	for _, r := range refs {
		q := &s.at(r).Positions[r.position]
		end, start := q.LogEnd.V, q.LogStart
		switch {
		case !start.Known:
		case end == 0:
			q.LastEpoch = Known(NoEpoch)
		case start.V == end:
			q.Problem = fmt.Sprintf("nothing before %d is left in its log, so the epoch of the last batch is not known", end)
		default:
			ask = append(ask, batchRef{ref: r, offset: end - 1})
		}
	}
	c.batches(ctx, s, broker, ask, func(b batchRef, found batch, err error) {
		q := &s.at(b.ref).Positions[b.position]
		if err != nil {
			q.Problem = "last batch: " + why(err, "READ on the topic")
			return
		}
		q.LastEpoch = Known(found.epoch)
	})
}

// Behind fills in, for each replica with a position behind its leader's, the time stamp of the
// first batch that it lacks, which the leader still has. It needs READ on the topics.
func (c *Client) Behind(ctx context.Context, s *Snapshot) error {
	byLeader := map[int32][]batchRef{}
	for i := range s.Topics {
		for j := range s.Topics[i].Partitions {
			p := &s.Topics[i].Partitions[j]
			leader := p.Position(p.Leader)
			if !leader.LogEnd.Known {
				continue
			}
			for k, q := range p.Positions {
				if q.LogEnd.Known && q.LogEnd.V < leader.LogEnd.V {
					byLeader[p.Leader] = append(byLeader[p.Leader], batchRef{ref{i, j, k}, q.LogEnd.V})
				}
			}
		}
	}
	var wg sync.WaitGroup
	for broker, wanted := range byLeader {
		wg.Go(func() {
			c.batches(ctx, s, broker, wanted, func(b batchRef, found batch, err error) {
				q := &s.at(b.ref).Positions[b.position]
				switch {
				case err != nil:
					q.Problem = cmp.Or(q.Problem, "first batch it lacks: "+why(err, "READ on the topic"))
				case !found.time.IsZero():
					q.Missing = Known(found.time)
				}
			})
		})
	}
	wg.Wait()
	return ctx.Err()
}

// at gives the partition of a replica.
func (s *Snapshot) at(r ref) *Partition { return &s.Topics[r.topic].Partitions[r.partition] }

// offsets asks one broker for an offset of each partition, and tells answer of each. The refs are
// in the snapshot's order.
func (c *Client) offsets(ctx context.Context, s *Snapshot, broker, replica int32, timestamp int64, refs []ref, answer func(ref, int64, error)) {
	for start := 0; start < len(refs); start += offsetBatch {
		part := refs[start:min(start+offsetBatch, len(refs))]
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = replica
		for i, r := range part {
			if i == 0 || part[i-1].topic != r.topic {
				t := kmsg.NewListOffsetsRequestTopic()
				t.Topic = s.Topics[r.topic].Name
				req.Topics = append(req.Topics, t)
			}
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = s.at(r).ID, timestamp
			t := &req.Topics[len(req.Topics)-1]
			t.Partitions = append(t.Partitions, p)
		}
		resp, err := c.Ask(ctx, broker, req)
		if err != nil {
			// A broker that does not answer for these does not answer for the rest either.
			for _, r := range refs[start:] {
				answer(r, 0, err)
			}
			return
		}
		byPlace := map[[2]int]ref{}
		for _, r := range part {
			byPlace[[2]int{r.topic, r.partition}] = r
		}
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			topic, ok := s.topicPlace(t.Topic)
			if !ok {
				continue
			}
			for _, p := range t.Partitions {
				place, ok := s.Topics[topic].partitionPlace(p.Partition)
				if !ok {
					continue
				}
				if r, asked := byPlace[[2]int{topic, place}]; asked {
					answer(r, p.Offset, kerr.ErrorForCode(p.ErrorCode))
				}
			}
		}
	}
}
