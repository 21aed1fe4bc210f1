package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// MayWrite refuses (exit code 5) an output folder that has something in it.
func MayWrite(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return refused("output %s is not empty; remove it or choose another with --out", dir)
}

// Write writes a result as an OCI layout, which appears whole or not at all. The index has the tag as its
// reference name; what is attached stands beside it in index.json, where tools look for it by its subject.
func (r *Result) Write(dir, tag string) (err error) {
	if err := MayWrite(dir); err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".observer-patch-"+filepath.Base(dir)+"-*")
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	p, err := layout.Write(temp, empty.Index)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	var options []layout.Option
	if tag != "" {
		options = append(options, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
	}
	if err := p.AppendIndex(r.Index, options...); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for _, a := range r.Referrers {
		d, err := partial.Descriptor(a.Artifact)
		if err != nil {
			return err
		}
		if err := errors.Join(p.WriteImage(a.Artifact), p.AppendDescriptor(*d)); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	if err := settle(temp); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("output: %w", err)
	}
	return os.Rename(temp, dir)
}

// settle fixes modes, whatever the umask, and brings everything to the disk.
func settle(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() {
			mode = 0o755
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// Push sends index, images and what is attached to a registry, and gives the reference by digest.
// A registry without the referrers API gets the fallback tags of the distribution specification.
func (r *Result) Push(ctx context.Context, ref string, registry Registry) (string, error) {
	to, err := registry.parse(ref)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(to, r.Index, registry.options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", ref, err)
	}
	for _, a := range r.Referrers {
		digest, err := a.Artifact.Digest()
		if err != nil {
			return "", err
		}
		if err := remote.Write(to.Context().Digest(digest.String()), a.Artifact, registry.options(ctx)...); err != nil {
			return "", fmt.Errorf("push %s attached to %s: %w", a.Type, ref, err)
		}
	}
	return to.Context().Digest(r.Digest).String(), nil
}
