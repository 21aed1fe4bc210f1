package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/history"
)

// Read reads a partition from its beginning up to end, the offset after the last record wanted,
// and records what it saw. It fails when end is not reached within limit.
func Read(ctx context.Context, addrs []string, topic string, partition int32, end int64, committed bool, limit time.Duration, rec *history.Recorder) error {
	isolation := kgo.ReadUncommitted()
	if committed {
		isolation = kgo.ReadCommitted()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.FetchIsolationLevel(isolation), kgo.DialTimeout(2*time.Second),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return fmt.Errorf("consumer of %s-%d: %w", topic, partition, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var runs []history.Run
	next := int64(0)
	for next < end {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("read %s-%d: reached offset %d of %d in %v", topic, partition, next, end, limit)
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("read %s-%d: %w", topic, partition, e.Err)
		}
		for _, r := range fetches.Records() {
			producer, seq, err := decode(r.Value)
			if err != nil {
				return fmt.Errorf("read %s-%d at offset %d: %w", topic, partition, r.Offset, err)
			}
			runs = extend(runs, r.Offset, producer, seq)
			next = r.Offset + 1
		}
	}
	rec.Record(history.Event{Read: &history.Read{Topic: topic, Partition: partition, Committed: committed, End: next, Runs: runs}})
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
