package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"observer-patch/internal/build"
	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
)

// gradleFlags choose what makes the jars, and how upstream's own build is run.
type gradleFlags struct {
	backend string
	program string
	log     string
	jvm     []string
	limit   time.Duration
}

// defaultGradleLimit is several times what upstream's jar tasks take on two cores.
const defaultGradleLimit = time.Hour

func (g *gradleFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&g.backend, "backend", bundle.Overlay, "overlay (the patch's files are compiled with the release's jars) or gradle (upstream's own jar tasks on the whole patched tree; with --source git or dir)")
	f.StringVar(&g.program, "gradle", "", "the Gradle to run, a path or a name on PATH; default: the tree's wrapper gradlew; with --backend gradle, as all --gradle flags")
	f.StringVar(&g.log, "gradle-log", "", "file for Gradle's whole output; default OUT/<target>-gradle.log; for one target only")
	f.StringArrayVar(&g.jvm, "gradle-jvm", nil, "option of Gradle's own JVM, e.g. -Xmx4g, in place of those in gradle.properties; may be given several times")
	f.DurationVar(&g.limit, "gradle-limit", defaultGradleLimit, "end a Gradle run that takes longer; 0 for no limit")
}

// complete refuses flags that do not go together.
func (g *gradleFlags) complete(env *Env, f *pflag.FlagSet, b *buildFlags) error {
	usage := func(text string) error { return exit.With(exit.Usage, errors.New(text)) }
	switch g.backend {
	case bundle.Overlay:
		for _, name := range []string{"gradle", "gradle-log", "gradle-jvm", "gradle-limit"} {
			if f.Changed(name) {
				return usage("--" + name + " goes with --backend gradle")
			}
		}
		return nil
	case bundle.WholeBuild:
	default:
		return usage(fmt.Sprintf("--backend %q: expected overlay or gradle", g.backend))
	}
	if b.src.kind == "maven" {
		return usage("--backend gradle needs the whole source tree, and the sources jars hold a part of it; expected --source git or --source dir")
	}
	if b.lockTo != "" {
		return usage("--update-outputs-lock goes with --backend overlay: the lock holds its results")
	}
	if g.limit < 0 {
		return usage(fmt.Sprintf("--gradle-limit %s: expected 0 or more", g.limit))
	}
	for _, o := range g.jvm {
		if !strings.HasPrefix(o, "-") || strings.ContainsAny(o, " \t\n'\"") {
			return usage(fmt.Sprintf("--gradle-jvm %q: expected one JVM option without blanks and quotes", o))
		}
	}
	if g.log == "" {
		return nil
	}
	targets, err := b.sel.targets(env)
	if err == nil && len(targets) > 1 {
		return usage(fmt.Sprintf("--gradle-log is for one target, the flags choose %d", len(targets)))
	}
	return err
}

// into tells a spec to have upstream's own build make the jars.
func (g *gradleFlags) into(env *Env, s *bundle.Spec, src *sourceFlags, out, name string) {
	s.Backend = g.backend
	if g.backend != bundle.WholeBuild {
		return
	}
	log := g.log
	if log == "" {
		log = filepath.Join(out, name+".log")
	}
	say := func(what string) { env.Log.Info(what, "target", name) }
	s.Progress = say
	s.Gradle = build.Gradle{Program: g.program, JDK: s.JDK, Scala: s.Target.Scala, JVMOptions: g.jvm, Offline: src.offline, Limit: g.limit, Log: log,
		Environ: os.Environ(), Progress: say}
}

// report says what people should know of a run of upstream's build.
func (g *gradleFlags) report(env *Env, name string, made *bundle.Bundle) {
	r := made.Gradle
	if r == nil {
		return
	}
	env.Log.Info("upstream's build was run for its jar tasks only", "target", name, "gradle", r.Version, "tasks", strings.Join(r.Tasks, " "), "built and like the release's", strings.Join(r.Unchanged, " "))
	switch found := r.VersionProperties["commitId"]; {
	case r.VersionProperties == nil:
		env.Log.Info("the build wrote no kafka-version.properties", "target", name)
	case found != r.CommitID:
		env.Log.Warn("kafka-version.properties of this build claims another commit than it was told; its kafka-clients must not be taken for the release's", "target", name, "commitId", found, "told", r.CommitID, "version", r.VersionProperties["version"])
	default:
		env.Log.Info("kafka-version.properties of this build; the bundle has no kafka-clients, so that nodes go on reporting the release's", "target", name, "commitId", found, "version", r.VersionProperties["version"])
	}
	if made.Left > 0 {
		env.Log.Warn("the build left processes running; they were ended", "target", name, "processes", made.Left)
	}
}
