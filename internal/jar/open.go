package jar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/flate"
)

// Jar is an open jar file.
type Jar struct {
	path    string
	file    *os.File
	archive *archive
	index   map[string]int
}

// Entry is what the directory of a jar says of one entry.
type Entry struct {
	Name string
	Size int64 // bytes, unpacked
	// SHA256 is the lower-case hexadecimal digest of the unpacked content.
	SHA256 string
}

// Open opens a jar and checks its structure: duplicate names, names that leave the folder,
// encrypted entries, gaps, overlaps and truncation are errors.
func Open(path string) (*Jar, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open jar: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var a *archive
	if err == nil {
		a, err = readArchive(file, info.Size())
	}
	if err != nil {
		return nil, fmt.Errorf("jar %s: %w", path, errors.Join(err, file.Close()))
	}
	j := &Jar{path: path, file: file, archive: a, index: make(map[string]int, len(a.records))}
	for i := range a.records {
		j.index[a.records[i].name] = i
	}
	return j, nil
}

// Close closes the file.
func (j *Jar) Close() error { return j.file.Close() }

// Names are all entries, folders included, in the order of the jar.
func (j *Jar) Names() []string {
	names := make([]string, len(j.archive.records))
	for i := range j.archive.records {
		names[i] = j.archive.records[i].name
	}
	return names
}

// Has says whether the jar has an entry of that name.
func (j *Jar) Has(name string) bool {
	_, ok := j.index[name]
	return ok
}

// Read unpacks one entry and checks its size and CRC-32. A missing entry is os.ErrNotExist.
func (j *Jar) Read(name string) ([]byte, error) {
	i, ok := j.index[name]
	if !ok {
		return nil, fmt.Errorf("entry %q of %s: %w", name, j.path, os.ErrNotExist)
	}
	content, err := j.unpack(&j.archive.records[i])
	if err != nil {
		return nil, fmt.Errorf("entry %q of %s: %w", name, j.path, err)
	}
	return content, nil
}

func (j *Jar) unpack(r *record) ([]byte, error) {
	var in io.Reader = io.NewSectionReader(j.file, r.data, r.packed())
	if r.method() == methodDeflate {
		in = flate.NewReader(in)
	}
	// The buffer grows with what is really there, not with what the directory claims.
	var out bytes.Buffer
	out.Grow(int(min(r.unpacked(), 64<<10)))
	n, err := io.Copy(&out, io.LimitReader(in, r.unpacked()+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unpack: %w", err)
	case n != r.unpacked():
		return nil, fmt.Errorf("unpacks to another size than the %d bytes of the directory", r.unpacked())
	}
	if sum := crc32.ChecksumIEEE(out.Bytes()); sum != r.crc() {
		return nil, fmt.Errorf("CRC-32 is %08x, the directory says %08x", sum, r.crc())
	}
	return out.Bytes(), nil
}

// Entries unpacks everything once and gives name, size and digest in the order of the jar.
func (j *Jar) Entries() ([]Entry, error) {
	entries := make([]Entry, 0, len(j.archive.records))
	for i := range j.archive.records {
		r := &j.archive.records[i]
		content, err := j.Read(r.name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		entries = append(entries, Entry{Name: r.name, Size: r.unpacked(), SHA256: hex.EncodeToString(sum[:])})
	}
	return entries, nil
}
