package build

import (
	"context"
	"io/fs"
	"slices"
	"strings"
)

// Whole compiles every source file of a module with the patch's texts in place of theirs.
// ahead are the patched classes of modules before it. fsys has upstream's paths; packages
// that upstream's build generates are taken from the release's jar.
func Whole(ctx context.Context, in Inputs, fsys fs.FS, module string, ahead map[string][]byte) (Output, error) {
	texts := map[string][]byte{}
	for _, lang := range []string{"java", "scala"} {
		root := module + "/src/main/" + lang
		if _, err := fs.Stat(fsys, root); err != nil {
			continue
		}
		err := fs.WalkDir(fsys, root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".java") && !strings.HasSuffix(path, ".scala") {
				return err
			}
			texts[path], err = fs.ReadFile(fsys, path)
			return err
		})
		if err != nil {
			return Output{}, err
		}
	}
	for _, f := range in.Tree.Files {
		if strings.HasPrefix(f.Path, module+"/") {
			texts[f.Path] = f.After
		}
	}
	u := Unit{Module: module, Ahead: ahead, Classpath: in.Classpath, Own: in.Jars[module],
		Options: optionsFor(module, in.Target.Release, in.Target.Scala, in.Scalac, in.Scala)}
	var paths []string
	for path := range texts {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		u.Files = append(u.Files, Source{Path: path, Text: texts[path]})
	}
	return Compile(ctx, in.Tools, u)
}
