package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/proof"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

// Spec is what a bundle is made from.
type Spec struct {
	Target release.Target
	Tree   patch.Tree
	// Upstream has the sources that Tree was made from.
	Upstream fs.FS
	// Foreign is set when Tree is somebody else's patch.
	Foreign bool
	// Diff is the file that goes into the bundle.
	Diff []byte
	// Origin says where upstream's texts came from.
	Origin string
	// Sources are the artifacts they came from; empty for git and folders.
	Sources []maven.Artifact
	// Inputs are the release's artifacts.
	Inputs Artifacts
	JDK    toolchain.JDK
	// CacheDir keeps unpatched compilations and locks.
	CacheDir string
	NoProof  bool
	// Tool is the version of this tool, or of the one that made the bundle which is verified by
	// Verifier.
	Tool, Verifier string
	// Recovered is set when Tree is a bundle's own diff, because its hooks are those of another
	// version of the tool.
	Recovered bool
	// SignKey signs the sums when it is not empty.
	SignKey string
	// Outputs are the locked results.
	Outputs Outputs
	Getenv  func(string) string
	// Backend is Overlay, also when empty, or WholeBuild: the jars are of upstream's own build.
	Backend string
	// Gradle runs that build; used by Make only.
	Gradle build.Gradle
	// Progress is told what begins; nil for silence.
	Progress func(what string)
	// Waiting is told that another build of the same folder has to end first; nil for silence.
	Waiting func(dir string)
}

// Artifacts are the checked files of a release for one Scala version.
type Artifacts struct {
	// Classpath is the closure in order, with the release's own jars in it.
	Classpath []maven.Artifact
	// Scalac is the compiler, Scala its version.
	Scalac []maven.Artifact
	Scala  string
}

// Make builds, proves and writes a bundle to dir. What fails leaves dir as it was.
func Make(ctx context.Context, s Spec, dir string) (*Bundle, error) {
	var b *Bundle
	wait := func() {
		if s.Waiting != nil {
			s.Waiting(dir)
		}
	}
	err := replaceDir(ctx, dir, filepath.Join(s.CacheDir, "lock"), wait, func(tmp string) error {
		var err error
		if b, err = fill(ctx, s, tmp); err != nil {
			return err
		}
		if s.SignKey != "" {
			return Sign(ctx, tmp, s.SignKey)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.Dir = dir
	return b, nil
}

// fill does the work in an empty folder.
func fill(ctx context.Context, s Spec, dir string) (*Bundle, error) {
	if err := s.wholeTree(); err != nil {
		return nil, err
	}
	modules, err := s.compile(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.contents()
	if err != nil {
		return nil, err
	}
	var built build.GradleBuilt
	if s.Backend == WholeBuild {
		if built, c.Gradle, err = s.runGradle(ctx, c.HookDigest, filepath.Join(dir, treeFolder)); err != nil {
			return nil, err
		}
	}
	paths := map[string]string{}
	for i := range modules {
		j, err := writeJar(&modules[i], s.artifact(modules[i].Name), built.Jars[modules[i].Name], c.properties(), dir)
		if err != nil {
			return nil, err
		}
		c.Jars = append(c.Jars, j)
		paths[modules[i].Name] = filepath.Join(dir, j.Name)
	}
	b := &Bundle{Dir: dir, Target: s.Target, Jars: c.Jars, Gradle: c.Gradle, Left: built.Left}
	if !s.NoProof {
		s.say("prove")
		if b.Verdict, err = proof.Prove(modules, paths, PropertiesEntry); err != nil {
			return nil, err
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, treeFolder)); err != nil {
		return nil, err
	}
	b.Locked = c.locked()
	if s.JDK.Pinned && !s.Foreign && s.Backend != WholeBuild {
		if err := s.Outputs.Check(s.Target.String(), b.Locked); err != nil {
			return nil, err
		}
	}
	files, err := c.documents(b.Verdict)
	if err != nil {
		return nil, err
	}
	if files[NativesFile], err = nativesOf(c.Closure); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	if b.Sums, err = sumUp(dir); err != nil {
		return nil, err
	}
	return b, os.WriteFile(filepath.Join(dir, SumsFile), formatSums(b.Sums), 0o644)
}

func (s Spec) say(what string) {
	if s.Progress != nil {
		s.Progress(what)
	}
}

// inputs gives what the overlay build works from, but for the jars of the modules.
func (s Spec) inputs() build.Inputs {
	return build.Inputs{
		Target: s.Target, Tree: s.Tree, Upstream: s.Upstream, Classpath: libraries(s.Inputs.Classpath), Jars: map[string]build.Library{},
		Scalac: libraries(s.Inputs.Scalac), Scala: s.Inputs.Scala,
		Tools: build.Tools{JDK: s.JDK, Getenv: s.Getenv}, Memo: build.Memo{Dir: filepath.Join(s.CacheDir, "compiled")},
		SkipUnpatched: s.NoProof, Progress: s.Progress,
	}
}

// compile runs the overlay build.
func (s Spec) compile(ctx context.Context) ([]build.Module, error) {
	in := s.inputs()
	for _, f := range s.Tree.Files {
		module, err := build.ModuleOf(f.Path)
		if err != nil {
			return nil, exit.With(exit.Refused, fmt.Errorf("the patch changes a file that the overlay build cannot rebuild: %w", err))
		}
		a := s.artifact(module)
		if a.Path == "" {
			return nil, fmt.Errorf("release %s has no jar of module %s in its closure", s.Target.Release, module)
		}
		in.Jars[module] = build.Library{Path: a.Path, SHA256: a.SHA256}
	}
	modules, err := build.Overlay(ctx, in)
	for i := range modules {
		modules[i].Rebuilt = s.Backend == WholeBuild
	}
	return modules, err
}

// artifact gives the release's own jar of a module; a zero Path when there is none.
func (s Spec) artifact(module string) maven.Artifact {
	name := build.ArtifactOf(module, s.Target.Scala)
	for _, a := range s.Inputs.Classpath {
		if a.Coordinates.Group == "org.apache.kafka" && a.Coordinates.Artifact == name && a.Coordinates.Classifier == "" {
			return a
		}
	}
	return maven.Artifact{}
}

func libraries(list []maven.Artifact) []build.Library {
	out := make([]build.Library, len(list))
	for i, a := range list {
		out[i] = build.Library{Path: a.Path, SHA256: a.SHA256}
	}
	return out
}

// writeJar writes a module's changed jar under the release's own name: the release's with the
// module's changes, or built, when it is not empty, with the entry that describes the patch.
func writeJar(m *build.Module, from maven.Artifact, built string, properties []byte, dir string) (Jar, error) {
	changes, source := jar.Changes{Put: map[string][]byte{PropertiesEntry: properties}}, built
	if built == "" {
		source, changes.Remove = from.Path, m.Changes.Remove
		maps.Copy(changes.Put, m.Changes.Put)
	}
	j := Jar{Name: from.Coordinates.File(), Module: m.Name, Release: from.SHA256}
	path := filepath.Join(dir, j.Name)
	report, err := jar.RewriteFile(path, source, changes)
	if err != nil {
		return Jar{}, err
	}
	j.Replaced, j.Added, j.Removed = report.Replaced, report.Added, report.Removed
	if built != "" {
		c, err := jar.Compare(from.Path, path)
		if err != nil {
			return Jar{}, err
		}
		j.Replaced, j.Added, j.Removed = c.Replaced, c.Added, c.Removed
	}
	folder := func(name string) bool { return strings.HasSuffix(name, "/") }
	j.Added, j.Removed = slices.DeleteFunc(j.Added, folder), slices.DeleteFunc(j.Removed, folder)
	j.SHA256, err = digestFile(path)
	return j, err
}

// contents gathers what the documents say, before jars are known.
func (s Spec) contents() (Contents, error) {
	body, err := s.Tree.Diff()
	if err != nil {
		return Contents{}, err
	}
	c := Contents{
		Target: s.Target, Tree: s.Tree, Foreign: s.Foreign, Diff: s.Diff, Closure: s.Inputs.Classpath, Compilers: s.Inputs.Scalac,
		Sources: s.Sources, Origin: s.Origin, Tool: s.Tool, Scalac: s.Inputs.Scala, Unproven: s.NoProof, HookDigest: digest(body),
		JDK: JDK{Version: s.JDK.Version, Vendor: s.JDK.Vendor, Pinned: s.JDK.Pinned},
	}
	core, err := jar.Open(s.artifact("core").Path)
	if err != nil {
		return Contents{}, err
	}
	defer core.Close()
	var nerr, lerr error
	c.Notice, nerr = core.Read("NOTICE")
	c.License, lerr = core.Read("LICENSE")
	return c, errors.Join(nerr, lerr)
}

// documents gives every file of the bundle but jars and sums.
func (c Contents) documents(v *proof.Verdict) (map[string][]byte, error) {
	files := map[string][]byte{DiffFile: c.Diff, ChangesFile: c.changes(), LicenseFile: c.License}
	if err := checkText("upstream's LICENSE", c.License); err != nil {
		return nil, err
	}
	for _, d := range []struct {
		name string
		make func() ([]byte, error)
	}{{NoticeFile, c.notice}, {SBOMFile, c.sbom}, {ProvenanceFile, c.provenance}} {
		text, err := d.make()
		if err != nil {
			return nil, err
		}
		files[d.name] = text
	}
	page, err := v.Page(c.Target.String())
	if err != nil {
		return nil, err
	}
	files[ProofPage] = page
	if v != nil {
		if files[ProofFile], err = writeJSON(v); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// HooksAre tells whether a tree's diff, without header, has a SHA-256.
func HooksAre(t patch.Tree, sha256 string) (bool, error) {
	body, err := t.Diff()
	return digest(body) == sha256, err
}
