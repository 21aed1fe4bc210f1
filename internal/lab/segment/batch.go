// Package segment reads a partition's segment files: record batches of format v2, KIP-98.
package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Offsets of the fields of a batch header (KIP-98, 'Message Format'). All numbers are big-endian.
// The length counts from the leader epoch on, the checksum covers everything from the attributes on.
const (
	lengthAt          = 8
	epochAt           = 12
	magicAt           = 16
	crcAt             = 17
	attributesAt      = 21
	lastOffsetDeltaAt = 23
	producerIDAt      = 43
	producerEpochAt   = 51
	countAt           = 57
	headerSize        = 61
	prefixSize        = 12 // base offset and length
)

// maxBatch bounds what a length field can make the reader allocate: four times the largest batch
// that a broker with default settings accepts.
const maxBatch = 4 << 20

// Batch is one record batch. Raw is only valid until the next one is read.
type Batch struct {
	BaseOffset    int64
	LastOffset    int64
	LeaderEpoch   int32
	ProducerID    int64
	ProducerEpoch int16
	Count         int32
	// Codec is how the records are compressed: 0 not at all, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
	Codec         int8
	Control       bool // a transaction marker
	Transactional bool
	Raw           []byte
}

// Reader reads batches one after the other.
type Reader struct {
	in  io.Reader
	at  int64
	buf []byte
}

// NewReader reads from a segment file.
func NewReader(in io.Reader) *Reader { return &Reader{in: in} }

// ErrDamaged says that the bytes are not a sound batch.
var ErrDamaged = errors.New("damaged record batch")

// Next gives the next batch, io.EOF after the last one, ErrDamaged where bytes do not fit
// their checksum, are cut off, or are of another format. A segment that ends in zeroes was allocated
// ahead; that counts as its end.
func (r *Reader) Next() (Batch, error) {
	r.buf = append(r.buf[:0], make([]byte, prefixSize)...)
	n, err := io.ReadFull(r.in, r.buf)
	if errors.Is(err, io.EOF) {
		return Batch{}, io.EOF
	}
	if err != nil {
		return Batch{}, fmt.Errorf("%w at byte %d: %d bytes of a header of %d", ErrDamaged, r.at, n, prefixSize)
	}
	length := int64(int32(binary.BigEndian.Uint32(r.buf[lengthAt:])))
	if length == 0 && binary.BigEndian.Uint64(r.buf) == 0 {
		return Batch{}, io.EOF
	}
	if length < headerSize-prefixSize || length > maxBatch {
		return Batch{}, fmt.Errorf("%w at byte %d: length %d, expected %d to %d", ErrDamaged, r.at, length, headerSize-prefixSize, maxBatch)
	}
	r.buf = append(r.buf, make([]byte, length)...)
	if n, err := io.ReadFull(r.in, r.buf[prefixSize:]); err != nil {
		return Batch{}, fmt.Errorf("%w at byte %d: %d of %d bytes", ErrDamaged, r.at, n, length)
	}
	b, err := parse(r.buf)
	if err != nil {
		return Batch{}, fmt.Errorf("%w at byte %d: %w", ErrDamaged, r.at, err)
	}
	r.at += int64(len(r.buf))
	return b, nil
}

// parse reads one whole batch and proves its checksum.
func parse(raw []byte) (Batch, error) {
	if magic := raw[magicAt]; magic != 2 {
		return Batch{}, fmt.Errorf("magic %d, expected 2", magic)
	}
	want := binary.BigEndian.Uint32(raw[crcAt:])
	if got := crc32.Checksum(raw[attributesAt:], crc32.MakeTable(crc32.Castagnoli)); got != want {
		return Batch{}, fmt.Errorf("checksum %08x, header says %08x", got, want)
	}
	attributes := binary.BigEndian.Uint16(raw[attributesAt:])
	b := Batch{
		BaseOffset:    int64(binary.BigEndian.Uint64(raw)),
		LeaderEpoch:   int32(binary.BigEndian.Uint32(raw[epochAt:])),
		ProducerID:    int64(binary.BigEndian.Uint64(raw[producerIDAt:])),
		ProducerEpoch: int16(binary.BigEndian.Uint16(raw[producerEpochAt:])),
		Count:         int32(binary.BigEndian.Uint32(raw[countAt:])),
		Codec:         int8(attributes & 0x7),
		Transactional: attributes&0x10 != 0,
		Control:       attributes&0x20 != 0,
		Raw:           raw,
	}
	delta := int64(int32(binary.BigEndian.Uint32(raw[lastOffsetDeltaAt:])))
	if b.BaseOffset < 0 || delta < 0 {
		return Batch{}, fmt.Errorf("base offset %d, last offset delta %d: expected none below 0", b.BaseOffset, delta)
	}
	b.LastOffset = b.BaseOffset + delta
	return b, nil
}
