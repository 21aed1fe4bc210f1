package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// batch builds a sound batch as KIP-98 lays it out.
func batch(base int64, count int32, attributes uint16, body string) []byte {
	b := make([]byte, headerSize, headerSize+len(body))
	binary.BigEndian.PutUint64(b, uint64(base))
	binary.BigEndian.PutUint32(b[epochAt:], 7)
	b[magicAt] = 2
	binary.BigEndian.PutUint16(b[attributesAt:], attributes)
	binary.BigEndian.PutUint32(b[lastOffsetDeltaAt:], uint32(count-1))
	binary.BigEndian.PutUint64(b[producerIDAt:], 4711)
	binary.BigEndian.PutUint16(b[producerEpochAt:], 3)
	binary.BigEndian.PutUint32(b[countAt:], uint32(count))
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-prefixSize))
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestReaderGivesEveryFieldOfABatch(t *testing.T) {
	r := NewReader(bytes.NewReader(batch(100, 5, 0x34, "records")))
	b, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, int64(100), b.BaseOffset)
	require.Equal(t, int64(104), b.LastOffset)
	require.Equal(t, int32(7), b.LeaderEpoch)
	require.Equal(t, int64(4711), b.ProducerID)
	require.Equal(t, int16(3), b.ProducerEpoch)
	require.Equal(t, int32(5), b.Count)
	require.Equal(t, int8(4), b.Codec)
	require.True(t, b.Control)
	require.True(t, b.Transactional)
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

func TestReaderStopsAtSpaceAllocatedAhead(t *testing.T) {
	r := NewReader(bytes.NewReader(append(batch(0, 1, 0, "x"), make([]byte, 4096)...)))
	_, err := r.Next()
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

func TestReaderFindsEveryFlippedBitBehindTheChecksum(t *testing.T) {
	good := batch(0, 3, 0, "some records")
	for at := crcAt; at < len(good); at++ {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		_, err := NewReader(bytes.NewReader(bad)).Next()
		require.ErrorIs(t, err, ErrDamaged, "byte %d", at)
	}
}

func TestReaderRefusesWhatIsNoBatch(t *testing.T) {
	old := batch(0, 1, 0, "x")
	old[magicAt] = 1
	huge := batch(0, 1, 0, "x")
	binary.BigEndian.PutUint32(huge[lengthAt:], 1<<30)
	negative := batch(0, 1, 0, "x")
	binary.BigEndian.PutUint32(negative[lengthAt:], 0xffffffff)
	for name, raw := range map[string][]byte{
		"cut header": old[:7], "cut body": batch(0, 1, 0, "x")[:headerSize], "old magic": old, "huge length": huge, "negative length": negative,
	} {
		_, err := NewReader(bytes.NewReader(raw)).Next()
		require.ErrorIs(t, err, ErrDamaged, name)
	}
}

func TestSummaryDoesNotDependOnWhereSegmentsBegin(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	a, b := batch(0, 10, 0, "first"), batch(10, 2, 0, "second")
	write(t, one, "00000000000000000000.log", append(bytes.Clone(a), b...))
	write(t, two, "00000000000000000000.log", a)
	write(t, two, "00000000000000000010.log", b)
	x, err := Summarize(one)
	require.NoError(t, err)
	y, err := Summarize(two)
	require.NoError(t, err)
	require.Equal(t, x, y)
	require.Equal(t, int64(12), x.End)
	require.Equal(t, int64(2), x.Batches)
}

func TestSummaryRefusesBatchesOutOfOrder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "00000000000000000000.log", append(batch(10, 2, 0, "later"), batch(0, 10, 0, "earlier")...))
	_, err := Summarize(dir)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "base offset 0 after a batch that ends at 12")
}

func write(t *testing.T, dir, name string, raw []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o644))
}

func FuzzReader(f *testing.F) {
	f.Add(batch(0, 1, 0, "x"))
	f.Add(append(batch(5, 2, 0x20, "abc"), batch(7, 1, 0, "")...))
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := NewReader(bytes.NewReader(raw))
		var read []byte
		for {
			b, err := r.Next()
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, ErrDamaged), "%v", err)
				break
			}
			require.LessOrEqual(t, b.BaseOffset, b.LastOffset)
			read = append(read, b.Raw...)
		}
		require.True(t, bytes.HasPrefix(raw, read), "what was read is what is there")
	})
}
