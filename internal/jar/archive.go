// Package jar opens, compares and rewrites jar files. Entries that are not changed are copied
// as they lie in the file, so that a rewritten jar can be proven against its original.
package jar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Sizes and signatures of the ZIP format (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16).
const (
	localSize   = 30
	centralSize = 46
	endSize     = 22

	localSignature      = 0x04034b50
	centralSignature    = 0x02014b50
	endSignature        = 0x06054b50
	descriptorSignature = 0x08074b50

	flagEncrypted       = 1 << 0
	flagDescriptor      = 1 << 3
	flagStrongEncrypted = 1 << 6
	flagUTF8            = 1 << 11

	methodStore   = 0
	methodDeflate = 8
)

// maxArchive bounds what is opened: the largest jar of a Kafka closure (rocksdbjni) has 73 MB.
const maxArchive = 1 << 30

// maxEntry bounds one unpacked entry, so that a crafted jar cannot exhaust memory.
const maxEntry = 256 << 20

// record is one entry as the central directory has it, with where its bytes lie.
type record struct {
	name    string
	central []byte // the whole central header: name, extra field and comment included
	start   int64  // of the local header
	data    int64  // of the packed bytes
	end     int64  // of the block: after the data descriptor where there is one
}

func (r *record) flags() uint16   { return binary.LittleEndian.Uint16(r.central[8:]) }
func (r *record) method() uint16  { return binary.LittleEndian.Uint16(r.central[10:]) }
func (r *record) crc() uint32     { return binary.LittleEndian.Uint32(r.central[16:]) }
func (r *record) packed() int64   { return int64(binary.LittleEndian.Uint32(r.central[20:])) }
func (r *record) unpacked() int64 { return int64(binary.LittleEndian.Uint32(r.central[24:])) }
func (r *record) directory() bool { return strings.HasSuffix(r.name, "/") }

// archive is the layout of a jar: its blocks in order, and the comment after the directory.
type archive struct {
	records []record
	comment []byte
}

// readArchive checks the whole structure and reads no entry's content. It is stricter than a
// JVM: blocks must follow each other without gap or overlap in the order of the central
// directory, names must be unique and stay below the folder a jar is unpacked to.
func readArchive(r io.ReaderAt, size int64) (*archive, error) {
	if size > maxArchive {
		return nil, fmt.Errorf("%d bytes, more than the %d that are accepted", size, int64(maxArchive))
	}
	end, endAt, err := findEnd(r, size)
	if err != nil {
		return nil, err
	}
	count := int(binary.LittleEndian.Uint16(end[10:]))
	length := int64(binary.LittleEndian.Uint32(end[12:]))
	start := int64(binary.LittleEndian.Uint32(end[16:]))
	switch {
	case count == 0xffff || length == 0xffffffff || start == 0xffffffff:
		return nil, errors.New("ZIP64 archives are not supported")
	case binary.LittleEndian.Uint32(end[4:]) != 0 || int(binary.LittleEndian.Uint16(end[8:])) != count:
		return nil, errors.New("archive is split over several files")
	case start+length != endAt:
		return nil, fmt.Errorf("central directory at %d+%d does not end at %d: damaged or truncated", start, length, endAt)
	case int64(count)*centralSize > length:
		return nil, fmt.Errorf("%d entries do not fit into a central directory of %d bytes", count, length)
	}
	directory := make([]byte, length)
	if _, err := r.ReadAt(directory, start); err != nil {
		return nil, fmt.Errorf("read central directory: %w", err)
	}
	a := &archive{records: make([]record, 0, count), comment: end[endSize:]}
	seen := make(map[string]bool, count)
	for i := range count {
		rec, rest, err := readCentral(directory)
		if err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i+1, count, err)
		}
		if seen[rec.name] {
			return nil, fmt.Errorf("entry %q occurs twice", rec.name)
		}
		seen[rec.name] = true
		a.records = append(a.records, rec)
		directory = rest
	}
	if len(directory) != 0 {
		return nil, fmt.Errorf("%d bytes after the last of %d entries of the central directory", len(directory), count)
	}
	return a, a.locate(r, start)
}

// findEnd finds the end of central directory record and returns it with its comment.
func findEnd(r io.ReaderAt, size int64) ([]byte, int64, error) {
	tail := make([]byte, min(size, endSize+0xffff))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read the end: %w", err)
	}
	for i := len(tail) - endSize; i >= 0; i-- {
		if binary.LittleEndian.Uint32(tail[i:]) != endSignature {
			continue
		}
		if comment := int(binary.LittleEndian.Uint16(tail[i+20:])); i+endSize+comment == len(tail) {
			return tail[i:], size - int64(len(tail)) + int64(i), nil
		}
	}
	return nil, 0, errors.New("no end of central directory: not a jar, or truncated")
}

func readCentral(b []byte) (record, []byte, error) {
	if len(b) < centralSize || binary.LittleEndian.Uint32(b) != centralSignature {
		return record{}, nil, errors.New("no central header where one is due")
	}
	nameLen := int(binary.LittleEndian.Uint16(b[28:]))
	length := centralSize + nameLen + int(binary.LittleEndian.Uint16(b[30:])) + int(binary.LittleEndian.Uint16(b[32:]))
	if length > len(b) {
		return record{}, nil, errors.New("central header is truncated")
	}
	rec := record{name: string(b[centralSize : centralSize+nameLen]), central: b[:length:length]}
	if err := checkName(rec.name); err != nil {
		return record{}, nil, err
	}
	switch {
	case rec.flags()&(flagEncrypted|flagStrongEncrypted) != 0:
		return record{}, nil, fmt.Errorf("entry %q is encrypted", rec.name)
	case rec.method() != methodStore && rec.method() != methodDeflate:
		return record{}, nil, fmt.Errorf("entry %q is packed with method %d; expected stored or deflated", rec.name, rec.method())
	case rec.method() == methodStore && rec.packed() != rec.unpacked():
		return record{}, nil, fmt.Errorf("entry %q is stored, but %d bytes are packed to %d", rec.name, rec.unpacked(), rec.packed())
	case rec.unpacked() > maxEntry:
		return record{}, nil, fmt.Errorf("entry %q has %d bytes, more than the %d that are accepted", rec.name, rec.unpacked(), int64(maxEntry))
	}
	rec.start = int64(binary.LittleEndian.Uint32(b[42:]))
	return rec, b[length:], nil
}

// locate reads every local header and checks that the blocks cover [0, end) exactly.
func (a *archive) locate(r io.ReaderAt, end int64) error {
	at := int64(0)
	for i := range a.records {
		rec := &a.records[i]
		if rec.start != at {
			return fmt.Errorf("entry %q begins at %d; expected %d, right after the entry before it", rec.name, rec.start, at)
		}
		limit := end
		if i+1 < len(a.records) {
			limit = a.records[i+1].start
		}
		if err := rec.locate(r, limit); err != nil {
			return fmt.Errorf("entry %q: %w", rec.name, err)
		}
		at = rec.end
	}
	if at != end {
		return fmt.Errorf("%d bytes between the last entry and the central directory", end-at)
	}
	return nil
}

func (r *record) locate(in io.ReaderAt, limit int64) error {
	var h [localSize]byte
	if _, err := in.ReadAt(h[:], r.start); err != nil || binary.LittleEndian.Uint32(h[:]) != localSignature {
		return fmt.Errorf("no local header at %d", r.start)
	}
	nameLen := int64(binary.LittleEndian.Uint16(h[26:]))
	if nameLen != int64(len(r.name)) {
		return errors.New("local header has another name than the central directory")
	}
	name := make([]byte, nameLen)
	if _, err := in.ReadAt(name, r.start+localSize); err != nil || string(name) != r.name {
		return errors.New("local header has another name than the central directory")
	}
	if flags := binary.LittleEndian.Uint16(h[6:]); flags != r.flags() || binary.LittleEndian.Uint16(h[8:]) != r.method() {
		return errors.New("local header has other flags or another method than the central directory")
	}
	r.data = r.start + localSize + nameLen + int64(binary.LittleEndian.Uint16(h[28:]))
	r.end = limit
	tail := limit - r.data - r.packed()
	if r.flags()&flagDescriptor != 0 {
		return r.checkDescriptor(in, tail)
	}
	if tail != 0 {
		return fmt.Errorf("packed to %d bytes, but %d lie between it and the next entry: damaged or truncated", r.packed(), limit-r.data)
	}
	if binary.LittleEndian.Uint32(h[14:]) != r.crc() || int64(binary.LittleEndian.Uint32(h[18:])) != r.packed() {
		return errors.New("local header has another checksum or size than the central directory")
	}
	return nil
}

// checkDescriptor accepts the 32-bit data descriptor with or without signature (APPNOTE 4.3.9).
func (r *record) checkDescriptor(in io.ReaderAt, tail int64) error {
	if tail != 16 && tail != 12 {
		return fmt.Errorf("%d bytes where a data descriptor of 12 or 16 is due: damaged or truncated", tail)
	}
	d := make([]byte, tail)
	if _, err := in.ReadAt(d, r.data+r.packed()); err != nil {
		return fmt.Errorf("read data descriptor: %w", err)
	}
	if tail == 16 {
		if binary.LittleEndian.Uint32(d) != descriptorSignature {
			return errors.New("data descriptor has no signature")
		}
		d = d[4:]
	}
	if binary.LittleEndian.Uint32(d) != r.crc() || int64(binary.LittleEndian.Uint32(d[4:])) != r.packed() {
		return errors.New("data descriptor has another checksum or size than the central directory")
	}
	return nil
}

// checkName refuses names that leave the folder a jar is unpacked to, or that two systems
// would read differently.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("entry without a name")
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("entry name %q is not valid UTF-8 or has a NUL", name)
	case strings.HasPrefix(name, "/") || strings.Contains(name, `\`) || len(name) > 1 && name[1] == ':':
		return fmt.Errorf("entry name %q is absolute or has a backslash", name)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("entry name %q has an empty, '.' or '..' part", name)
		}
	}
	return nil
}
