package image

import (
	"archive/tar"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Published is a base image made from a release's published jars.
type Published struct {
	Release string
	// Jars are the files of the class path.
	Jars []string
	// Home is the Kafka home in the image, e.g. /opt/kafka; the jars lie in its folder libs.
	Home string
	// From is what the jars are put on, an image with a Java runtime for instance; nil for nothing at all.
	From      *Base
	Platforms []string
	// Temp takes the layer; it is needed until the result is written.
	Temp string
}

// PublishedTitle is what such a base is called.
const PublishedTitle = "base for observer-patch: published jars of upstream Kafka"

// baseTime is the time of files in such a base, the same as of entries added to jars.
var baseTime = time.Date(1980, 2, 1, 0, 0, 0, 0, time.UTC)

// MakeBase makes a base image: one layer with the jars. Without From there is nothing else in it, no Java either.
func MakeBase(p Published) (*Result, error) {
	home := strings.Trim(path.Clean("/"+p.Home), "/")
	if home == "" {
		return nil, refused("the Kafka home in the image must be a folder of its own, found %q", p.Home)
	}
	var entries []entry
	for i, c := range home {
		if c == '/' {
			entries = append(entries, folder(home[:i], baseTime))
		}
	}
	entries = append(entries, folder(home, baseTime), folder(home+"/libs", baseTime))
	for _, j := range p.Jars {
		header := &tar.Header{Mode: 0o644, ModTime: baseTime}
		entries = append(entries, entry{header: clean(path.Join(home, "libs", filepath.Base(j)), header), file: j})
	}
	l, err := writeLayer(filepath.Join(p.Temp, "published.tar.gz"), entries)
	if err != nil {
		return nil, err
	}
	about := map[string]string{
		"org.opencontainers.image.title":       PublishedTitle,
		"org.opencontainers.image.description": fmt.Sprintf("The published jars of upstream Kafka %s with what they need at run time, unchanged. Put together by observer-patch; not a release of the project.", p.Release),
		"org.opencontainers.image.version":     p.Release,
	}
	r := &Result{}
	var images []v1.Image
	for _, platform := range p.Platforms {
		below, err := p.below(platform)
		if err != nil {
			return nil, err
		}
		m, img, err := published(below, l, about, "/"+home)
		if err != nil {
			return nil, err
		}
		m.Platform = platform
		images, r.Images = append(images, img), append(r.Images, m)
	}
	return r, r.index(images, about)
}

// below gives what the layer is put on.
func (p Published) below(platform string) (v1.Image, error) {
	if p.From != nil {
		found, err := p.From.Pick([]string{platform})
		if err != nil {
			return nil, err
		}
		return found[0], nil
	}
	system, arch, ok := strings.Cut(platform, "/")
	if !ok || strings.Contains(arch, "/") {
		return nil, refused("platform %q: expected system/architecture, e.g. linux/arm64", platform)
	}
	return mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: system, Architecture: arch, RootFS: v1.RootFS{Type: "layers"}})
}

func published(below v1.Image, l *layer, about map[string]string, home string) (m Made, img v1.Image, err error) {
	base, err := below.Digest()
	if err != nil {
		return m, nil, err
	}
	if img, err = assemble(below, []*layer{l}, about, "observer-patch image base"); err != nil {
		return m, nil, err
	}
	c, err := img.ConfigFile()
	if err != nil {
		return m, nil, err
	}
	c = c.DeepCopy()
	c.Config.WorkingDir = home
	c.Config.Entrypoint = []string{"java", "-cp", home + "/libs/*"}
	c.Config.Cmd = []string{"kafka.Kafka", home + "/config/server.properties"}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		return m, nil, err
	}
	digest, err := img.Digest()
	return Made{Digest: digest.String(), Base: base.String(), Layer: l.digest.String(), Jars: []Jar{}}, img, err
}
