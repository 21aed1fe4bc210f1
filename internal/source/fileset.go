package source

import (
	"io"
	"io/fs"
	"path"
	"sort"
	"time"
)

// content opens the bytes of one file.
type content struct {
	size int64
	mode fs.FileMode
	open func() (io.ReadCloser, error)
}

// fileSet is a read-only file system made from a list of files; folders follow from paths.
type fileSet struct {
	files map[string]content
	dirs  map[string][]fs.DirEntry
}

func newFileSet(files map[string]content) *fileSet {
	s := &fileSet{files: files, dirs: map[string][]fs.DirEntry{".": nil}}
	for name, c := range files {
		s.add(name, info{name: path.Base(name), size: c.size, mode: c.mode})
	}
	for _, list := range s.dirs {
		sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	}
	return s
}

func (s *fileSet) add(name string, i info) {
	dir := path.Dir(name)
	if _, known := s.dirs[dir]; !known {
		s.dirs[dir] = nil
		s.add(dir, info{name: path.Base(dir), mode: fs.ModeDir | 0o755})
	}
	s.dirs[dir] = append(s.dirs[dir], fs.FileInfoToDirEntry(i))
}

// Open gives a file or a folder.
func (s *fileSet) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if list, ok := s.dirs[name]; ok {
		return &openDir{info: info{name: path.Base(name), mode: fs.ModeDir | 0o755}, rest: list}, nil
	}
	c, ok := s.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	r, err := c.open()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{ReadCloser: r, info: info{name: path.Base(name), size: c.size, mode: c.mode}}, nil
}

type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

type openFile struct {
	io.ReadCloser
	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

type openDir struct {
	info info
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}
func (d *openDir) Close() error { return nil }

// ReadDir gives the next n entries, all of them for n ≤ 0.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}
