package jar

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/renameio/v2"
)

// Changes says what a rewritten jar has in other ways than its source.
type Changes struct {
	// Put maps an entry to its new content: it is replaced where it lies, or added at the end.
	Put map[string][]byte
	// Remove names entries that go; naming one that is not there is an error.
	Remove []string
}

// Report says what a rewriting did; names are sorted.
type Report struct {
	Copied   int      // entries taken over byte for byte, headers included
	Replaced []string // entries with new content (also when it equals the old)
	Added    []string // entries the source does not have, folders for them included
	Removed  []string
}

// RewriteFile is Rewrite into a file, which appears whole or not at all. src and dst may be
// the same path.
func RewriteFile(dst, src string, changes Changes) (Report, error) {
	out, err := renameio.NewPendingFile(dst, renameio.WithPermissions(0o644), renameio.IgnoreUmask())
	if err != nil {
		return Report{}, fmt.Errorf("create %s: %w", dst, err)
	}
	defer out.Cleanup()
	report, err := Rewrite(out, src, changes)
	if err != nil {
		return Report{}, err
	}
	if err := out.CloseAtomicallyReplace(); err != nil {
		return Report{}, fmt.Errorf("write %s: %w", dst, err)
	}
	return report, nil
}

// Rewrite writes the jar src with changes to dst. What holds of the result:
//
//   - An entry that is not named in changes keeps every byte: local header, packed data and
//     data descriptor are copied as one block, and its central header too but for the offset.
//   - A replaced entry keeps its place, name, time and attributes; its extra field, which
//     describes the old content, is dropped.
//   - Added entries follow in the order of their names, with folders that are missing and a
//     fixed time; the archive's comment stays.
//   - The same source and changes give the same bytes: the deflater is a locked dependency.
//
// Signed jars are refused, as the signature would not hold. Entry contents are not unpacked.
func Rewrite(dst io.Writer, src string, changes Changes) (Report, error) {
	j, err := Open(src)
	if err != nil {
		return Report{}, err
	}
	defer j.Close()
	if err := j.check(changes); err != nil {
		return Report{}, fmt.Errorf("rewrite %s: %w", src, err)
	}
	w := &writer{out: bufio.NewWriterSize(dst, 1<<20), in: j.file}
	report, err := w.write(j, changes)
	if err != nil {
		return Report{}, fmt.Errorf("rewrite %s: %w", src, err)
	}
	return report, nil
}

// check refuses changes that do not fit the jar.
func (j *Jar) check(changes Changes) error {
	for name := range j.index {
		if upper := strings.ToUpper(name); path.Dir(upper) == "META-INF" && strings.HasSuffix(upper, ".SF") {
			return fmt.Errorf("the jar is signed (%s): changed entries would not verify", name)
		}
	}
	for _, name := range changes.Remove {
		if !j.Has(name) {
			return fmt.Errorf("cannot remove %q: %w", name, os.ErrNotExist)
		}
		if _, ok := changes.Put[name]; ok {
			return fmt.Errorf("entry %q is both put and removed", name)
		}
	}
	for name, content := range changes.Put {
		if err := checkName(name); err != nil {
			return err
		}
		if strings.HasSuffix(name, "/") {
			return fmt.Errorf("entry %q is a folder; folders are added by themselves", name)
		}
		if len(name) > 0xffff || len(content) > maxEntry {
			return fmt.Errorf("entry %q has a name or a content (%d bytes) that is too long", name, len(content))
		}
	}
	return nil
}
