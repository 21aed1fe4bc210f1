//go:build emulated

package arm64

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/image"
)

// The whole way without a registry: published jars, base image, bundle, image, a folder, a broker.
func TestTheARM64ImageUnpackedBootsItsBroker(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	bundle := bundleDir(ctx, t)
	base, patchedImage, root := filepath.Join(dir, "base"), filepath.Join(dir, "patched"), filepath.Join(dir, "root")
	command(ctx, t, "image", "base", "--version", *version, "--out", base)
	command(ctx, t, "image", bundle, "--base", base, "--out", patchedImage)

	opened, err := image.Open(ctx, patchedImage, image.Registry{}, t.TempDir())
	require.NoError(t, err)
	images, err := opened.Pick([]string{"linux/arm64"})
	require.NoError(t, err)
	stream := mutate.Extract(images[0])
	unpack(t, stream, root)
	require.NoError(t, stream.Close())

	classpath, err := filepath.Glob(filepath.Join(root, "opt", "kafka", "libs", "*.jar"))
	require.NoError(t, err)
	require.NotEmpty(t, classpath)
	sums := map[string]bool{}
	for _, p := range classpath {
		sums[digest(t, p)] = true
	}
	changed, err := filepath.Glob(filepath.Join(bundle, "*.jar"))
	require.NoError(t, err)
	for _, p := range changed {
		require.True(t, sums[digest(t, p)], "%s is in the image", filepath.Base(p))
	}
	libraries, err := Libraries(classpath)
	require.NoError(t, err)
	run := boot(ctx, t, "from the image", machine(ctx, t, 65536), classpath, libraries, Pairs())
	require.Equal(t, "aarch64", run.JVM.Arch)
	require.Empty(t, run.Failed())
	require.Empty(t, Missing(run.Libraries))
}

// unpack writes the regular files of a stream; an image made from published jars has no others.
func unpack(t *testing.T, stream io.Reader, root string) {
	t.Helper()
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		to := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(to, 0o755))
			continue
		}
		require.Equal(t, byte(tar.TypeReg), h.Typeflag, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		out, err := os.Create(to)
		require.NoError(t, err)
		_, err = io.Copy(out, r)
		require.NoError(t, errors.Join(err, out.Close()))
	}
}
