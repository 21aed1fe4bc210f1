package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"

	"observer-patch/internal/bundle"
)

const propertiesEntry = bundle.PropertiesEntry

// Patch is what a changed jar says of itself.
type Patch struct {
	// Foreign is set for a jar made from somebody else's patch; it has no generation or set.
	Foreign    bool   `json:"foreign,omitempty"`
	Generation string `json:"generation,omitempty"`
	Set        string `json:"set,omitempty"`
	Mode       string `json:"mode"`
	Release    string `json:"release"`
	Scala      string `json:"scala"`
	// HooksSHA256 is the digest of the diff without its header.
	HooksSHA256 string `json:"hooksSha256"`
}

// String names a patch for people.
func (p Patch) String() string {
	if p.Foreign {
		return fmt.Sprintf("somebody else's patch (mode %s, for %s)", p.Mode, p.Release)
	}
	return fmt.Sprintf("generation %s, set %s, mode %s, for %s with Scala %s, hooks %.12s", p.Generation, p.Set, p.Mode, p.Release, p.Scala, p.HooksSHA256)
}

// maxProperties bounds the entry that is read; ours has some hundred bytes.
const maxProperties = 64 << 10

func readPatch(e *zip.File) (_ *Patch, err error) {
	r, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	text, err := io.ReadAll(io.LimitReader(r, maxProperties))
	if err != nil {
		return nil, err
	}
	return parsePatch(string(text)), nil
}

// parsePatch reads the key=value lines of META-INF/observer-patch.properties.
func parsePatch(text string) *Patch {
	v := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			v[key] = value
		}
	}
	return &Patch{Foreign: v["patch"] == "foreign", Generation: v["generation"], Set: v["set"], Mode: v["mode"], Release: v["release"], Scala: v["scala"], HooksSHA256: v["hooks.sha256"]}
}
