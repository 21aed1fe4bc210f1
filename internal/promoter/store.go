package promoter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/renameio/v2"
)

// StateVariable names the folder that keeps what has to outlive a run.
const StateVariable = "OBSERVER_PATCH_STATE"

// StateDir gives the folder for what outlives a run: the flag's, else that of StateVariable, else
// observer-patch in the user's state folder (XDG base directories). It should lie outside of the
// zone that may fail.
func StateDir(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := getenv(StateVariable); dir != "" {
		return dir, nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "observer-patch"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "observer-patch"), nil
	}
	return "", fmt.Errorf("no folder for state: set %s, or give --state-dir", StateVariable)
}

// Store keeps JSON documents of one cluster. Every write is synced before it counts.
type Store struct{ dir string }

// clusterName is what a cluster id may look like to be a folder's name: base64 with the URL
// alphabet, or what operators give to ZooKeeper clusters.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// OpenStore makes the folder of a cluster below the state folder.
func OpenStore(state, clusterID string) (*Store, error) {
	if !clusterName.MatchString(clusterID) {
		return nil, fmt.Errorf("cluster id %q: expected up to 64 letters, digits, '.', '_' and '-'", clusterID)
	}
	dir, err := filepath.Abs(filepath.Join(state, clusterID))
	if err != nil {
		return nil, fmt.Errorf("folder for state: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("folder for state: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Cluster gives the id of the cluster.
func (s *Store) Cluster() string { return filepath.Base(s.dir) }

// Path gives where a document of the store lies.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name) }

// load reads a document into v and tells whether there is one.
func (s *Store) load(name string, v any) (bool, error) {
	text, err := os.ReadFile(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("state %s is damaged: %w; look at it, and move it away to begin anew", s.Path(name), err)
	}
	return true, nil
}

// save replaces a document by v as JSON.
func (s *Store) save(name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("state %s: %w", name, err)
	}
	return s.write(name, text)
}

// write replaces a document: a temporary file, synced, renamed in, and the folder synced.
func (s *Store) write(name string, text []byte) error {
	if err := renameio.WriteFile(s.Path(name), append(text, '\n'), 0o640); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return s.sync()
}

// drop deletes a document; one that is not there is no error.
func (s *Store) drop(name string) error {
	if err := os.Remove(s.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state: %w", err)
	}
	return s.sync()
}

func (s *Store) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
