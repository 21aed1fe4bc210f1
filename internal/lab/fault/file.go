package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"observer-patch/internal/lab/cluster"
)

// File is damage to the identity files of some nodes. Healing writes the good list again.
type File struct {
	// Kind is one of the kinds below.
	Kind  string
	Nodes []int32
	// IDs are what the files held, and hold again after healing.
	IDs []int32
	// Longest is set by Inject of Rewritten and Half: the longest time that a file was not whole. A
	// reader may take a file that stays empty over two of its looks for a deliberate edit.
	Longest time.Duration
}

// Kinds of damage, S7.
const (
	Unreadable = "chmod 000"
	Garbage    = "garbage"
	Deleted    = "delete"
	Directory  = "directory"
	Half       = "half-written"
	Rewritten  = "rewritten in place"
)

// rewrites is how often Rewritten writes every file; halves how often Half does.
const (
	rewrites = 1000
	halves   = 10
)

// Name gives "identity file: " and the kind.
func (f *File) Name() string { return "identity file: " + f.Kind }

// Targets gives the nodes whose file is damaged.
func (f *File) Targets() []int32 { return f.Nodes }

// Available asks that the files are there.
func (f *File) Available(c *cluster.Cluster) error {
	for _, id := range f.Nodes {
		if _, err := os.Stat(c.Node(id).IDsPath()); err != nil {
			return fmt.Errorf("identity file of node %d: %w", id, err)
		}
	}
	return nil
}

// Inject damages the files. Half and Rewritten do it many times over and leave them whole.
func (f *File) Inject(ctx context.Context, c *cluster.Cluster) error {
	switch f.Kind {
	case Unreadable:
		return f.each(c, func(p string) error { return os.Chmod(p, 0) })
	case Garbage:
		return f.each(c, func(p string) error { return os.WriteFile(p, []byte("\x00\xff{not an id}\n"), 0o644) })
	case Deleted:
		return f.each(c, os.Remove)
	case Directory:
		return f.each(c, func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) })
	case Half:
		return f.half(ctx, c)
	case Rewritten:
		return f.rewrite(ctx, c)
	}
	return fmt.Errorf("no such damage: %q", f.Kind)
}

// Heal removes whatever is at the path and writes the list. What is removed must not be seen as a
// deleted file by a reader that looks in between; a directory leaves no other way.
func (f *File) Heal(_ context.Context, c *cluster.Cluster) error {
	for _, id := range f.Nodes {
		n := c.Node(id)
		info, err := os.Lstat(n.IDsPath())
		if err == nil && info.IsDir() {
			err = os.Remove(n.IDsPath())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("heal identity file of node %d: %w", id, err)
		}
		if err := n.WriteIDs(f.IDs); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) each(c *cluster.Cluster, damage func(path string) error) error {
	for _, id := range f.Nodes {
		if err := damage(c.Node(id).IDsPath()); err != nil {
			return fmt.Errorf("%s on node %d: %w", f.Kind, id, err)
		}
	}
	return nil
}

// half empties the files, as an editor does that writes in place, and completes them 300 ms later,
// which is less than the time between two looks of the reader (500 ms): at most one look meets
// the empty file.
func (f *File) half(ctx context.Context, c *cluster.Cluster) error {
	for range halves {
		began := time.Now()
		if err := f.each(c, func(p string) error { return os.Truncate(p, 0) }); err != nil {
			return err
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		if err := f.each(c, f.overwrite); err != nil {
			return err
		}
		f.Longest = max(f.Longest, time.Since(began))
		if err := pause(ctx, 700*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// rewrite writes every file in place again and again, so that readers meet it empty and half full.
func (f *File) rewrite(ctx context.Context, c *cluster.Cluster) error {
	for range rewrites {
		if err := f.each(c, f.overwrite); err != nil {
			return err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// overwrite truncates the file and writes it in two steps.
func (f *File) overwrite(path string) error {
	began := time.Now()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("# observers\n")
	for _, id := range f.IDs {
		_, e := fmt.Fprintln(file, id)
		err = errors.Join(err, e)
	}
	f.Longest = max(f.Longest, time.Since(began)) // closing may wait for the disk, with the file whole
	return errors.Join(err, file.Close())
}

// pause lets time pass between two writes of a fault whose whole point is its timing.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
