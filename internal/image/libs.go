package image

import (
	"archive/tar"
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"observer-patch/internal/exit"
)

// libs is the folder of an image that has the release's jars.
type libs struct {
	// path is the folder in the image, without a slash at its beginning: opt/kafka/libs.
	path string
	// home is a folder on this machine, home/libs has the files of path.
	home string
	// headers are those of the files, by name.
	headers map[string]*tar.Header
	// renamed says under which name the base had a jar that now has the release's own.
	renamed map[string]string
}

func refused(format string, args ...any) error {
	return exit.With(exit.Refused, fmt.Errorf(format, args...))
}

// findLibs unpacks the one folder of the image that has jars with classes of the bundle's jars. bundle
// has the classes by jar; given is the folder that --libs names, empty for any.
func findLibs(i v1.Image, bundle map[string]map[string]bool, given, temp string) (*libs, error) {
	names, err := jarFolders(i)
	if err != nil {
		return nil, err
	}
	if given = strings.Trim(path.Clean("/"+given), "/"); given != "" {
		if !slices.Contains(names, given) {
			return nil, refused("the base has no folder /%s with jars; it has jars in %s", given, list(names))
		}
		names = []string{given}
	}
	found, err := unpackFolders(i, names, temp)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l *libs) bool { return !l.touches(bundle) })
	if len(found) != 1 {
		var paths []string
		for _, l := range found {
			paths = append(paths, l.path)
		}
		if len(found) == 0 {
			return nil, refused("no jar of the base has classes of %s; it has jars in %s", list(slices.Sorted(maps.Keys(bundle))), list(names))
		}
		return nil, refused("several folders of the base have the classes of the changed jars: %s; which of them brokers run is not known: name it with --libs", list(paths))
	}
	return found[0], found[0].rename(bundle)
}

func list(names []string) string {
	if len(names) == 0 {
		return "no folder"
	}
	return "/" + strings.Join(names, ", /")
}

// jarFolders gives the folders of an image that hold a jar, sorted.
func jarFolders(i v1.Image) ([]string, error) {
	folders := map[string]bool{}
	err := each(i, func(h *tar.Header, _ io.Reader) error {
		if strings.HasSuffix(strings.ToLower(h.Name), ".jar") {
			folders[path.Dir(h.Name)] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(folders)), err
}

// each walks the files of an image as a container sees them. The library refuses names that leave the root.
func each(i v1.Image, visit func(*tar.Header, io.Reader) error) error {
	stream := mutate.Extract(i)
	r := tar.NewReader(stream)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return stream.Close()
		}
		if err == nil {
			h.Name = strings.TrimPrefix(path.Clean("/"+h.Name), "/")
			err = visit(h, r)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("files of the base: %w", err), stream.Close())
		}
	}
}

// unpackFolders brings the files of some folders to temp/<number>/libs. Links within the folder stay links.
func unpackFolders(i v1.Image, names []string, temp string) ([]*libs, error) {
	byPath := map[string]*libs{}
	var all []*libs
	for n, name := range names {
		l := &libs{path: name, home: filepath.Join(temp, fmt.Sprint(n)), headers: map[string]*tar.Header{}, renamed: map[string]string{}}
		if err := os.MkdirAll(filepath.Join(l.home, "libs"), 0o755); err != nil {
			return nil, err
		}
		byPath[name], all = l, append(all, l)
	}
	err := each(i, func(h *tar.Header, content io.Reader) error {
		l := byPath[path.Dir(h.Name)]
		if l == nil {
			return nil
		}
		return l.put(h, content)
	})
	return all, err
}

func (l *libs) put(h *tar.Header, content io.Reader) error {
	file := path.Base(h.Name)
	to := filepath.Join(l.home, "libs", file)
	switch h.Typeflag {
	case tar.TypeReg:
		out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		l.headers[file] = h
		return errors.Join(err, out.Close())
	case tar.TypeSymlink, tar.TypeLink:
		target := path.Clean("/" + h.Linkname)
		if h.Typeflag == tar.TypeSymlink && !path.IsAbs(h.Linkname) {
			target = path.Join("/", l.path, h.Linkname)
		}
		if path.Dir(target) != "/"+l.path {
			if !strings.HasSuffix(strings.ToLower(file), ".jar") {
				return nil
			}
			return refused("/%s is a link to %s, in another folder; which jar is on the class path there cannot be said", h.Name, target)
		}
		return os.Symlink(path.Base(target), to)
	}
	return nil
}

// classesOf lists the entries of a jar that end with .class; none for what is no jar.
func classesOf(file string) map[string]bool {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil
	}
	defer z.Close()
	out := map[string]bool{}
	for _, e := range z.File {
		if base := path.Base(e.Name); strings.HasSuffix(base, ".class") && base != "module-info.class" && base != "package-info.class" && !strings.HasPrefix(e.Name, "META-INF/") {
			out[e.Name] = true
		}
	}
	return out
}

func shares(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}

// with gives the files that have a class of the set.
func (l *libs) with(classes map[string]bool) []string {
	var out []string
	for _, file := range slices.Sorted(maps.Keys(l.headers)) {
		if shares(classesOf(filepath.Join(l.home, "libs", file)), classes) {
			out = append(out, file)
		}
	}
	return out
}

func (l *libs) touches(bundle map[string]map[string]bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(bundle)), func(classes map[string]bool) bool { return len(l.with(classes)) > 0 })
}

// rename gives a jar that the base has under another name the release's own. Whether it is
// the release's jar is judged afterwards, by its content.
func (l *libs) rename(bundle map[string]map[string]bool) error {
	for name, classes := range bundle {
		have := l.with(classes)
		if len(have) != 1 || have[0] == name {
			continue
		}
		dir := filepath.Join(l.home, "libs")
		if err := os.Rename(filepath.Join(dir, have[0]), filepath.Join(dir, name)); err != nil {
			return err
		}
		l.headers[name], l.renamed[name] = l.headers[have[0]], have[0]
		delete(l.headers, have[0])
	}
	return nil
}
