package arm64

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/segment"
)

// Codecs are the names of the compression types by their number in a record batch (KIP-98, KIP-110).
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Pair is one topic: producers send one codec, the topic's compression.type is another, so that
// the broker has to decompress and compress every batch.
type Pair struct {
	From, To string
	// Error is what the producer was told; empty when everything came back as it was sent and
	// the broker's segments hold nothing but To.
	Error string `json:",omitempty"`
}

// Pairs are all pairs with different codecs that end in one with a native library.
func Pairs() []Pair {
	var out []Pair
	for _, to := range []string{"lz4", "snappy", "zstd"} {
		for _, from := range []string{"gzip", "lz4", "snappy", "zstd"} {
			if from != to {
				out = append(out, Pair{From: from, To: to})
			}
		}
	}
	return out
}

// Uses tells whether the broker needs a codec for the pair.
func (p Pair) Uses(codec string) bool { return p.From == codec || p.To == codec }

// Topic is the pair's topic.
func (p Pair) Topic() string { return p.From + "-to-" + p.To }

const (
	records  = 300
	patience = 90 * time.Second
)

// value is text that compresses, different for each record.
func value(i int) string { return strings.Repeat(fmt.Sprintf("record %d of many; ", i), 40) }

// Recompress creates the pair's topic, sends records with one codec, reads them back, and looks at the
// partition's segments below dataDir. It fails with what went wrong first.
func (p Pair) Recompress(ctx context.Context, admin *kadm.Client, addr, dataDir string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	created, err := admin.CreateTopic(ctx, 1, 1, map[string]*string{"compression.type": &p.To}, p.Topic())
	if err = errors.Join(err, created.Err); err != nil {
		return fmt.Errorf("create topic %s: %w", p.Topic(), err)
	}
	if err := p.send(ctx, addr); err != nil {
		return err
	}
	if err := p.read(ctx, addr); err != nil {
		return err
	}
	return p.look(filepath.Join(dataDir, p.Topic()+"-0"))
}

func (p Pair) send(ctx context.Context, addr string) error {
	codec, ok := map[string]kgo.CompressionCodec{"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[p.From]
	if !ok {
		return fmt.Errorf("codec %q: expected gzip, snappy, lz4 or zstd", p.From)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(p.Topic()), kgo.ProducerBatchCompression(codec), kgo.RecordDeliveryTimeout(patience/2), kgo.ProducerLinger(50*time.Millisecond))
	if err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	defer cl.Close()
	var batch []*kgo.Record
	for i := range records {
		batch = append(batch, kgo.StringRecord(value(i)))
	}
	if err := cl.ProduceSync(ctx, batch...).FirstErr(); err != nil {
		return fmt.Errorf("produce to %s: %w", p.Topic(), err)
	}
	return nil
}

func (p Pair) read(ctx context.Context, addr string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.Topic(): {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer cl.Close()
	for seen := 0; seen < records; {
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return fmt.Errorf("consume %s after %d of %d records: %w", p.Topic(), seen, records, err)
		}
		for _, r := range fetched.Records() {
			if string(r.Value) != value(seen) {
				return fmt.Errorf("record %d of %s came back as other bytes", seen, p.Topic())
			}
			seen++
		}
	}
	return nil
}

// look checks that every batch on the broker's disk has the topic's codec.
func (p Pair) look(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no segment in %s: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	count := int32(0)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		n, err := p.batches(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		count += n
	}
	if count != records {
		return fmt.Errorf("%d records in the segments of %s, expected %d", count, p.Topic(), records)
	}
	return nil
}

func (p Pair) batches(in io.Reader) (count int32, err error) {
	r := segment.NewReader(in)
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
		if int(b.Codec) >= len(Codecs) || Codecs[b.Codec] != p.To {
			return count, fmt.Errorf("batch at offset %d has codec %d, expected %s: the broker kept what the producer sent", b.BaseOffset, b.Codec, p.To)
		}
		count += b.Count
	}
}
