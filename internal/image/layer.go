package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// entry is a file or folder of a layer.
type entry struct {
	header *tar.Header
	// file is where the content lies on this machine; empty for none.
	file string
}

// layer is a packed layer in a file. It implements v1.Layer.
type layer struct {
	path           string
	digest, diffID v1.Hash
	size           int64
}

// writeLayer packs entries in their order. The same entries give the same bytes on every
// machine: nothing but what headers say goes in, and the deflater is a locked dependency.
func writeLayer(path string, entries []entry) (l *layer, err error) {
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed, plain := sha256.New(), sha256.New()
	count := &counter{}
	// Jars are packed already: the fastest level loses nothing.
	z, err := gzip.NewWriterLevel(io.MultiWriter(out, packed, count), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(io.MultiWriter(z, plain))
	for _, e := range entries {
		if err := e.write(t); err != nil {
			return nil, fmt.Errorf("layer entry %s: %w", e.header.Name, err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	sum := func(b []byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(b)} }
	return &layer{path: path, digest: sum(packed.Sum(nil)), diffID: sum(plain.Sum(nil)), size: count.n}, nil
}

func (e entry) write(t *tar.Writer) error {
	h := *e.header
	if e.file == "" {
		return t.WriteHeader(&h)
	}
	in, err := os.Open(e.file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := t.WriteHeader(&h); err != nil {
		return err
	}
	_, err = io.Copy(t, in)
	return err
}

// clean keeps of a header what names, owns and dates a file, so that the rest of it, which
// depends on who packed the base, does not show.
func clean(name string, from *tar.Header) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: from.Mode & 0o7777, Uid: from.Uid, Gid: from.Gid, Uname: from.Uname, Gname: from.Gname,
		ModTime: from.ModTime.Truncate(time.Second), Format: tar.FormatPAX}
}

type counter struct{ n int64 }

// Write counts and never fails.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// Digest is the SHA-256 of the packed layer.
func (l *layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID is the SHA-256 of the archive in it.
func (l *layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Compressed opens the packed layer.
func (l *layer) Compressed() (io.ReadCloser, error) { return os.Open(l.path) }

// Uncompressed opens the archive in it.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	text, err := os.ReadFile(l.path)
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(bytes.NewReader(text))
}

// Size is that of the packed layer in bytes.
func (l *layer) Size() (int64, error) { return l.size, nil }

// MediaType is OCI's for layers packed with gzip.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
