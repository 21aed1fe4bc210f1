package drift

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"observer-patch/internal/anchor"
	"observer-patch/internal/release"
)

// Elsewhere gives the other files of a tree in which the hook's place is found exactly once
// ("path:line"), and those that have the file's name, whatever their language: where upstream
// may have moved it.
func Elsewhere(tree fs.FS, file string, h anchor.Hook, t release.Target) ([]string, error) {
	place, ok := h.Place(t)
	if !ok {
		return nil, nil
	}
	name := stem(file)
	var out []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == file || path.Ext(p) != ".java" && path.Ext(p) != ".scala" || !strings.Contains(p, "src/main/") {
			return err
		}
		src, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		if bytes.Contains(src, []byte(place.Anchor[0])) {
			if found, _ := anchor.Locate(p, src, []anchor.Hook{h}, t); len(found) == 1 && len(place.In) > 0 {
				out = append(out, fmt.Sprintf("%s:%d", p, found[0].Start))
				return nil
			}
		}
		if stem(p) == name {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

func stem(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }
