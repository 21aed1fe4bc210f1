package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writeStaged writes a file with mode, owner and time, brings it to the disk, and gives its
// SHA-256. Owner -1 means whoever runs this, a zero time now. What fails leaves no file.
func writeStaged(path string, from io.Reader, as stateJar) (_ string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), from)
	if err == nil {
		err = own(f, as)
	}
	if err == nil {
		err = f.Chmod(as.Mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if !as.ModTime.IsZero() {
		err = os.Chtimes(path, as.ModTime, as.ModTime)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// own gives a file its owner and group, and says who has to run this when that is not allowed.
func own(f *os.File, as stateJar) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	uid, gid := owner(info)
	if as.UID < 0 || uid == as.UID && gid == as.GID {
		return nil
	}
	if err := f.Chown(as.UID, as.GID); err != nil {
		return fmt.Errorf("keep owner %d:%d of the jar (run as that user or as root): %w", as.UID, as.GID, err)
	}
	return nil
}

func owner(info fs.FileInfo) (uid, gid int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return -1, -1
}

// writeWhole writes a file under a temporary name in the same folder and renames it.
func writeWhole(tmp, path string, from io.Reader, as stateJar) (string, error) {
	sum, err := writeStaged(tmp, from, as)
	if err != nil {
		return "", err
	}
	return sum, errors.Join(os.Rename(tmp, path), syncDir(filepath.Dir(path)))
}

// stage copies a file to where it waits for its rename, and holds it against its digest.
func stage(from, to, sum string, as stateJar) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	got, err := writeStaged(to, f, as)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if got != sum {
		return errors.Join(fmt.Errorf("%s changed while it was read: expected SHA-256 %s, found %s", from, sum, got), os.Remove(to))
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// digestFile gives a file's SHA-256, empty for one that is not there.
func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// removeIfThere removes a file or an empty folder; one that is not there is no error.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
