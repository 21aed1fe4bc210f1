package classfile

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Pair is two class files that are to be compared; Name stands in errors.
type Pair struct {
	Name string
	A, B []byte
}

// CompareAll compares pairs on all processors. The results come in the order of the pairs; an
// error names a malformed class.
func CompareAll(pairs []Pair) ([]Result, error) {
	results := make([]Result, len(pairs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range pairs {
		g.Go(func() error {
			var err error
			if results[i], err = Compare(p.A, p.B); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			return nil
		})
	}
	return results, g.Wait()
}
