// Package install swaps the changed jars of a bundle in a Kafka home, puts the release's own
// jars back, and tells what state a home is in. Each jar is replaced by one rename, and a
// journal written beforehand lets the next run undo what a killed one left.
package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"observer-patch/internal/exit"
)

// Home is a Kafka home as its folders show it.
type Home struct {
	// Dir is the home and Libs its libs folder, both without symbolic links.
	Dir, Libs string
	// Files are those in libs that a class path may take up, sorted by name.
	Files []File
	// Outside is set when libs is a link to a folder outside the home.
	Outside bool
}

// File is a jar, or a copy of one under another name, in libs.
type File struct {
	Name string
	// Patch is what META-INF/observer-patch.properties says; nil for an unpatched jar.
	Patch *Patch
	// Link tells that it is a symbolic link.
	Link    bool
	classes map[string]bool
}

// OpenHome looks at a Kafka home. A folder without libs is an error.
func OpenHome(dir string) (*Home, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("kafka home: %w", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, fmt.Errorf("kafka home: %w", err)
	}
	libs, err := filepath.EvalSymlinks(filepath.Join(real, "libs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no Kafka home: it has no folder libs; expected the folder that upstream's archive unpacks to", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka home: %w", err)
	}
	h := &Home{Dir: real, Libs: libs, Outside: !below(libs, real)}
	entries, err := os.ReadDir(libs)
	if err != nil {
		return nil, fmt.Errorf("kafka home: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || !onClassPath(e.Name()) {
			continue
		}
		f, err := openFile(filepath.Join(libs, e.Name()))
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		f.Link = e.Type()&fs.ModeSymlink != 0
		h.Files = append(h.Files, *f)
	}
	return h, nil
}

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// notTaken are the names that upstream's bin/kafka-run-class.sh leaves out of the class path.
var notTaken = regexp.MustCompile(`(-(test|test-sources|src|scaladoc|javadoc)\.jar|jar.asc|connect-file.*\.jar)$`)

// onClassPath tells whether a name in libs can be on a class path: bin/kafka-run-class.sh
// takes every file whose name does not begin with a dot, jar or not; a JVM's wildcard
// (libs/*) takes names that end with .jar or .JAR, hidden or not.
func onClassPath(name string) bool {
	wildcard := strings.HasSuffix(name, ".jar") || strings.HasSuffix(name, ".JAR")
	return wildcard || !strings.HasPrefix(name, ".") && !notTaken.MatchString(name)
}

// openFile lists the classes of a jar; nil for a file that is no jar, which a JVM passes over.
func openFile(path string) (*File, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil // a dangling link, or nothing that a JVM opens
	}
	z, err := zip.OpenReader(path)
	if errors.Is(err, zip.ErrFormat) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	f := &File{Name: filepath.Base(path), classes: map[string]bool{}}
	for _, e := range z.File {
		switch {
		case e.Name == propertiesEntry:
			if f.Patch, err = readPatch(e); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		case isClass(e.Name):
			f.classes[e.Name] = true
		}
	}
	return f, nil
}

// isClass tells whether two jars with an entry of that name on one class path hide each other.
func isClass(entry string) bool {
	base := entry[strings.LastIndexByte(entry, '/')+1:]
	return strings.HasSuffix(entry, ".class") && !strings.HasPrefix(entry, "META-INF/") && base != "module-info.class" && base != "package-info.class"
}

// with gives the files that have one of the classes.
func (h *Home) with(classes ...string) []File {
	return slices.DeleteFunc(slices.Clone(h.Files), func(f File) bool {
		return !slices.ContainsFunc(classes, func(c string) bool { return f.classes[c] })
	})
}

func fileNames(files []File) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// coreJar is the name of the core jar: Scala version, release and whatever follows it.
var coreJar = regexp.MustCompile(`^kafka_(\d+\.\d+)-(\d+\.\d+\.\d+\S*?)\.jar$`)

// classes by which a module's jar is known, whatever its name.
const (
	coreClass     = "kafka/cluster/Partition.class"
	metadataClass = "org/apache/kafka/controller/ReplicationControlManager.class"
)

// release gives the release and Scala version that the core jar's name states.
func (h *Home) release() (version, scala string) {
	for _, f := range h.with(coreClass) {
		if m := coreJar.FindStringSubmatch(f.Name); m != nil {
			return m[2], m[1]
		}
	}
	return "", ""
}

func refused(format string, args ...any) error {
	return exit.With(exit.Refused, fmt.Errorf(format, args...))
}
