package build

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/jar"
)

// beside gives the Java sources of a module, less those that are compiled anyway. Upstream
// compiles the Java and Scala files of core together, so that scalac sees the Java classes as
// sources; its inliner then leaves calls alone whose code mentions them, because there is no
// bytecode to look into. With the same classes taken from the jar it inlines more, and the result
// is not the release's (ReplicaManager.fetchMessages of 3.6 to 3.9, which calls RemoteLogManager).
func beside(fsys fs.FS, module string, files []Source) ([]Source, error) {
	if fsys == nil {
		return nil, nil
	}
	root := module + "/src/main/java"
	if _, err := fs.Stat(fsys, root); err != nil {
		return nil, nil // a module or a partial tree without Java sources
	}
	var out []Source
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".java" {
			return err
		}
		if slices.ContainsFunc(files, func(s Source) bool { return s.Path == name }) {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		out = append(out, Source{Path: name, Text: text})
		return err
	})
	return out, err
}

// hide writes a copy of the module's jar without the classes of the unit's Java sources, and
// gives the unit's class path with the copy in its place.
func (c *compilation) hide() ([]string, error) {
	paths := jarPaths(c.unit.Classpath)
	at := slices.Index(paths, c.unit.Own.Path)
	outermost := map[string]bool{}
	for _, s := range slices.Concat(c.unit.Files, c.unit.Beside) {
		if _, name, java := strings.Cut(s.Path, "/src/main/java/"); java {
			outermost[strings.TrimSuffix(name, ".java")] = true
		}
	}
	if len(outermost) == 0 || at < 0 {
		return paths, nil
	}
	j, err := jar.Open(c.unit.Own.Path)
	if err != nil {
		return nil, err
	}
	var changes jar.Changes
	for _, name := range j.Names() {
		if strings.HasSuffix(name, ".class") && outermost[Outermost(name)] {
			changes.Remove = append(changes.Remove, name)
		}
	}
	if err := j.Close(); err != nil {
		return nil, err
	}
	paths[at] = filepath.Join(c.dir, filepath.Base(c.unit.Own.Path))
	_, err = jar.RewriteFile(paths[at], c.unit.Own.Path, changes)
	return paths, err
}
