package source

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"observer-patch/internal/maven"
)

// generated are the packages of a module that upstream's build generates: they are in its
// sources jar, and not in its source tree.
var generated = map[string]string{
	"metadata":                "org/apache/kafka/common/metadata/",
	"clients":                 "org/apache/kafka/common/message/",
	"group-coordinator":       "org/apache/kafka/coordinator/group/generated/",
	"transaction-coordinator": "org/apache/kafka/coordinator/transaction/generated/",
	"share-coordinator":       "org/apache/kafka/coordinator/share/generated/",
	"storage":                 "org/apache/kafka/server/log/remote/metadata/storage/generated/",
}

// module gives upstream's Gradle module of an artifact: kafka_2.13 is core, kafka-metadata
// is metadata, and so on.
func module(artifact string) (string, error) {
	if strings.HasPrefix(artifact, "kafka_") {
		return "core", nil
	}
	if m, ok := strings.CutPrefix(artifact, "kafka-"); ok && m != "" {
		return m, nil
	}
	return "", fmt.Errorf("artifact %s: expected kafka_<scala> or kafka-<module>", artifact)
}

// Maven gives the tree that sources jars hold, at the paths that upstream's repository has:
// <module>/src/main/java and <module>/src/main/scala. Files are read when they are opened.
func Maven(jars []maven.Artifact) (*Tree, error) {
	t := &Tree{}
	files := map[string]content{}
	var closers []io.Closer
	t.Close = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	var names []string
	for _, j := range jars {
		m, err := module(j.Coordinates.Artifact)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		r, err := zip.OpenReader(j.Path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sources jar %s: %w", j.Path, err), t.Close())
		}
		closers = append(closers, r)
		names = append(names, j.Coordinates.File())
		for _, f := range r.File {
			if p, ok := upstreamPath(m, f.Name); ok {
				files[p] = content{size: int64(f.UncompressedSize64), mode: 0o644, open: f.Open}
			}
		}
	}
	t.FS = newFileSet(files)
	t.Origin = "maven " + strings.Join(names, ", ")
	return t, nil
}

// upstreamPath gives the place of a jar's entry in upstream's repository; false for what is
// not a source file there.
func upstreamPath(module, entry string) (string, bool) {
	ext := path.Ext(entry)
	if ext != ".java" && ext != ".scala" || !fs.ValidPath(entry) {
		return "", false
	}
	if g, ok := generated[module]; ok && strings.HasPrefix(entry, g) {
		return "", false
	}
	return path.Join(module, "src/main", ext[1:], entry), true
}
