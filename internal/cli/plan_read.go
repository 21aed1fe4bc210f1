package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"observer-patch/internal/exit"
	"observer-patch/internal/placement"
)

// layout is a pattern of topic names with its placement.
type layout struct {
	pattern   string
	placement placement.Placement
}

// readLayouts reads the files of --placement.
func readLayouts(args []string) ([]layout, error) {
	var out []layout
	for _, arg := range args {
		pattern, file, ok := strings.Cut(arg, "=")
		if _, err := path.Match(pattern, ""); !ok || pattern == "" || err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--placement %q: expected TOPIC=FILE or PATTERN=FILE", arg))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		p, err := placement.Parse(text)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("%s: %w", file, err))
		}
		out = append(out, layout{pattern, p})
	}
	return out, nil
}

func of(layouts []layout, topic string) (placement.Placement, bool) {
	for _, l := range layouts {
		if ok, _ := path.Match(l.pattern, topic); ok { // the pattern was checked
			return l.placement, true
		}
	}
	return placement.Placement{}, false
}

// readTargets reads the file of --assignment; no file is no assignment.
func readTargets(file string) (targets []placement.Partition, err error) {
	if file == "" {
		return nil, nil
	}
	defer func() {
		if err != nil {
			err = exit.With(exit.Usage, fmt.Errorf("--assignment %s: %w", file, err))
		}
	}()
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, placement.MaxReassignment+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return placement.ParseReassignment(text)
}
