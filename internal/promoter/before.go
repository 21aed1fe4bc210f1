package promoter

import (
	"fmt"
	"path/filepath"
	"time"

	"observer-patch/internal/hosts"
	"observer-patch/internal/placement"
)

// The assignments that a move, or an election that put another replica first, has replaced lie in files
// of these names with the time in it: a command that was printed keeps its meaning.
const (
	beforeMove     = "before-move-"
	beforeElection = "before-election-"
	beforeTime     = "20060102T150405.000Z"
)

// keep stores the assignments that the changes replace, and gives the command that takes the changes back.
// No changes replace nothing: the command is empty then.
func (s *Store) keep(kind string, at time.Time, changes []placement.Change) (string, error) {
	if len(changes) == 0 {
		return "", nil
	}
	name := kind + at.UTC().Format(beforeTime) + ".json"
	text, err := placement.Before(changes)
	if err != nil {
		return "", fmt.Errorf("state %s: %w", name, err)
	}
	if err := s.write(name, text); err != nil {
		return "", err
	}
	return fmt.Sprintf("observer-patch plan --assignment %s --execute --cluster-id %s --state-dir %s",
		hosts.Quote(s.Path(name)), hosts.Quote(s.Cluster()), hosts.Quote(filepath.Dir(s.dir))), nil
}
