package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/exit"
	"observer-patch/internal/proof"
)

// Backends: what makes the changed jars.
const (
	// Overlay compiles the files of the patch and replaces their classes in the release's jars.
	Overlay = "overlay"
	// WholeBuild runs upstream's own Gradle build on the patched tree.
	WholeBuild = "gradle"
)

// treeFolder holds the patched tree while upstream's build runs in it, inside the bundle's
// temporary folder, so that what a killed run leaves is removed by the next.
const treeFolder = ".tree"

// GradleRun says in the provenance what of upstream's own build was run.
type GradleRun struct {
	// Scope says it for people.
	Scope   string   `json:"scope"`
	Version string   `json:"version,omitempty"`
	Wrapper bool     `json:"wrapper,omitempty"`
	Tasks   []string `json:"tasks,omitempty"`
	Offline bool     `json:"offline,omitempty"`
	JVM     []string `json:"jvmOptions,omitempty"`
	// CommitID is what the build was told to call its commit.
	CommitID string `json:"commitId,omitempty"`
	// VersionProperties is kafka/kafka-version.properties as the build wrote it. It belongs to
	// kafka-clients, which is not in the bundle: a node goes on reporting the release's.
	VersionProperties map[string]string `json:"kafkaVersionProperties,omitempty"`
	// Unchanged are the jars of modules without patch that the build made as well; they are the
	// release's but for what a compiler is free to write, and are not in the bundle.
	Unchanged []string `json:"unchangedJars,omitempty"`
}

const (
	notRun  = "upstream's own Gradle build was not run: the files of the patch were compiled with the release's jars"
	jarOnly = "of upstream's own Gradle build the jar tasks were run, no test, no check and no distribution; the whole of it needs the Gradle version that upstream's wrapper names"
)

// wholeTree refuses a tree that upstream's own build cannot run in, when it has to.
func (s Spec) wholeTree() error {
	if s.Backend != WholeBuild {
		return nil
	}
	for _, need := range []string{"settings.gradle", "build.gradle"} {
		if f, err := s.Upstream.Open(need); err != nil {
			return exit.With(exit.Refused, fmt.Errorf("%s is a partial tree: it has no %s; upstream's Gradle build needs the whole one: --source git, or --source dir with it", s.Origin, need))
		} else if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// runGradle writes the patched tree and builds its jars. Those of modules that the patch leaves
// alone must be the release's by content (exit code 4).
func (s Spec) runGradle(ctx context.Context, hooks, tree string) (b build.GradleBuilt, run *GradleRun, err error) {
	s.say("write the patched tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return b, nil, err
	}
	if err := s.Tree.Write(ctx, s.Upstream, tree); err != nil {
		return b, nil, err
	}
	patched := build.Modules(s.Tree)
	names := map[string]string{}
	for _, module := range slices.Concat(build.GradleModules(), patched) {
		a := s.artifact(module)
		if a.Path == "" {
			return b, nil, fmt.Errorf("release %s has no jar of module %s in its closure", s.Target.Release, module)
		}
		names[module] = a.Coordinates.File()
	}
	s.say("run upstream's build, its output goes to " + s.Gradle.Log)
	if b, err = s.Gradle.Run(ctx, tree, names, build.CommitID(hooks)); err != nil {
		return b, nil, err
	}
	run = &GradleRun{Scope: jarOnly, Version: b.Version, Wrapper: b.Wrapper, Tasks: b.Tasks, Offline: s.Gradle.Offline, JVM: s.Gradle.JVMOptions,
		CommitID: b.CommitID, VersionProperties: b.Properties}
	for _, module := range build.GradleModules() {
		if slices.Contains(patched, module) {
			continue
		}
		run.Unchanged = append(run.Unchanged, names[module])
		if s.NoProof {
			continue
		}
		a := s.artifact(module)
		bad, err := proof.Same(module, build.Library{Path: a.Path, SHA256: a.SHA256}, b.Jars[module])
		if err != nil {
			return b, nil, err
		}
		if len(bad) > 0 {
			return b, nil, exit.With(exit.Proof, fmt.Errorf("%s, which the patch leaves alone, is not the release's; is the tree that of release %s?\n%s", filepath.Base(b.Jars[module]), s.Target.Release, strings.Join(bad, "\n")))
		}
	}
	return b, run, nil
}
