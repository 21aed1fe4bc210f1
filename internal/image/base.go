// Package image makes OCI images of patched brokers: a base image with one more layer, which holds the
// changed jars of a bundle, and the bundle's documents attached. No container engine takes part.
//
// Sources: OCI Image Format Specification 1.1 (image layout, manifest, index, annotations, referrers
// by 'subject'), OCI Distribution Specification 1.1.
package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/cache"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"observer-patch/internal/exit"
)

// Base is a base image, for one platform or several.
type Base struct {
	// Name is the registry reference; empty for folders and files, whose names say nothing elsewhere.
	Name   string
	Images []v1.Image
}

// Registry says how registries are talked to. Credentials are those of the user's container tools.
type Registry struct {
	// Insecure allows plain HTTP; for loopback addresses it is not needed.
	Insecure bool
}

// parse takes a reference that names its registry: nothing is looked for in places that were not named.
func (r Registry) parse(ref string) (name.Reference, error) {
	var options []name.Option
	if r.Insecure {
		options = append(options, name.Insecure)
	}
	parsed, err := name.ParseReference(ref, options...)
	if err == nil && !strings.HasPrefix(ref, parsed.Context().RegistryStr()+"/") {
		err = errors.New("it names no registry")
	}
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("image %q: expected a folder, a file or host[:port]/name:tag: %w", ref, err))
	}
	return parsed, nil
}

func (r Registry) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// Open opens a base image: an OCI layout (folder), an archive (file: docker save, or a packed OCI layout) or a
// reference to a registry. Folder temp takes what has to be unpacked or kept; the base needs it as long as it is used.
func Open(ctx context.Context, ref string, r Registry, temp string) (*Base, error) {
	info, err := os.Stat(ref)
	switch {
	case err == nil && info.IsDir():
		return openLayout(ref)
	case err == nil:
		return openArchive(ref, temp)
	}
	parsed, err := r.parse(ref)
	if err != nil {
		return nil, err
	}
	found, err := remote.Get(parsed, r.options(ctx)...)
	if err != nil {
		return nil, fmt.Errorf("base image %s: %w", ref, err)
	}
	b := &Base{Name: ref}
	if found.MediaType.IsIndex() {
		index, err := found.ImageIndex()
		if err != nil {
			return nil, fmt.Errorf("base image %s: %w", ref, err)
		}
		if err := b.collect(index); err != nil {
			return nil, fmt.Errorf("base image %s: %w", ref, err)
		}
	} else {
		one, err := found.Image()
		if err != nil {
			return nil, fmt.Errorf("base image %s: %w", ref, err)
		}
		b.Images = []v1.Image{one}
	}
	for i := range b.Images {
		// Each layer is read several times, and should come over the network once.
		b.Images[i] = cache.Image(b.Images[i], cache.NewFilesystemCache(filepath.Join(temp, "layers")))
	}
	return b, nil
}

func openLayout(dir string) (*Base, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("base image %s: expected an OCI layout: %w", dir, err)
	}
	b := &Base{}
	if err := b.collect(index); err != nil {
		return nil, fmt.Errorf("base image %s: %w", dir, err)
	}
	return b, nil
}

func openArchive(file, temp string) (*Base, error) {
	opener := func() (io.ReadCloser, error) { return os.Open(file) }
	if _, err := tarball.LoadManifest(opener); err == nil {
		one, err := tarball.Image(opener, nil)
		if err != nil {
			return nil, fmt.Errorf("base image %s: %w", file, err)
		}
		return &Base{Images: []v1.Image{one}}, nil
	}
	dir := filepath.Join(temp, "archive")
	if err := unpack(file, dir); err != nil {
		return nil, fmt.Errorf("base image %s: %w", file, err)
	}
	return openLayout(dir)
}

// unpack takes the regular files out of a packed OCI layout. Names that leave the folder are an error.
func unpack(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	// The root keeps links and names such as ../x from leading out.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("neither an archive of docker save nor a packed OCI layout: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(filepath.Clean(h.Name)), 0o755); err != nil {
			return err
		}
		out, err := root.Create(filepath.Clean(h.Name))
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}

// collect takes the images out of an index and the indexes in it. Referrers and attestations
// are no images that could be run, and are passed over.
func (b *Base) collect(index v1.ImageIndex) error {
	m, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range m.Manifests {
		switch {
		case isArtifact(d) || d.Platform != nil && d.Platform.OS == "unknown":
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return err
			}
			if err := b.collect(inner); err != nil {
				return err
			}
		case d.MediaType.IsImage():
			one, err := index.Image(d.Digest)
			if err != nil {
				return err
			}
			b.Images = append(b.Images, one)
		}
	}
	return nil
}

// isArtifact tells artifacts from images; some tools give an image its configuration's type.
func isArtifact(d v1.Descriptor) bool {
	return d.ArtifactType != "" && !types.MediaType(d.ArtifactType).IsConfig()
}

// Platform is an image's operating system and architecture, e.g. linux/arm64.
func Platform(i v1.Image) (string, error) {
	c, err := i.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("configuration of a base image: %w", err)
	}
	return c.OS + "/" + c.Architecture, nil
}

// Pick gives the base's image for each platform, in that order. A platform that is not there, or
// there twice, is exit code 5.
func (b *Base) Pick(platforms []string) ([]v1.Image, error) {
	has := map[string][]v1.Image{}
	var names []string
	for _, i := range b.Images {
		p, err := Platform(i)
		if err != nil {
			return nil, err
		}
		has[p] = append(has[p], i)
		names = append(names, p)
	}
	var out []v1.Image
	for _, p := range platforms {
		if n := len(has[p]); n != 1 {
			return nil, exit.With(exit.Refused, fmt.Errorf("the base has %d images for %s, expected one (it has: %s); --platform chooses others", n, p, strings.Join(names, ", ")))
		}
		out = append(out, has[p][0])
	}
	return out, nil
}
