package hosts

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ReadAll reads the file of every node of the inventory, many at once, each within limit. Nodes
// that cannot be read say why; their order is the inventory's.
func ReadAll(ctx context.Context, inv *Inventory, o Options, limit time.Duration) []Seen {
	out := make([]Seen, len(inv.Nodes))
	turns := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, n := range inv.Nodes {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			out[i] = readOne(ctx, n, o, limit)
		})
	}
	wg.Wait()
	return out
}

// atOnce is how many nodes are asked at the same time.
const atOnce = 16

func readOne(ctx context.Context, n Node, o Options, limit time.Duration) Seen {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := Seen{Node: n}
	t, err := Open(ctx, n, o)
	if err != nil {
		s.Err = err
		return s
	}
	s.File, s.Err = t.Read(ctx)
	if s.Err == nil && t.Node.Home != "" {
		s.Jars, s.JarsErr = t.Jars(ctx)
	}
	s.Err = errors.Join(s.Err, t.Close())
	return s
}
