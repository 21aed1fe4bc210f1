package segment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Summary is the content of one replica of a partition.
type Summary struct {
	Batches, Bytes int64
	// SHA256 is over the bytes of all batches in order; where segments begin does not matter.
	SHA256 string
	// End is the offset after the last record.
	End int64
}

// Summarize reads all segments in a partition's folder. It gives ErrDamaged, with the file and the
// byte, where a batch is not sound or does not come after the one before it.
func Summarize(dir string) (Summary, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return Summary{}, fmt.Errorf("segments: %w", err)
	}
	if len(files) == 0 {
		return Summary{}, fmt.Errorf("no segment in %s", filepath.Base(dir))
	}
	slices.Sort(files) // names are base offsets, padded with zeroes
	var s Summary
	h := sha256.New()
	for _, f := range files {
		if err := s.add(f, h); err != nil {
			return s, fmt.Errorf("%s/%s: %w", filepath.Base(dir), filepath.Base(f), err)
		}
	}
	s.SHA256 = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

func (s *Summary) add(path string, h hash.Hash) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := NewReader(f)
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if b.BaseOffset < s.End {
			return fmt.Errorf("%w: base offset %d after a batch that ends at %d", ErrDamaged, b.BaseOffset, s.End)
		}
		s.Batches++
		s.Bytes += int64(len(b.Raw))
		s.End = b.LastOffset + 1
		_, _ = h.Write(b.Raw) // never fails, see hash.Hash
	}
}
