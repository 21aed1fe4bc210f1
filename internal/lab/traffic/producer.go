package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/history"
)

// Options of a producer.
type Options struct {
	// Name is unique in a run; it goes into every record.
	Name string
	// Topic and Partitions say where records go; every partition has its own numbers.
	Topic      string
	Partitions int32
	// Rate is records per second and partition; 0 is as fast as it goes.
	Rate int
	// Count ends the producer after so many records per partition; 0 is until Stop.
	Count int64
	// Size is bytes per value.
	Size int
	// Timeout is how long one record may take before its outcome is unknown.
	Timeout time.Duration
}

// Producer produces in the background until it is stopped.
type Producer struct {
	opt    Options
	rec    *history.Recorder
	client *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}
	wg     sync.WaitGroup
}

// Start starts a producer with a client of its own; what happens to each record goes to rec.
func Start(ctx context.Context, addrs []string, opt Options, rec *history.Recorder) (*Producer, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(opt.Timeout),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.DialTimeout(2*time.Second),
		kgo.MetadataMinAge(100*time.Millisecond),
		kgo.MaxBufferedRecords(20000),
		kgo.UnknownTopicRetries(-1),
	)
	if err != nil {
		return nil, fmt.Errorf("producer %s: %w", opt.Name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &Producer{opt: opt, rec: rec, client: client, stop: cancel, done: make(chan struct{})}
	go p.run(ctx)
	return p, nil
}

func (p *Producer) run(ctx context.Context) {
	defer close(p.done)
	var tick <-chan time.Time
	if p.opt.Rate > 0 {
		t := time.NewTicker(time.Second / time.Duration(p.opt.Rate))
		defer t.Stop()
		tick = t.C
	}
	for seq := int64(0); p.opt.Count == 0 || seq < p.opt.Count; seq++ {
		if tick != nil {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
		}
		if ctx.Err() != nil {
			return
		}
		for k := range p.opt.Partitions {
			p.send(k, seq)
		}
	}
}

// send hands one record to the client. It blocks only when the client's buffer is full.
func (p *Producer) send(partition int32, seq int64) {
	began := time.Now()
	r := &kgo.Record{Topic: p.opt.Topic, Partition: partition, Value: encode(p.opt.Name, seq, p.opt.Size)}
	p.wg.Add(1)
	// The context is not the producer's: stopping must not drop records that are on their way.
	p.client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
		defer p.wg.Done()
		op := history.Op{Producer: p.opt.Name, Topic: p.opt.Topic, Partition: partition, Seq: seq,
			Start: p.rec.At(began), End: p.rec.Now(), Offset: r.Offset, Outcome: outcome(err)}
		if err != nil {
			op.Err = err.Error()
			op.Offset = -1
		}
		p.rec.Record(history.Event{Op: &op})
	})
}

// outcome maps an error of a produce to what it says about the record. Only answers with which a
// broker refuses to append prove that the record is not in the log.
func outcome(err error) string {
	switch {
	case err == nil:
		return history.Acked
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.InvalidRecord), errors.Is(err, kerr.TopicAuthorizationFailed):
		return history.Failed
	default:
		return history.Unknown
	}
}

// Stop ends production and waits until the outcome of every record is known, or is unknown for good.
func (p *Producer) Stop() {
	p.stop()
	p.Wait()
}

// Wait waits until a producer with a count has got all its answers.
func (p *Producer) Wait() {
	<-p.done
	p.wg.Wait()
	p.client.Close()
	p.stop()
}

// Abandon ends production and gives up on records without an answer; their outcome is unknown.
func (p *Producer) Abandon() {
	p.stop()
	<-p.done
	p.client.Close()
	p.wg.Wait()
}
