package sentinel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Run takes targets through the checker, jobs releases at a time, and gives the results in the
// order of the targets. What the journal has already is not done again; what is done is
// written to it before anything else begins. done is told of each result, one at a time.
func Run(ctx context.Context, c *Checker, targets []release.Target, jobs int, j *Journal, done func(Result)) ([]Result, error) {
	results := map[string]Result{}
	var groups [][]release.Target
	for _, t := range targets {
		if r, ok := j.Done(t.String()); ok {
			r.Resumed = true
			results[t.String()] = r
			done(r)
			continue
		}
		if n := len(groups); n > 0 && groups[n-1][0].Release.Version.Equal(t.Release.Version) {
			groups[n-1] = append(groups[n-1], t)
		} else {
			groups = append(groups, []release.Target{t})
		}
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, jobs))
	for _, group := range groups {
		g.Go(func() error {
			return c.Release(ctx, group, func(r Result) error {
				mu.Lock()
				defer mu.Unlock()
				results[r.Target] = r
				done(r)
				return j.Add(r)
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(targets))
	for _, t := range targets {
		out = append(out, results[t.String()])
	}
	return out, nil
}

// Shard is one of several equal parts of the matrix: number Index (from 1) of Count.
type Shard struct{ Index, Count int }

// ParseShard reads "i/n"; the empty text is the whole.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{1, 1}, nil
	}
	var s Shard
	if n, err := fmt.Sscanf(text, "%d/%d", &s.Index, &s.Count); err != nil || n != 2 || s.String() != text || s.Index < 1 || s.Index > s.Count {
		return Shard{}, exit.With(exit.Usage, fmt.Errorf("--shard %q: expected i/n with 1 ≤ i ≤ n, such as 2/6", text))
	}
	return s, nil
}

// String gives "i/n".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Of gives the shard's part of the targets: every Count-th, so that the parts cost about the
// same. The parts of all shards together are the targets, each once.
func (s Shard) Of(targets []release.Target) []release.Target {
	var out []release.Target
	for i, t := range targets {
		if i%s.Count == s.Index-1 {
			out = append(out, t)
		}
	}
	return out
}

// Legs are the seven targets that the design names: the ZooKeeper side of one release of each
// 3.x line, and KRaft on three.
func Legs(m *release.Matrix, set string) ([]release.Target, error) {
	var out []release.Target
	for _, leg := range []string{"3.6.2 zk", "3.7.1 zk", "3.8.1 zk", "3.9.1 zk", "3.7.1 kraft", "4.0.0 kraft", "4.1.0 kraft"} {
		version, mode, _ := strings.Cut(leg, " ")
		list, err := m.Targets([]string{version}, mode, "", set)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	slices.SortStableFunc(out, func(a, b release.Target) int { return a.Release.Version.Compare(b.Release.Version) })
	return out, nil
}

// Cell is one job of a CI engine's matrix.
type Cell struct {
	Runner string `json:"runner"`
	Shard  string `json:"shard"`
	// Name is fit for names of files and artifacts.
	Name string `json:"name"`
}

// Cells gives the jobs: every shard on every runner.
func Cells(runners []string, shards int) []Cell {
	var out []Cell
	for _, r := range runners {
		for i := range shards {
			s := Shard{i + 1, shards}
			out = append(out, Cell{Runner: r, Shard: s.String(), Name: fmt.Sprintf("%s-%dof%d", r, s.Index, s.Count)})
		}
	}
	return out
}
