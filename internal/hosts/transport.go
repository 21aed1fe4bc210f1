package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// lastLook bounds finding out what a failed write has done.
const lastLook = 5 * time.Second

// Transport reaches the identity file of one node. Close it.
type Transport struct {
	Node    Node
	options Options
	read    func(context.Context) (File, error)
	write   func(ctx context.Context, content []byte, expect File) error
	// waits is set when a write is over only when the node has read what it says; kept then reads
	// what is written, which reaches the node later. Elsewhere kept is nil: it is what read reads.
	waits bool
	kept  func(context.Context) (File, error)
	// jars and close may be nil.
	jars  func(context.Context) (map[string]string, error)
	close func() error
}

// Read gives the file as it is now; one that is not there is no error.
func (t *Transport) Read(ctx context.Context) (File, error) {
	f, err := t.read(ctx)
	if err != nil {
		return File{}, t.failed("read", err)
	}
	return f, nil
}

// Write replaces the file's content in one step, keeps its mode and owner, and reads it back. It
// refuses with ErrChanged, and changes nothing, when the file is no longer what expect says; a
// missing file is made, mode 0644. A file that says what it should already is left alone, which a
// ConfigMap of several nodes needs. The Undo is valid also beside an error: Wrote is nil only when
// it is certain that nothing was changed.
func (t *Transport) Write(ctx context.Context, content []byte, expect File) (Undo, error) {
	u := Undo{Node: t.Node.ID, Before: expect}
	now, err := t.read(ctx)
	if err != nil {
		return u, t.failed("read", err)
	}
	if !t.waits && now.Exists && bytes.Equal(now.Content, content) {
		return u, nil
	}
	err = t.options.Journal.around(ctx, t.options, t.Node, content, expect, func(ctx context.Context) error { return t.write(ctx, content, expect) })
	if err != nil {
		if !errors.Is(err, ErrChanged) {
			// The connection may have broken after the replacement, or the time be over.
			look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			if now, rerr := t.written(look); rerr != nil || now.Exists && bytes.Equal(now.Content, content) {
				u.Wrote = content
			}
		}
		return u, t.failed("write", err)
	}
	u.Wrote = content
	if now, err = t.read(ctx); err != nil {
		return u, t.failed("read back", err)
	}
	if !now.Exists || !bytes.Equal(now.Content, content) {
		return u, t.failed("read back", ErrChanged)
	}
	return u, nil
}

// written gives what a write would replace.
func (t *Transport) written(ctx context.Context) (File, error) {
	if t.kept != nil {
		return t.kept(ctx)
	}
	return t.read(ctx)
}

// Rollback puts back what a Write replaced. It refuses with ErrChanged when the file is not what
// that Write left nor what was there before; an Undo whose Wrote is nil is done already. A file that was not there becomes
// an empty one: a node that saw a list would hold on to it if the file went away.
func (t *Transport) Rollback(ctx context.Context, u Undo) error {
	if u.Wrote == nil {
		return nil
	}
	now, err := t.written(ctx)
	if err != nil {
		return t.failed("read", err)
	}
	if now.Exists == u.Before.Exists && bytes.Equal(now.Content, u.Before.Content) {
		return nil
	}
	if !now.Exists || !bytes.Equal(now.Content, u.Wrote) {
		return t.failed("roll back", ErrChanged)
	}
	_, err = t.Write(ctx, u.Before.Content, now)
	return err
}

// Jars gives the SHA-256 of the Kafka jars in the node's Kafka home, by name.
func (t *Transport) Jars(ctx context.Context) (map[string]string, error) {
	if t.jars == nil || t.Node.Home == "" {
		return nil, errors.New("the inventory names no Kafka home that can be reached")
	}
	sums, err := t.jars(ctx)
	if err != nil {
		return nil, fmt.Errorf("jars of %s on node %d (%s): %w", t.Node.Home, t.Node.ID, t.Node.Transport.Kind, err)
	}
	return sums, nil
}

// Close ends connections.
func (t *Transport) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

func (t *Transport) failed(what string, err error) error {
	return fmt.Errorf("%s %s on node %d (%s): %w", what, t.Node.File, t.Node.ID, t.Node.Transport.Kind, err)
}
