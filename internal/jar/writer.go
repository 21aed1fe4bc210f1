package jar

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// The time of added entries, 1980-02-01 00:00:00 in MS-DOS form: what Gradle writes into
// reproducible archives. A ZIP cannot say anything earlier than 1980.
const (
	fixedDate = 0<<9 | 2<<5 | 1
	fixedTime = 0
)

// Unix, version 2.0; the mode of a regular file, rw-r--r--, and of a folder, rwxr-xr-x, in the
// upper half of the external attributes.
const (
	madeBy     = 3<<8 | 20
	needed     = 20
	fileMode   = 0o100644 << 16
	folderMode = 0o040755<<16 | 0x10
)

// writer keeps count of what is written, as the directory needs offsets.
type writer struct {
	out       *bufio.Writer
	in        *os.File
	at        int64
	directory bytes.Buffer
	count     int
}

func (w *writer) write(j *Jar, changes Changes) (Report, error) {
	var report Report
	for i := range j.archive.records {
		r := &j.archive.records[i]
		content, put := changes.Put[r.name]
		switch {
		case slices.Contains(changes.Remove, r.name):
			report.Removed = append(report.Removed, r.name)
		case put:
			report.Replaced = append(report.Replaced, r.name)
			if err := w.replace(r, content); err != nil {
				return Report{}, err
			}
		default:
			report.Copied++
			if err := w.copy(r); err != nil {
				return Report{}, fmt.Errorf("copy %q: %w", r.name, err)
			}
		}
	}
	report.Added = additions(j, changes)
	for _, name := range report.Added {
		if err := w.entry(newHeader(name), name, changes.Put[name]); err != nil {
			return Report{}, err
		}
	}
	slices.Sort(report.Replaced)
	slices.Sort(report.Removed)
	return report, w.finish(j.archive.comment)
}

// additions are the new names with the folders they need, sorted: folders come first.
func additions(j *Jar, changes Changes) []string {
	added := make(map[string]bool)
	folders := slices.ContainsFunc(j.archive.records, func(r record) bool { return r.directory() })
	for name := range changes.Put {
		if j.Has(name) {
			continue
		}
		added[name] = true
		for dir := path.Dir(name); folders && dir != "."; dir = path.Dir(dir) {
			if !j.Has(dir + "/") {
				added[dir+"/"] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(added))
}

func (w *writer) copy(r *record) error {
	start := w.at
	n, err := io.Copy(w.out, io.NewSectionReader(w.in, r.start, r.end-r.start))
	w.at += n
	if err != nil {
		return err
	}
	if n != r.end-r.start {
		return io.ErrUnexpectedEOF
	}
	return w.index(r.central, start)
}

// index appends a central header with the offset set.
func (w *writer) index(central []byte, start int64) error {
	if start > 0xfffffffe || w.count == 0xfffe {
		return errors.New("result needs ZIP64, which is not supported")
	}
	at := w.directory.Len()
	w.directory.Write(central)
	binary.LittleEndian.PutUint32(w.directory.Bytes()[at+42:], uint32(start))
	w.count++
	return nil
}

// replace keeps of the old entry what does not depend on its content.
func (w *writer) replace(r *record, content []byte) error {
	header := slices.Clone(r.central[:centralSize])
	binary.LittleEndian.PutUint16(header[6:], needed)
	binary.LittleEndian.PutUint16(header[8:], r.flags()&flagUTF8)
	binary.LittleEndian.PutUint16(header[30:], 0)
	binary.LittleEndian.PutUint16(header[32:], 0)
	return w.entry(header, r.name, content)
}

func newHeader(name string) []byte {
	header := make([]byte, centralSize)
	binary.LittleEndian.PutUint32(header, centralSignature)
	binary.LittleEndian.PutUint16(header[4:], madeBy)
	binary.LittleEndian.PutUint16(header[6:], needed)
	binary.LittleEndian.PutUint16(header[8:], flagUTF8)
	binary.LittleEndian.PutUint16(header[12:], fixedTime)
	binary.LittleEndian.PutUint16(header[14:], fixedDate)
	binary.LittleEndian.PutUint16(header[28:], uint16(len(name)))
	mode := uint32(fileMode)
	if strings.HasSuffix(name, "/") {
		mode = folderMode
	}
	binary.LittleEndian.PutUint32(header[38:], mode)
	return header
}

// entry writes one entry from a central header without extra field and comment.
func (w *writer) entry(header []byte, name string, content []byte) error {
	packed, method, err := pack(content)
	if err != nil {
		return fmt.Errorf("pack %q: %w", name, err)
	}
	binary.LittleEndian.PutUint16(header[10:], method)
	binary.LittleEndian.PutUint32(header[16:], crc32.ChecksumIEEE(content))
	binary.LittleEndian.PutUint32(header[20:], uint32(len(packed)))
	binary.LittleEndian.PutUint32(header[24:], uint32(len(content)))

	local := make([]byte, 4, localSize+len(name))
	binary.LittleEndian.PutUint32(local, localSignature)
	local = append(local, header[6:32]...) // version needed … length of the extra field
	local = append(local, name...)
	start := w.at
	for _, b := range [][]byte{local, packed} {
		n, err := w.out.Write(b)
		w.at += int64(n)
		if err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
	}
	return w.index(append(header, name...), start)
}

func pack(content []byte) ([]byte, uint16, error) {
	if len(content) == 0 {
		return nil, methodStore, nil
	}
	var out bytes.Buffer
	deflater, err := flate.NewWriter(&out, 6)
	if err != nil {
		return nil, 0, err
	}
	if _, err := deflater.Write(content); err != nil {
		return nil, 0, err
	}
	if err := deflater.Close(); err != nil {
		return nil, 0, err
	}
	return out.Bytes(), methodDeflate, nil
}

func (w *writer) finish(comment []byte) error {
	if w.at+int64(w.directory.Len()) > 0xfffffffe {
		return errors.New("result needs ZIP64, which is not supported")
	}
	end := make([]byte, endSize, endSize+len(comment))
	binary.LittleEndian.PutUint32(end, endSignature)
	binary.LittleEndian.PutUint16(end[8:], uint16(w.count))
	binary.LittleEndian.PutUint16(end[10:], uint16(w.count))
	binary.LittleEndian.PutUint32(end[12:], uint32(w.directory.Len()))
	binary.LittleEndian.PutUint32(end[16:], uint32(w.at))
	binary.LittleEndian.PutUint16(end[20:], uint16(len(comment)))
	for _, b := range [][]byte{w.directory.Bytes(), append(end, comment...)} {
		if _, err := w.out.Write(b); err != nil {
			return fmt.Errorf("write directory: %w", err)
		}
	}
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write directory: %w", err)
	}
	return nil
}
