package image

import (
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// index is an OCI index of images. The library's own would give each image the type of its
// configuration as artifactType, by which some tools take it for an artifact.
type index struct {
	raw    []byte
	images map[v1.Hash]v1.Image
}

// newIndex makes an index of images, in their order, with annotations.
func newIndex(images []v1.Image, about map[string]string) (v1.ImageIndex, error) {
	x := &index{images: map[v1.Hash]v1.Image{}}
	m := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Annotations: about, Manifests: []v1.Descriptor{}}
	for _, i := range images {
		d, err := partial.Descriptor(i)
		if err != nil {
			return nil, fmt.Errorf("descriptor: %w", err)
		}
		c, err := i.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		x.images[d.Digest] = i
		m.Manifests = append(m.Manifests, v1.Descriptor{MediaType: d.MediaType, Size: d.Size, Digest: d.Digest, Platform: c.Platform()})
	}
	var err error
	x.raw, err = json.Marshal(m)
	return x, err
}

// MediaType is OCI's for indexes.
func (x *index) MediaType() (types.MediaType, error) { return types.OCIImageIndex, nil }

// Digest is that of the index's bytes.
func (x *index) Digest() (v1.Hash, error) { return partial.Digest(x) }

// Size is that of the index in bytes.
func (x *index) Size() (int64, error) { return int64(len(x.raw)), nil }

// RawManifest gives the index's bytes.
func (x *index) RawManifest() ([]byte, error) { return x.raw, nil }

// IndexManifest gives the index, parsed.
func (x *index) IndexManifest() (*v1.IndexManifest, error) {
	var m v1.IndexManifest
	return &m, json.Unmarshal(x.raw, &m)
}

// Image gives one of the images.
func (x *index) Image(h v1.Hash) (v1.Image, error) {
	if i, ok := x.images[h]; ok {
		return i, nil
	}
	return nil, fmt.Errorf("no image %s in the index", h)
}

// ImageIndex always fails: there are no indexes in this one.
func (x *index) ImageIndex(h v1.Hash) (v1.ImageIndex, error) {
	return nil, fmt.Errorf("no index %s in the index", h)
}

// ociLayer is a layer of Docker's under OCI's media type; the bytes are the same.
type ociLayer struct{ v1.Layer }

// MediaType is the OCI name of the layer's media type.
func (l ociLayer) MediaType() (types.MediaType, error) {
	t, err := l.Layer.MediaType()
	switch t {
	case types.DockerLayer:
		t = types.OCILayer
	case types.DockerUncompressedLayer:
		t = types.OCIUncompressedLayer
	case types.DockerForeignLayer:
		t = types.OCIRestrictedLayer
	}
	return t, err
}
