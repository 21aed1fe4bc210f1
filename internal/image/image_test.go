package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/image"
	"observer-patch/internal/install/installtest"
)

var both = []string{"linux/amd64", "linux/arm64"}

// bundleOf makes a small bundle and gives its folder.
func bundleOf(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, installtest.MakeBundle(dir, "1", "full", true))
	return dir
}

// file is one of a base's layer.
type file struct {
	name, link string
	content    []byte
	mode       int64
	uid        int
}

// released are the release's jars in folder libs of home, as a base has them.
func released(t *testing.T, libs string) []file {
	t.Helper()
	home := t.TempDir()
	require.NoError(t, installtest.MakeHome(home))
	out := []file{{name: "etc/passwd", content: []byte("root"), mode: 0o644}}
	for _, jar := range []string{installtest.Core, installtest.Metadata, installtest.Clients} {
		text, err := os.ReadFile(filepath.Join(home, "libs", jar))
		require.NoError(t, err)
		out = append(out, file{name: libs + "/" + jar, content: text, mode: 0o640, uid: 1001})
	}
	return out
}

// based makes an image of those files, as Docker would, with labels that speak for it.
func based(t *testing.T, platform string, files []file) v1.Image {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.uid, Size: int64(len(f.content)), Typeflag: tar.TypeReg, ModTime: time.Unix(1700000000, 0)}
		if f.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write(f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil })
	require.NoError(t, err)
	i, err := mutate.AppendLayers(empty.Image, l)
	require.NoError(t, err)
	c, err := i.ConfigFile()
	require.NoError(t, err)
	c = c.DeepCopy()
	c.OS, c.Architecture, _ = strings.Cut(platform, "/")
	c.Created = v1.Time{Time: time.Unix(1700000000, 0).UTC()}
	c.Author = "somebody"
	c.Config.Labels = map[string]string{"org.opencontainers.image.title": "The Base", "maintainer": "Its Makers", "ours": "kept"}
	c.Config.Env = []string{"A=b"}
	i, err = mutate.ConfigFile(i, c)
	require.NoError(t, err)
	return i
}

func baseOf(t *testing.T, libs string) *image.Base {
	t.Helper()
	b := &image.Base{}
	for _, p := range both {
		b.Images = append(b.Images, based(t, p, released(t, libs)))
	}
	return b
}

func makeImage(t *testing.T, b *image.Base, dir string) (*image.Result, error) {
	t.Helper()
	return image.Make(t.Context(), image.Spec{Bundle: dir, Base: b, Platforms: both, Tool: "test", Temp: t.TempDir()})
}

// seen gives the files of an image as a container sees them.
func seen(t *testing.T, i v1.Image) map[string]*tar.Header {
	t.Helper()
	out := map[string]*tar.Header{}
	stream := mutate.Extract(i)
	defer stream.Close()
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		h.PAXRecords = map[string]string{"sha256": hex.EncodeToString(sum[:])}
		out[h.Name] = h
	}
}

// valid checks everything that a layout of the result holds against its digests and types.
func valid(t *testing.T, r *image.Result) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "layout")
	require.NoError(t, r.Write(out, ""))
	top, err := layout.ImageIndexFromPath(out)
	require.NoError(t, err)
	digest, err := v1.NewHash(r.Digest)
	require.NoError(t, err)
	index, err := top.ImageIndex(digest)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	m, err := index.IndexManifest()
	require.NoError(t, err)
	for _, d := range m.Manifests {
		require.Empty(t, d.ArtifactType, "an image is no artifact")
		require.NotNil(t, d.Platform)
	}
}

func images(t *testing.T, index v1.ImageIndex) []v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	require.NoError(t, err)
	var out []v1.Image
	for _, d := range m.Manifests {
		i, err := index.Image(d.Digest)
		require.NoError(t, err)
		out = append(out, i)
	}
	return out
}

func TestOnlyTheChangedJarsAreReplacedAndOwnersAreKept(t *testing.T) {
	dir, b := bundleOf(t), baseOf(t, "opt/kafka/libs")
	r, err := makeImage(t, b, dir)
	require.NoError(t, err)
	valid(t, r)
	sums, err := bundle.CheckSums(dir)
	require.NoError(t, err)
	for n, i := range images(t, r.Index) {
		platform, err := image.Platform(i)
		require.NoError(t, err)
		require.Equal(t, both[n], platform)
		before, after := seen(t, b.Images[n]), seen(t, i)
		require.Equal(t, slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
		for file, h := range after {
			want := before[file].PAXRecords["sha256"]
			if sum, ok := sums[path.Base(file)]; ok {
				want = sum
			}
			require.Equal(t, want, h.PAXRecords["sha256"], file)
			require.Equal(t, before[file].Mode, h.Mode, file)
			require.Equal(t, before[file].Uid, h.Uid, file)
		}
		layers, err := i.Layers()
		require.NoError(t, err)
		require.Len(t, layers, 2, "one layer more")
	}
}

func TestLabelsSpeakForTheNewImage(t *testing.T) {
	r, err := makeImage(t, baseOf(t, "opt/kafka/libs"), bundleOf(t))
	require.NoError(t, err)
	i := images(t, r.Index)[1]
	c, err := i.ConfigFile()
	require.NoError(t, err)
	labels := c.Config.Labels
	require.Equal(t, "observer-patch for upstream Kafka", labels["org.opencontainers.image.title"])
	require.Equal(t, "4.1.0", labels["org.opencontainers.image.version"])
	require.Equal(t, r.Images[1].Base, labels["org.opencontainers.image.base.digest"])
	require.Equal(t, "2023-11-14T22:13:20Z", labels["org.opencontainers.image.created"])
	require.Equal(t, "kept", labels["ours"])
	require.NotContains(t, labels, "maintainer")
	require.Empty(t, c.Author)
	require.Equal(t, []string{"A=b"}, c.Config.Env)
	m, err := i.Manifest()
	require.NoError(t, err)
	require.Equal(t, types.OCIManifestSchema1, m.MediaType)
	require.Equal(t, types.OCIConfigJSON, m.Config.MediaType)
	for _, l := range m.Layers {
		require.Equal(t, types.OCILayer, l.MediaType, "also the layers that Docker's media types named")
	}
	all, err := json.Marshal([]any{m, c, r.Images})
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(all)), "apache kafka")
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	dir, out := bundleOf(t), t.TempDir()
	b := baseOf(t, "opt/kafka/libs")
	var found [2]map[string]string
	for n := range found {
		r, err := makeImage(t, b, dir)
		require.NoError(t, err)
		to := filepath.Join(out, "run", "deep"[:n*4], "layout")
		require.NoError(t, r.Write(to, "a-tag"))
		found[n] = map[string]string{}
		require.NoError(t, fs.WalkDir(os.DirFS(to), ".", func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				text, rerr := os.ReadFile(filepath.Join(to, file))
				found[n][file], err = string(text), rerr
			}
			return err
		}))
	}
	require.Greater(t, len(found[0]), 10)
	require.Equal(t, found[0], found[1])
}

func TestWhatIsAttachedNamesItsSubject(t *testing.T) {
	dir := bundleOf(t)
	r, err := makeImage(t, baseOf(t, "opt/kafka/libs"), dir)
	require.NoError(t, err)
	subjects := []string{r.Digest, r.Images[0].Digest, r.Images[1].Digest}
	var got []string
	for _, a := range r.Referrers {
		m, err := a.Artifact.Manifest()
		require.NoError(t, err)
		require.Contains(t, subjects, m.Subject.Digest.String())
		require.Equal(t, a.Subject, m.Subject.Digest)
		got = append(got, m.ArtifactType)
		if m.ArtifactType != image.ProvenanceType {
			continue
		}
		l, err := a.Artifact.LayerByDigest(m.Layers[0].Digest)
		require.NoError(t, err)
		stream, err := l.Uncompressed()
		require.NoError(t, err)
		var s struct {
			Subject   []image.Resource `json:"subject"`
			Predicate struct {
				BuildDefinition struct {
					ResolvedDependencies []image.Resource `json:"resolvedDependencies"`
				} `json:"buildDefinition"`
			} `json:"predicate"`
		}
		require.NoError(t, json.NewDecoder(stream).Decode(&s))
		require.Equal(t, m.Subject.Digest.Hex, s.Subject[0].Digest["sha256"])
		require.Contains(t, s.Predicate.BuildDefinition.ResolvedDependencies[0].Name, "base image for linux/")
	}
	require.ElementsMatch(t, slices.Repeat([]string{image.SBOMType, image.ProvenanceType, image.DocumentsType}, 3), got)
}

func TestAJarOfAnotherNameIsTakenAway(t *testing.T) {
	files := released(t, "srv/lib")
	files[1].name = "srv/lib/core.jar"
	r, err := makeImage(t, &image.Base{Images: []v1.Image{based(t, both[0], files), based(t, both[1], files)}}, bundleOf(t))
	require.NoError(t, err)
	after := seen(t, images(t, r.Index)[0])
	require.NotContains(t, after, "srv/lib/core.jar")
	require.Contains(t, after, "srv/lib/"+installtest.Core)
	i := slices.IndexFunc(r.Images[0].Jars, func(j image.Jar) bool { return j.Removed != "" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, "/srv/lib/core.jar", r.Images[0].Jars[i].Removed)
}

func TestABaseThatDoesNotFitIsRefused(t *testing.T) {
	dir := bundleOf(t)
	changed := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return text
	}
	repacked := func(entries installtest.Contents) []byte {
		to := filepath.Join(t.TempDir(), "x.jar")
		require.NoError(t, installtest.WriteJar(to, entries, time.Unix(1600000000, 0)))
		text, err := os.ReadFile(to)
		require.NoError(t, err)
		return text
	}
	other := installtest.Release()[installtest.Core]
	other["kafka/Kafka.class"] = "another build"
	for name, c := range map[string]struct {
		edit func([]file) []file
		want string
	}{
		"another build of the release": {func(f []file) []file { f[1].content = repacked(other); return f }, "has other content than the release's"},
		"patched already":              {func(f []file) []file { f[1].content = changed(installtest.Core); return f }, "patched already"},
		"two copies in the folder":     {func(f []file) []file { return append(f, file{name: "opt/kafka/libs/copy.jar", content: f[1].content}) }, "2 files with the classes"},
		"two folders":                  {func(f []file) []file { return append(f, file{name: "opt/old/copy.jar", content: f[1].content}) }, "several folders"},
		"no jar at all":                {func(f []file) []file { return f[:1] }, "no jar of the base"},
		"core is missing":              {func(f []file) []file { return append(f[:1], f[2:]...) }, "found no such jar"},
		"a link out of the folder":     {func(f []file) []file { return append(f, file{name: "opt/kafka/libs/x.jar", link: "../../java/x.jar"}) }, "link to /opt/java/x.jar"},
		"a link to a copy": {func(f []file) []file {
			return append(f, file{name: "opt/kafka/libs/kafka.jar", link: installtest.Core})
		}, "2 files with the classes"},
	} {
		t.Run(name, func(t *testing.T) {
			i := based(t, both[0], c.edit(released(t, "opt/kafka/libs")))
			_, err := image.Make(t.Context(), image.Spec{Bundle: dir, Base: &image.Base{Images: []v1.Image{i}}, Platforms: both[:1], Temp: t.TempDir()})
			require.ErrorContains(t, err, c.want)
			require.Equal(t, exit.Refused, exit.Code(err))
		})
	}
	_, err := image.Make(t.Context(), image.Spec{Bundle: dir, Base: &image.Base{Images: []v1.Image{based(t, both[0], released(t, "l"))}}, Platforms: both, Temp: t.TempDir()})
	require.ErrorContains(t, err, "0 images for linux/arm64")
	require.Equal(t, exit.Refused, exit.Code(err))
	require.NoError(t, os.WriteFile(filepath.Join(dir, bundle.DiffFile), []byte("edited\n"), 0o644))
	_, err = makeImage(t, baseOf(t, "l"), dir)
	require.Equal(t, exit.Proof, exit.Code(err), "a bundle that does not match its sums")
}

func TestTheReleasesOwnJarsPackedAnewAreAccepted(t *testing.T) {
	files := released(t, "l")
	to := filepath.Join(t.TempDir(), "x.jar")
	require.NoError(t, installtest.WriteJar(to, installtest.Release()[installtest.Core], time.Unix(1600000000, 0)))
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	require.NotEqual(t, files[1].content, text)
	files[1].content = text
	_, err = makeImage(t, &image.Base{Images: []v1.Image{based(t, both[0], files), based(t, both[1], files)}}, bundleOf(t))
	require.NoError(t, err)
}

func TestLibsChoosesOneOfSeveralFolders(t *testing.T) {
	files := released(t, "opt/kafka/libs")
	files = append(files, file{name: "opt/old/copy.jar", content: files[1].content})
	s := image.Spec{Bundle: bundleOf(t), Base: &image.Base{Images: []v1.Image{based(t, both[0], files)}}, Platforms: both[:1], Libs: "/opt/kafka/libs/", Temp: t.TempDir()}
	r, err := image.Make(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, r.Images[0].Jars, 2)
	s.Libs, s.Temp = "/opt/nothing", t.TempDir()
	_, err = image.Make(t.Context(), s)
	require.ErrorContains(t, err, "no folder /opt/nothing with jars; it has jars in /opt/kafka/libs, /opt/old")
}

func TestBasesComeFromLayoutsArchivesAndRegistries(t *testing.T) {
	b, dir := baseOf(t, "opt/kafka/libs"), t.TempDir()
	index := v1.ImageIndex(empty.Index)
	for _, i := range b.Images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i})
	}
	at := filepath.Join(dir, "layout")
	_, err := layout.Write(at, empty.Index)
	require.NoError(t, err)
	p, err := layout.FromPath(at)
	require.NoError(t, err)
	require.NoError(t, p.AppendIndex(index))
	packed := filepath.Join(dir, "layout.tar")
	pack(t, at, packed)
	saved := filepath.Join(dir, "saved.tar")
	require.NoError(t, tarball.WriteToFile(saved, name.MustParseReference("registry.example/x:y"), b.Images[1]))
	host := loopback(t, false)
	ref, err := name.ParseReference(host + "/base:1")
	require.NoError(t, err)
	require.NoError(t, remote.WriteIndex(ref, index))

	for from, platforms := range map[string][]string{at: both, packed: both, saved: both[1:], ref.String(): both} {
		temp := t.TempDir()
		opened, err := image.Open(t.Context(), from, image.Registry{}, temp)
		require.NoError(t, err, from)
		r, err := image.Make(t.Context(), image.Spec{Bundle: bundleOf(t), Base: opened, Platforms: platforms, Temp: temp})
		require.NoError(t, err, from)
		valid(t, r)
		require.Len(t, r.Images, len(platforms))
	}
	_, err = image.Open(t.Context(), "kafka", image.Registry{}, t.TempDir())
	require.ErrorContains(t, err, "names no registry")
	require.Equal(t, exit.Usage, exit.Code(err))
	junk := filepath.Join(dir, "junk")
	require.NoError(t, os.WriteFile(junk, []byte("junk"), 0o644))
	_, err = image.Open(t.Context(), junk, image.Registry{}, t.TempDir())
	require.ErrorContains(t, err, "neither an archive")
}

func TestPushedImagesComeBackWithWhatIsAttached(t *testing.T) {
	for _, referrers := range []bool{true, false} {
		host := loopback(t, referrers)
		r, err := makeImage(t, baseOf(t, "opt/kafka/libs"), bundleOf(t))
		require.NoError(t, err)
		at, err := r.Push(t.Context(), host+"/observer:4.1.0", image.Registry{})
		require.NoError(t, err)
		require.Equal(t, host+"/observer@"+r.Digest, at)
		ref, err := name.ParseReference(host + "/observer:4.1.0")
		require.NoError(t, err)
		pulled, err := remote.Index(ref)
		require.NoError(t, err)
		require.NoError(t, validate.Index(pulled))
		digest, err := pulled.Digest()
		require.NoError(t, err)
		require.Equal(t, r.Digest, digest.String())
		for _, subject := range []string{r.Digest, r.Images[1].Digest} {
			attached, err := remote.Referrers(ref.Context().Digest(subject))
			require.NoError(t, err)
			m, err := attached.IndexManifest()
			require.NoError(t, err)
			var kinds []string
			for _, d := range m.Manifests {
				a, err := remote.Image(ref.Context().Digest(d.Digest.String()))
				require.NoError(t, err)
				am, err := a.Manifest()
				require.NoError(t, err)
				require.Equal(t, subject, am.Subject.Digest.String())
				kinds = append(kinds, am.ArtifactType)
			}
			require.ElementsMatch(t, []string{image.SBOMType, image.ProvenanceType, image.DocumentsType}, kinds)
		}
		again, err := image.Open(t.Context(), host+"/observer:4.1.0", image.Registry{}, t.TempDir())
		require.NoError(t, err)
		_, err = makeImage(t, again, bundleOf(t))
		require.ErrorContains(t, err, "patched already", "a patched image is no base")
	}
}

func TestALayoutIsWrittenIntoAnEmptyFolderOnly(t *testing.T) {
	r, err := makeImage(t, baseOf(t, "l"), bundleOf(t))
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.Mkdir(out, 0o700))
	require.NoError(t, r.Write(out, ""))
	err = r.Write(out, "")
	require.ErrorContains(t, err, "is not empty")
	require.Equal(t, exit.Refused, exit.Code(err))
	left, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left beside it")
	opened, err := image.Open(t.Context(), out, image.Registry{}, t.TempDir())
	require.NoError(t, err)
	require.Len(t, opened.Images, 2, "what is attached is no image")
}

func TestABaseOfPublishedJarsTakesABundle(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, installtest.MakeHome(home))
	jars, err := filepath.Glob(filepath.Join(home, "libs", "*.jar"))
	require.NoError(t, err)
	r, err := image.MakeBase(image.Published{Release: "4.1.0", Jars: jars, Home: "/opt/kafka", Platforms: both, Temp: t.TempDir()})
	require.NoError(t, err)
	valid(t, r)
	out := filepath.Join(t.TempDir(), "base")
	require.NoError(t, r.Write(out, ""))
	b, err := image.Open(t.Context(), out, image.Registry{}, t.TempDir())
	require.NoError(t, err)
	made, err := makeImage(t, b, bundleOf(t))
	require.NoError(t, err)
	i := images(t, made.Index)[1]
	c, err := i.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, []string{"java", "-cp", "/opt/kafka/libs/*"}, c.Config.Entrypoint)
	require.Equal(t, image.Title, c.Config.Labels["org.opencontainers.image.title"])
	require.Contains(t, seen(t, i), "opt/kafka/libs/"+installtest.Clients)
}

// loopback runs a registry for the test and gives its host:port.
func loopback(t *testing.T, referrers bool) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// pack makes an archive of a folder.
func pack(t *testing.T, dir, to string) {
	t.Helper()
	out, err := os.Create(to)
	require.NoError(t, err)
	w := tar.NewWriter(out)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, errors.Join(w.Close(), out.Close()))
}
