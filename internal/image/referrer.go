package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"observer-patch/internal/bundle"
)

// The types of what is attached (artifactType), and of the files in it.
const (
	SBOMType       = "application/vnd.cyclonedx+json"
	ProvenanceType = "application/vnd.in-toto+json"
	DocumentsType  = "application/vnd.observer-patch.documents.v1"
	plainType      = "text/plain; charset=utf-8"
)

// Referrer is a manifest that is attached to an image or index by its 'subject'.
type Referrer struct {
	Subject  v1.Hash
	Type     string
	Artifact v1.Image
}

// Resource names something by its digest (in-toto ResourceDescriptor).
type Resource = bundle.Resource

// imageBuildType is the build that the provenance of an image describes.
const imageBuildType = "urn:observer-patch:build:image:1"

// provenance is the in-toto statement of an image: base and changed jars in, this image out.
type provenance struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType string `json:"buildType"`
			External  struct {
				Release   string   `json:"release"`
				Platforms []string `json:"platforms"`
			} `json:"externalParameters"`
			ResolvedDependencies []Resource `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails bundle.RunDetails `json:"runDetails"`
	} `json:"predicate"`
}

// described is an image or an index.
type described interface {
	partial.Describable
	Digest() (v1.Hash, error)
}

// attach adds to the result what belongs to a subject: parts list, two provenances (of the image, and of
// the jars in it) and the bundle's other documents.
func (s Spec) attach(r *Result, statement bundle.Statement, subject described, images []Made) error {
	d, err := partial.Descriptor(subject)
	if err != nil {
		return fmt.Errorf("descriptor: %w", err)
	}
	// A subject is named by type, size and digest only.
	of := v1.Descriptor{MediaType: d.MediaType, Size: d.Size, Digest: d.Digest}
	own, err := s.provenance(statement, of.Digest, images)
	if err != nil {
		return err
	}
	if err := s.refer(r, of, SBOMType, nil, bundle.SBOMFile); err != nil {
		return err
	}
	if err := s.refer(r, of, ProvenanceType, map[string][]byte{"image." + bundle.ProvenanceFile: own}, "image."+bundle.ProvenanceFile, bundle.ProvenanceFile); err != nil {
		return err
	}
	return s.refer(r, of, DocumentsType, nil, bundle.NoticeFile, bundle.LicenseFile, bundle.ChangesFile, bundle.DiffFile, bundle.ProofPage, bundle.ProofFile, bundle.NativesFile, bundle.SumsFile, bundle.SignatureFile)
}

// refer makes one artifact of files: those of made, else of the bundle. A file that the bundle does not have is left out.
func (s Spec) refer(r *Result, subject v1.Descriptor, artifactType string, made map[string][]byte, names ...string) error {
	a := &artifact{blobs: map[v1.Hash]v1.Layer{}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: artifactType, Subject: &subject,
		Config: v1.Descriptor{MediaType: emptyType, Size: int64(len(emptyConfig)), Digest: emptyDigest()}, Annotations: map[string]string{"org.opencontainers.image.title": Title}}
	for _, name := range names {
		text, ok := made[name]
		if !ok {
			var err error
			if text, err = os.ReadFile(filepath.Join(s.Bundle, name)); os.IsNotExist(err) {
				continue
			} else if err != nil {
				return err
			}
		}
		mediaType := types.MediaType(plainType)
		if artifactType != DocumentsType {
			mediaType = types.MediaType(artifactType)
		}
		blob := static.NewLayer(text, mediaType)
		hash, err := blob.Digest()
		if err != nil {
			return err
		}
		a.blobs[hash] = blob
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: mediaType, Size: int64(len(text)), Digest: hash, Annotations: map[string]string{"org.opencontainers.image.title": name}})
	}
	if len(m.Layers) == 0 {
		return fmt.Errorf("bundle %s has none of %v", s.Bundle, names)
	}
	var err error
	if a.manifest, err = json.Marshal(m); err != nil {
		return err
	}
	img, err := partial.CompressedToImage(a)
	if err != nil {
		return err
	}
	r.Referrers = append(r.Referrers, Referrer{Subject: subject.Digest, Type: artifactType, Artifact: img})
	return nil
}

func (s Spec) provenance(statement bundle.Statement, subject v1.Hash, images []Made) ([]byte, error) {
	p := provenance{Type: statement.Type, PredicateType: statement.PredicateType}
	p.Subject = []Resource{{Name: Title, Digest: map[string]string{subject.Algorithm: subject.Hex}}}
	d := &p.Predicate.BuildDefinition
	d.BuildType = imageBuildType
	d.External.Release = statement.Predicate.BuildDefinition.External.Release
	for _, m := range images {
		d.External.Platforms = append(d.External.Platforms, m.Platform)
		base, err := v1.NewHash(m.Base)
		if err != nil {
			return nil, err
		}
		name := "base image for " + m.Platform
		if s.Base.Name != "" {
			name += ": " + s.Base.Name
		}
		d.ResolvedDependencies = append(d.ResolvedDependencies, Resource{Name: name, Digest: map[string]string{base.Algorithm: base.Hex}})
	}
	d.ResolvedDependencies = append(d.ResolvedDependencies, statement.Subject...)
	p.Predicate.RunDetails.Builder.ID = "urn:observer-patch:tool:" + s.Tool
	return json.MarshalIndent(p, "", "  ")
}

// The empty configuration of artifacts (OCI image specification, 'guidance for an empty descriptor').
const (
	emptyType   = types.MediaType("application/vnd.oci.empty.v1+json")
	emptyConfig = "{}"
)

func emptyDigest() v1.Hash {
	h, err := static.NewLayer([]byte(emptyConfig), emptyType).Digest()
	if err != nil {
		panic(err) // reading from memory does not fail
	}
	return h
}

// artifact is a manifest with its blobs; partial makes a v1.Image of it.
type artifact struct {
	manifest []byte
	blobs    map[v1.Hash]v1.Layer
}

// MediaType is OCI's for image manifests, which artifacts use as well.
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawConfigFile is the empty configuration.
func (a *artifact) RawConfigFile() ([]byte, error) { return []byte(emptyConfig), nil }

// RawManifest gives the manifest's bytes.
func (a *artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// LayerByDigest gives one of the files.
func (a *artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if h == emptyDigest() {
		return static.NewLayer([]byte(emptyConfig), emptyType), nil
	}
	if l, ok := a.blobs[h]; ok {
		return l, nil
	}
	return nil, fmt.Errorf("no file with digest %s in the artifact", h)
}
