package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/history"
)

// View says how a partition is read.
type View struct {
	// End is the offset after the last record wanted, a transaction marker counting as one.
	End       int64
	Committed bool
	// Rack is the consumer's rack: a leader may send it to a replica there (KIP-392). Empty reads
	// from the leader.
	Rack string
	// Limit is how long reading may take.
	Limit time.Duration
}

// Read reads a partition from its beginning and records what it saw. It fails when the end is not
// reached in time.
func Read(ctx context.Context, addrs []string, topic string, partition int32, v View, rec *history.Recorder) error {
	isolation := kgo.ReadUncommitted()
	if v.Committed {
		isolation = kgo.ReadCommitted()
	}
	from := &sources{bytes: map[int32]int64{}}
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.FetchIsolationLevel(isolation), kgo.DialTimeout(2*time.Second), kgo.Rack(v.Rack),
		kgo.KeepControlRecords(), kgo.WithHooks(from),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return fmt.Errorf("consumer of %s-%d: %w", topic, partition, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, v.Limit)
	defer cancel()
	var runs []history.Run
	next := int64(0)
	for next < v.End {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("read %s-%d: reached offset %d of %d in %v", topic, partition, next, v.End, v.Limit)
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("read %s-%d: %w", topic, partition, e.Err)
		}
		for _, r := range fetches.Records() {
			next = r.Offset + 1
			if r.Attrs.IsControl() {
				continue
			}
			producer, seq, err := decode(r.Value)
			if err != nil {
				return fmt.Errorf("read %s-%d at offset %d: %w", topic, partition, r.Offset, err)
			}
			runs = extend(runs, r.Offset, producer, seq)
		}
	}
	rec.Record(history.Event{Read: &history.Read{Topic: topic, Partition: partition, Committed: v.Committed, End: next, Runs: runs,
		Rack: v.Rack, Broker: from.only()}})
	return nil
}

// extend adds a record to the last run or begins a new one.
func extend(runs []history.Run, offset int64, producer string, seq int64) []history.Run {
	if len(runs) > 0 {
		last := &runs[len(runs)-1]
		if last.Producer == producer && last.Seq+last.N == seq && last.Offset+last.N == offset {
			last.N++
			return runs
		}
	}
	return append(runs, history.Run{Offset: offset, Producer: producer, Seq: seq, N: 1})
}
