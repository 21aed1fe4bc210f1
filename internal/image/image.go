package image

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"observer-patch/internal/bundle"
	"observer-patch/internal/install"
)

// Title is what every image of ours is called.
const Title = "observer-patch for upstream Kafka"

// Spec is what an image is made from.
type Spec struct {
	// Bundle is the folder with the changed jars.
	Bundle string
	Base   *Base
	// Platforms are the images to make, e.g. linux/arm64; the base must have each.
	Platforms []string
	// Libs is the folder with jars in the base; empty finds it by the classes of the jars.
	Libs string
	// Tool is the version of this tool.
	Tool string
	// Temp takes unpacked files and the layers; it is needed until the result is written.
	Temp string
}

// Jar is a jar that an image has in another form than its base.
type Jar struct {
	Path string `json:"path"`
	// Was is the base's digest, Is the changed jar's (SHA-256).
	Was string `json:"was"`
	Is  string `json:"is"`
	// Removed is the base's path of the jar, when it had another name there.
	Removed string `json:"removed,omitempty"`
}

// Made is the image of one platform.
type Made struct {
	Platform string `json:"platform"`
	Digest   string `json:"digest"`
	Base     string `json:"base"`
	Layer    string `json:"layer"`
	Jars     []Jar  `json:"jars"`
}

// Result is an index with the images of all platforms, and what is attached to them.
type Result struct {
	Index     v1.ImageIndex
	Digest    string
	Images    []Made
	Referrers []Referrer
}

// Make makes the images. The jars of the base must be the release's own, by digest or by the content of
// their classes, exactly as install asks it of a Kafka home: what does not fit is exit code 5, a bundle that
// does not match its own sums exit code 4. The same base and bundle give the same digests.
func Make(ctx context.Context, s Spec) (*Result, error) {
	statement, err := bundle.Read(s.Bundle)
	if err != nil {
		return nil, err
	}
	bases, err := s.Base.Pick(s.Platforms)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	var images []v1.Image
	about := describe(statement)
	for n, base := range bases {
		made, img, err := s.one(ctx, about, base, filepath.Join(s.Temp, fmt.Sprint("platform-", n)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Platforms[n], err)
		}
		images, r.Images = append(images, img), append(r.Images, made)
		if err := s.attach(r, statement, img, []Made{made}); err != nil {
			return nil, err
		}
	}
	if err := r.index(images, about); err != nil {
		return nil, err
	}
	return r, s.attach(r, statement, r.Index, r.Images)
}

func (r *Result) index(images []v1.Image, about map[string]string) (err error) {
	if r.Index, err = newIndex(images, about); err != nil {
		return err
	}
	digest, err := r.Index.Digest()
	r.Digest = digest.String()
	return err
}

// one makes the image of one platform.
func (s Spec) one(ctx context.Context, about map[string]string, base v1.Image, temp string) (Made, v1.Image, error) {
	var m Made
	var err error
	if m.Platform, err = Platform(base); err != nil {
		return m, nil, err
	}
	digest, err := base.Digest()
	if err != nil {
		return m, nil, fmt.Errorf("digest of the base: %w", err)
	}
	m.Base = digest.String()
	add, err := s.swap(ctx, &m, base, temp)
	if err != nil {
		return m, nil, err
	}
	m.Layer = add.digest.String()
	about = maps.Clone(about)
	about["org.opencontainers.image.base.digest"] = m.Base
	if s.Base.Name != "" {
		about["org.opencontainers.image.base.name"] = s.Base.Name
	}
	img, err := assemble(base, []*layer{add}, about, "observer-patch image")
	if err != nil {
		return m, nil, err
	}
	if digest, err = img.Digest(); err != nil {
		return m, nil, err
	}
	m.Digest = digest.String()
	return m, img, nil
}

// swap finds and judges the base's jars, and packs the changed ones under their owners, modes and times.
func (s Spec) swap(ctx context.Context, m *Made, base v1.Image, temp string) (*layer, error) {
	classes := map[string]map[string]bool{}
	jars, err := filepath.Glob(filepath.Join(s.Bundle, "*.jar"))
	if err != nil {
		return nil, err
	}
	for _, j := range jars {
		classes[filepath.Base(j)] = classesOf(j)
	}
	found, err := findLibs(base, classes, s.Libs, temp)
	if err != nil {
		return nil, err
	}
	// Nothing runs from a folder that was just unpacked: an empty folder stands for /proc.
	proc := filepath.Join(temp, "proc")
	if err := os.MkdirAll(proc, 0o755); err != nil {
		return nil, err
	}
	rows, err := install.Install(ctx, install.Options{Home: found.home, Dist: s.Bundle, DryRun: true, Proc: proc, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, fmt.Errorf("folder /%s of the base, unpacked: %w", found.path, err)
	}
	var entries []entry
	for _, row := range rows {
		name := path.Join(found.path, row.Name)
		j := Jar{Path: "/" + name, Was: row.Was, Is: row.Is}
		from := found.headers[row.Name]
		if old := found.renamed[row.Name]; old != "" {
			j.Removed = "/" + path.Join(found.path, old)
			entries = append(entries, entry{header: clean(path.Join(found.path, whiteout+old), from)})
		}
		entries = append(entries, entry{header: clean(name, from), file: filepath.Join(s.Bundle, row.Name)})
		m.Jars = append(m.Jars, j)
	}
	return writeLayer(filepath.Join(temp, "layer.tar.gz"), entries)
}

// whiteout before a name in a layer takes the file of that name below it away.
const whiteout = ".wh."

// assemble puts layers on a base. All becomes OCI, whatever the base was; what the base says of
// itself in labels goes, since it is no longer that.
func assemble(base v1.Image, adds []*layer, about map[string]string, by string) (v1.Image, error) {
	below, err := base.Layers()
	if err != nil {
		return nil, fmt.Errorf("layers of the base: %w", err)
	}
	was, err := base.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("configuration of the base: %w", err)
	}
	c := was.DeepCopy()
	var all []mutate.Addendum
	for _, l := range below {
		t, err := l.MediaType()
		if err != nil {
			return nil, fmt.Errorf("layers of the base: %w", err)
		}
		if strings.HasPrefix(string(t), "application/vnd.docker.") {
			l = ociLayer{l}
		}
		all = append(all, mutate.Addendum{Layer: l})
	}
	for _, l := range adds {
		all = append(all, mutate.Addendum{Layer: l})
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, l.diffID)
		c.History = append(c.History, v1.History{Created: was.Created, CreatedBy: by, Comment: Title})
	}
	c.Author = ""
	c.Config.Labels = keep(c.Config.Labels)
	maps.Copy(c.Config.Labels, about)
	if !was.Created.IsZero() {
		c.Config.Labels["org.opencontainers.image.created"] = was.Created.UTC().Format(time.RFC3339)
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.Append(img, all...); err != nil {
		return nil, fmt.Errorf("put layers together: %w", err)
	}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return mutate.Annotations(img, about).(v1.Image), nil
}

// keep leaves out labels by which a base describes itself.
func keep(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	maps.DeleteFunc(out, func(key, _ string) bool {
		return strings.HasPrefix(key, "org.opencontainers.image.") || strings.HasPrefix(key, "org.label-schema.") || slices.Contains([]string{"maintainer", "description", "name", "summary", "vendor"}, key)
	})
	return out
}

// describe gives the labels of an image made from a bundle (OCI image specification, annotations).
func describe(s bundle.Statement) map[string]string {
	d := s.Predicate.BuildDefinition
	what := "hook set " + d.External.Set
	if d.External.Patch != "" {
		what = "another patch, SHA-256 " + d.External.Patch
	}
	return map[string]string{
		"org.opencontainers.image.title":       Title,
		"org.opencontainers.image.description": fmt.Sprintf("Upstream Kafka %s with jars changed by observer-patch (%s, mode %s). Not a release of, nor endorsed by, the project whose code it changes.", d.External.Release, what, d.External.Mode),
		"org.opencontainers.image.version":     d.External.Release,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"observer-patch.generation":            fmt.Sprint(d.Internal.Generation),
		"observer-patch.hooks.sha256":          d.Internal.HooksSHA256,
		"observer-patch.proof":                 d.External.Proof,
		"observer-patch.tool":                  s.Tool(),
	}
}

// folder is the header of a folder that everybody may enter.
func folder(name string, at time.Time) entry {
	return entry{header: &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX}}
}
