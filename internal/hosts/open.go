package hosts

import (
	"context"
	"fmt"
)

// Options are the same for all nodes.
type Options struct {
	// Getenv gives SSH_AUTH_SOCK, HOME and USER.
	Getenv func(string) string
	// Journal takes every change; nil for none.
	Journal *Journal
	// ClusterID and Why are recorded with it.
	ClusterID, Why string
}

// Open opens the way to the identity file of a node. A connection is made when it is first needed,
// and kept until Close.
func Open(ctx context.Context, n Node, o Options) (*Transport, error) {
	t := &Transport{Node: n, options: o}
	switch n.Transport.Kind {
	case Local:
		t.read = func(context.Context) (File, error) { return readLocal(n.File) }
		t.write = func(_ context.Context, content []byte, expect File) error {
			return writeLocal(n.File, content, digest(expect))
		}
		t.jars = func(context.Context) (map[string]string, error) { return jarsLocal(n.Home) }
	case SSH:
		s, err := newShell(n, o.Getenv)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", n.ID, err)
		}
		t.script(s.run)
		t.close = s.Close
	case Command:
		t.script(func(ctx context.Context, input []byte) ([]byte, error) { return runProgram(ctx, words(n), input) })
	case ConfigMap:
		m := configMap{node: n, run: runProgram}
		t.waits, t.read = true, m.mounted
		t.kept = func(ctx context.Context) (File, error) { _, f, err := m.get(ctx); return f, err }
		t.write = func(ctx context.Context, content []byte, expect File) error {
			if err := m.write(ctx, content, expect); err != nil {
				return err
			}
			return t.await(ctx, content)
		}
	default:
		return nil, fmt.Errorf("node %d: no transport of kind %q", n.ID, n.Transport.Kind)
	}
	return t, ctx.Err()
}

// script has the transport speak the protocol over what runs the script.
func (t *Transport) script(do func(context.Context, []byte) ([]byte, error)) {
	with := func(ctx context.Context) run { return func(r []byte) ([]byte, error) { return do(ctx, r) } }
	t.read = func(ctx context.Context) (File, error) { return scriptRead(with(ctx), t.Node.File) }
	t.write = func(ctx context.Context, content []byte, expect File) error {
		return scriptWrite(with(ctx), t.Node.File, content, expect)
	}
	t.jars = func(ctx context.Context) (map[string]string, error) { return scriptJars(with(ctx), t.Node.Home) }
}
