package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Where a home keeps what install has to remember, outside libs and its wildcard.
const (
	stateDir     = ".observer-patch"
	stateFile    = "state.json"
	originalsDir = "originals"
	// stagedPrefix begins the names of jars that are about to be renamed into their place.
	// Such a name is on no class path: it is hidden from the shell and does not end with .jar.
	stagedPrefix = ".observer-patch-"
	stagedSuffix = ".new"
)

// Phases of the journal.
const (
	installing = "installing" // some jars may be the bundle's
	installed  = "installed"  // all jars are the bundle's
	removing   = "removing"   // some jars may be the release's again
)

// state is the journal. It is on the disk before anything in libs changes.
type state struct {
	Version int    `json:"version"`
	Phase   string `json:"phase"`
	// Bundle says what was installed, for people.
	Bundle string     `json:"bundle"`
	Jars   []stateJar `json:"jars"`
}

// stateJar is a jar that is swapped, in the order of swapping.
type stateJar struct {
	Name     string      `json:"name"`
	Original string      `json:"originalSha256"`
	Changed  string      `json:"changedSha256"`
	Mode     fs.FileMode `json:"mode"`
	UID      int         `json:"uid"`
	GID      int         `json:"gid"`
	ModTime  time.Time   `json:"modTime"`
}

const stateVersion = 1

// readState reads the journal; nil when there is none.
func (h *Home) readState() (*state, error) {
	path := h.statePath()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("journal %s is damaged: %w; put the jars of its folder originals back into libs by hand, then remove %s", path, err, filepath.Dir(path))
	}
	if s.Version != stateVersion {
		return nil, refused("journal %s has version %d, expected %d: written by another version of observer-patch; use that one", path, s.Version, stateVersion)
	}
	for _, j := range s.Jars {
		if j.Name != filepath.Base(j.Name) || !filepath.IsLocal(j.Name) {
			return nil, refused("journal %s names the jar %q, which is no file name", path, j.Name)
		}
	}
	return &s, nil
}

func (h *Home) writeState(s *state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if _, err := writeWhole(h.statePath()+stagedSuffix, h.statePath(), bytes.NewReader(append(text, '\n')), stateJar{Mode: 0o644, UID: -1, GID: -1}); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func (h *Home) statePath() string { return filepath.Join(h.Dir, stateDir, stateFile) }
func (h *Home) originalPath(name string) string {
	return filepath.Join(h.Dir, stateDir, originalsDir, name)
}
func (h *Home) jarPath(name string) string { return filepath.Join(h.Libs, name) }
func (h *Home) stagedPath(name string) string {
	return filepath.Join(h.Libs, stagedPrefix+name+stagedSuffix)
}
