package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/history"
)

// perTransaction is how many records a transaction has in every partition; each abortEvery-th
// transaction is aborted.
const (
	perTransaction = 20
	abortEvery     = 3
)

// Transactions is a transactional producer at work.
type Transactions struct {
	opt    Options
	rec    *history.Recorder
	client *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}
	err    error
}

// StartTransactions starts a producer that commits two transactions and aborts the third, until
// Stop. Every record's outcome is that of its transaction.
func StartTransactions(ctx context.Context, addrs []string, opt Options, rec *history.Recorder) (*Transactions, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...),
		kgo.TransactionalID(opt.Name),
		kgo.TransactionTimeout(opt.Timeout),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(opt.Timeout),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.DialTimeout(2*time.Second),
		kgo.MetadataMinAge(100*time.Millisecond),
	)
	if err != nil {
		return nil, fmt.Errorf("transactional producer %s: %w", opt.Name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &Transactions{opt: opt, rec: rec, client: client, stop: cancel, done: make(chan struct{})}
	go t.run(ctx)
	return t, nil
}

// Stop ends production after the transaction under way, and gives what made it end earlier.
func (t *Transactions) Stop() error {
	t.stop()
	<-t.done
	t.client.Close()
	return t.err
}

func (t *Transactions) run(ctx context.Context) {
	defer close(t.done)
	for n := 0; ctx.Err() == nil; n++ {
		// Not the producer's context: stopping must not leave a transaction open.
		if t.err = t.one(context.WithoutCancel(ctx), n); t.err != nil {
			return
		}
	}
}

// one produces one transaction and ends it.
func (t *Transactions) one(ctx context.Context, n int) error {
	if err := t.client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	var mu sync.Mutex
	var ops []history.Op
	var wg sync.WaitGroup
	var failed error
	for i := range perTransaction {
		for k := range t.opt.Partitions {
			seq := int64(n*perTransaction + i)
			began := t.rec.Now()
			wg.Add(1)
			t.client.Produce(ctx, &kgo.Record{Topic: t.opt.Topic, Partition: k, Value: encode(t.opt.Name, seq, t.opt.Size)}, func(r *kgo.Record, err error) {
				defer wg.Done()
				mu.Lock()
				defer mu.Unlock()
				op := history.Op{Producer: t.opt.Name, Topic: t.opt.Topic, Partition: k, Seq: seq, Start: began, Offset: r.Offset, Outcome: outcome(err)}
				if err != nil {
					op.Err, op.Offset = err.Error(), -1
					failed = errors.Join(failed, err)
				}
				ops = append(ops, op)
			})
		}
	}
	wg.Wait()
	how := kgo.TryCommit
	if failed != nil || n%abortEvery == abortEvery-1 {
		how = kgo.TryAbort
	}
	err := t.client.EndTransaction(ctx, how)
	end := t.rec.Now()
	for _, op := range ops {
		op.End, op.Outcome = end, ended(op.Outcome, how, err)
		if err != nil && op.Err == "" {
			op.Err = err.Error()
		}
		t.rec.Record(history.Event{Op: &op})
	}
	return err
}

// ended gives a record's outcome, from that of its own request and that of its transaction's end.
func ended(outcome string, how kgo.TransactionEndTry, err error) string {
	switch {
	case outcome == history.Failed:
		return history.Failed
	case err != nil:
		return history.Unknown
	case how == kgo.TryAbort:
		return history.Aborted // whether or not the record itself arrived
	}
	return outcome
}
