//go:build !linux

package bundle

import (
	"errors"
	"io/fs"
	"os"
)

// exchange puts tmp in dir's place, in two renames where dir exists.
func exchange(tmp, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tmp, dir)
	}
	return renameAside(tmp, dir)
}
