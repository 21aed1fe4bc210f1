package hosts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"observer-patch/internal/observer"
)

// readLocal reads a file of this machine.
func readLocal(path string) (File, error) {
	link, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, derr := os.Stat(filepath.Dir(path)); derr != nil {
			return File{}, fmt.Errorf("its folder: %w", derr)
		}
		return File{}, nil
	}
	if err != nil {
		return File{}, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, err
	}
	defer f.Close() // only read from
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	switch {
	case info.IsDir():
		return File{}, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return File{}, errors.New("it is not a regular file")
	}
	content, err := io.ReadAll(io.LimitReader(f, observer.MaxBytes+1))
	if err != nil {
		return File{}, err
	}
	if len(content) > observer.MaxBytes {
		return File{}, fmt.Errorf("it is larger than %d bytes", observer.MaxBytes)
	}
	out := File{Exists: true, Content: content, Mode: info.Mode().Perm(), ModTime: info.ModTime(), Link: link.Mode()&fs.ModeSymlink != 0}
	out.UID, out.GID = owner(info)
	return out, nil
}

// writeLocal replaces a file of this machine when it is what expect says.
func writeLocal(path string, content []byte, expect string) (err error) {
	now, err := readLocal(path)
	switch {
	case err != nil:
		return err
	case now.Link:
		return errors.New("it is a symbolic link; name the file itself in the inventory, or use transport configmap")
	case digest(now) != expect:
		return ErrChanged
	}
	if !now.Exists {
		now.Mode, now.UID, now.GID = 0o644, -1, -1
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".observer-ids.*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(content)
	if err == nil {
		err = keepOwner(tmp, now)
	}
	if err == nil {
		err = tmp.Chmod(now.Mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func keepOwner(f *os.File, as File) error {
	if as.UID < 0 {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if uid, gid := owner(info); uid == as.UID && gid == as.GID {
		return nil
	}
	if err := f.Chown(as.UID, as.GID); err != nil {
		return fmt.Errorf("its owner %d:%d cannot be kept, write as that user or as root: %w", as.UID, as.GID, err)
	}
	return nil
}

func owner(info fs.FileInfo) (uid, gid int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return -1, -1
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
