package kerneltest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/anchor"
	"observer-patch/internal/build"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
	"observer-patch/internal/toolchain"
)

// newCore patches and compiles every module of a release and puts the classes ahead of the
// release's own jars. The hook without is left out, if it is not empty.
func newCore(ctx context.Context, t *testing.T, version, without string) *kernel {
	t.Helper()
	k, modules := overlay(ctx, t, version, without)
	k.prepend(t, modules)
	return k
}

// prepend writes compiled classes to a folder of their own at the head of the class path.
func (k *kernel) prepend(t *testing.T, modules []build.Module) {
	t.Helper()
	classes, err := os.MkdirTemp(k.dir, "classes")
	require.NoError(t, err)
	for _, m := range modules {
		for entry, class := range m.Patched.Classes {
			name := filepath.Join(classes, entry)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, class, 0o644))
		}
	}
	k.classPath = append([]string{classes}, k.classPath...)
}

// overlay patches and compiles every module of a release, with the pinned compilers. The class
// path is the release's own, with the tests behind it.
func overlay(ctx context.Context, t *testing.T, version, without string) (*kernel, []build.Module) {
	t.Helper()
	k, in, plan := recipe(ctx, t, version)
	leaveOut(t, plan, without)
	in.Tree = plan.Tree
	modules, err := build.Overlay(ctx, in)
	require.NoError(t, err)
	return k, modules
}

// recipe gives what the patched classes of a release are compiled from.
func recipe(ctx context.Context, t *testing.T, version string) (*kernel, build.Inputs, *patch.Plan) {
	t.Helper()
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	sources, err := source.Maven(maventest.Resolve(ctx, t, version, "source", nil))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sources.Close()) })
	target := targetOf(t, version, release.Full)
	catalog, err := anchor.ReadCatalog(observerpatch.Data())
	require.NoError(t, err)
	plan, err := patch.Make(sources.FS, catalog, target)
	require.NoError(t, err)
	require.NoError(t, plan.Err())

	k := &kernel{version: version, jdk: jdk, dir: t.TempDir()}
	in := build.Inputs{
		Target: target, Tree: plan.Tree, Upstream: sources.FS, Jars: map[string]build.Library{}, SkipUnpatched: true,
		Scala: maventest.Lock(t).Releases[version].Scalac["2.13"], Tools: build.Tools{JDK: jdk, Getenv: os.Getenv},
	}
	for _, a := range maventest.Resolve(ctx, t, version, "classpath/2.13", nil) {
		lib := build.Library{Path: a.Path, SHA256: a.SHA256}
		in.Classpath = append(in.Classpath, lib)
		k.classPath = append(k.classPath, a.Path)
		for _, module := range []string{"metadata", "core"} {
			if a.Coordinates.Artifact == build.ArtifactOf(module, "2.13") {
				in.Jars[module] = lib
			}
		}
	}
	for _, a := range maventest.Resolve(ctx, t, version, "scalac/2.13", nil) {
		in.Scalac = append(in.Scalac, build.Library{Path: a.Path, SHA256: a.SHA256})
	}
	for _, a := range maventest.Resolve(ctx, t, version, "test", nil) {
		k.classPath = append(k.classPath, a.Path)
	}
	return k, in, plan
}

// leaveOut takes every section of a hook out of a plan.
func leaveOut(t *testing.T, plan *patch.Plan, hook string) {
	t.Helper()
	if hook == "" {
		return
	}
	found := false
	for i, f := range plan.Tree.Files {
		var located []anchor.Located
		for _, l := range plan.Located {
			if l.Path == f.Path && l.Hook == hook {
				found = true
			} else if l.Path == f.Path {
				located = append(located, l)
			}
		}
		if f.Before != nil {
			var err error
			plan.Tree.Files[i].After, plan.Tree.Files[i].Edits, err = patch.Apply(f.Before, located)
			require.NoError(t, err)
		}
	}
	require.True(t, found, "%s has no hook %s", plan.Target, hook)
}

// zkClasses are our tests of the ZooKeeper controller: rules by themselves, then real brokers.
var zkClasses = []string{"ZkElectionTableTest", "ZkObserversTest", "ZkClusterTest"}

func TestTheZooKeeperControllerFollowsTheRules(t *testing.T) {
	for _, version := range []string{"3.7.1", "3.9.2"} {
		t.Run(version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
			defer cancel()
			k := newCore(ctx, t, version, "")
			k.env = []string{"KAFKA_OBSERVER_PARTITION_METRICS=true"}
			k.compileTests(ctx, t, "ids", "zk")
			report, passed := k.junit(ctx, t, zkClasses...)
			require.True(t, passed, report)
			report, passed = k.junit(ctx, t, "BrokerStartTest") // in a process where nothing has asked yet
			require.True(t, passed, report)
		})
	}
}
