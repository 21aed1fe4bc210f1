package install_test

import (
	"io/fs"
	"syscall"
	"time"
)

func ids(info fs.FileInfo) (uid, gid int) {
	s := info.Sys().(*syscall.Stat_t)
	return int(s.Uid), int(s.Gid)
}

// released is a packing time other than the fixture's.
var released = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
