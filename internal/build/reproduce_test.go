package build_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/build"
	"observer-patch/internal/cache"
	"observer-patch/internal/classfile"
	"observer-patch/internal/maven"
	"observer-patch/internal/proof"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
	"observer-patch/internal/toolchain"
)

// kitchen has what releases are compiled with and from, all of it pinned.
type kitchen struct {
	t        *testing.T
	lock     *release.Lock
	matrix   *release.Matrix
	resolver *maven.Resolver
	tools    build.Tools
}

func newKitchen(t *testing.T) kitchen {
	data := observerpatch.Data()
	k := kitchen{t: t}
	text, err := fs.ReadFile(data, "versions.lock")
	require.NoError(t, err)
	k.lock, err = release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	text, err = fs.ReadFile(data, "versions.yaml")
	require.NoError(t, err)
	k.matrix, err = release.ReadMatrix(text, "versions.yaml")
	require.NoError(t, err)
	root, err := cache.Dir(os.Getenv)
	require.NoError(t, err)
	c, err := cache.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	k.resolver = &maven.Resolver{Cache: c, Progress: t.Output(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	k.tools = build.Tools{JDK: jdk, Getenv: os.Getenv, Temp: t.TempDir()}
	return k
}

// get gives the artifacts of a use, and the jar among them that is called artifact.
func (k kitchen) get(version, use, artifact string) (all []build.Library, one build.Library, jars []maven.Artifact) {
	k.t.Helper()
	locked, err := k.lock.Artifacts(version, use)
	require.NoError(k.t, err)
	jars, err = k.resolver.Resolve(k.t.Context(), locked)
	require.NoError(k.t, err)
	for _, a := range jars {
		l := build.Library{Path: a.Path, SHA256: a.SHA256}
		all = append(all, l)
		if a.Coordinates.Artifact == artifact && a.Coordinates.Classifier == "" {
			one = l
		}
	}
	return all, one, jars
}

// unit gives the compilation of one unpatched file of a release's core, as build makes it,
// and the module that the proof compares.
func (k kitchen) unit(version, path string) (build.Unit, build.Module) {
	k.t.Helper()
	targets, err := k.matrix.Targets([]string{version}, "", "2.13", string(release.Base))
	require.NoError(k.t, err)
	_, _, sources := k.get(version, "source", "")
	tree, err := source.Maven(sources)
	require.NoError(k.t, err)
	if tree.Close != nil {
		k.t.Cleanup(func() { require.NoError(k.t, tree.Close()) })
	}
	text, err := fs.ReadFile(tree.FS, path)
	require.NoError(k.t, err)
	in := build.Inputs{Target: targets[0], Upstream: tree.FS, Jars: map[string]build.Library{}, Scala: k.lock.Releases[version].Scalac["2.13"]}
	in.Classpath, in.Jars["core"], _ = k.get(version, "classpath/2.13", "kafka_2.13")
	in.Scalac, _, _ = k.get(version, "scalac/2.13", "")
	u, err := build.UnpatchedUnit(in, path, text)
	require.NoError(k.t, err)
	return u, build.Module{Name: "core", Jar: u.Own}
}

// Each row but the right ones is one thing that an unpatched rebuild can get wrong. File and
// compiler are ones where it matters: 2.13.15 in place of 2.13.16 gives the release's own bytes of
// Partition of 4.1.0, and no comparison could tell.
func TestTheProofTellsTheRightCompilationFromNearOnes(t *testing.T) {
	k := newKitchen(t)
	const partition, replicaManager = "core/src/main/scala/kafka/cluster/Partition.scala", "core/src/main/scala/kafka/server/ReplicaManager.scala"
	for _, c := range []struct {
		name, version, path string
		change              func(u *build.Unit)
		refused             string // what the proof says; empty when all classes are the release's bytes
	}{
		{"right", "4.1.0", partition, func(*build.Unit) {}, ""},
		{"no packages to inline from", "4.1.0", partition, func(u *build.Unit) {
			all := len(u.Options.ScalaFlags)
			u.Options.ScalaFlags = slices.DeleteFunc(slices.Clone(u.Options.ScalaFlags), func(f string) bool { return strings.HasPrefix(f, "-opt-inline-from") })
			require.Len(t, u.Options.ScalaFlags, all-2)
		}, "kafka/cluster/Partition.class, compiled from the unpatched file, is different from the release's"},
		{"an older scalac that inlines less", "4.1.0", partition, func(u *build.Unit) {
			u.Options.Scalac, _, _ = k.get("3.6.2", "scalac/2.13", "")
			u.Options.Scala = k.lock.Releases["3.6.2"].Scalac["2.13"]
			require.NotEqual(t, k.lock.Releases["4.1.0"].Scalac["2.13"], u.Options.Scala)
		}, "kafka/cluster/Partition.class, compiled from the unpatched file, is different from the release's"},
		{"right, with Java sources beside", "3.7.1", replicaManager, func(*build.Unit) {}, ""},
		{"no Java sources beside", "3.7.1", replicaManager, func(u *build.Unit) {
			require.NotEmpty(t, u.Beside)
			u.Beside = nil
		}, "kafka/server/ReplicaManager.class, compiled from the unpatched file, is different from the release's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, m := k.unit(c.version, c.path)
			c.change(&u)
			out, err := build.Compile(context.Background(), k.tools, u)
			require.NoError(t, err)
			m.Unpatched = &out
			classes, problems, err := proof.Unpatched(m)
			require.NoError(t, err)
			t.Logf("scalac %s: %d classes, %d problems", out.Toolchain.Scalac, len(classes), len(problems))
			if c.refused != "" {
				assert.Contains(t, strings.Join(problems, "\n"), c.refused)
				return
			}
			assert.Empty(t, problems)
			require.NotEmpty(t, classes)
			for _, class := range classes {
				assert.Equal(t, classfile.Identical, class.Level, class.Entry)
			}
		})
	}
}
