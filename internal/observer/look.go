package observer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Look takes one look at an identity file, as a node does: the path is resolved anew, only a
// regular file counts, at most MaxBytes are read. It never fails and never blocks: what is
// wrong is in the Reading.
func Look(path string) Reading {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Reading{Kind: Missing}
	}
	if err != nil {
		return unreadable(err.Error())
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	switch {
	case err != nil:
		return unreadable(err.Error())
	case before.IsDir():
		return unreadable("it is a directory")
	case !before.Mode().IsRegular():
		return unreadable("it is not a regular file")
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return unreadable(err.Error())
	}
	if len(content) > MaxBytes {
		return unreadable(fmt.Sprintf("it is larger than %d bytes", MaxBytes))
	}
	look := Reading{Content: content}
	if after, err := os.Stat(path); err == nil && os.SameFile(before, after) && stamp(before) == stamp(after) {
		look.Stamp = stamp(before)
	}
	return look
}

func unreadable(cause string) Reading { return Reading{Kind: Unreadable, Cause: cause} }

func stamp(i fs.FileInfo) string {
	var inode uint64
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		inode = s.Ino
	}
	return fmt.Sprintf("%d %d %d", inode, i.ModTime().UnixNano(), i.Size())
}
