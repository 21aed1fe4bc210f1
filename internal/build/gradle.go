package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/toolchain"
)

// Gradle says how upstream's own build is run. It needs a whole tree and upstream's Gradle
// version, which the tree's wrapper fetches.
type Gradle struct {
	// Program is the gradle to run, a path or a name on PATH; empty for the tree's wrapper.
	Program string
	// JDK is what Gradle and its compilers run on.
	JDK toolchain.JDK
	// Scala is the binary version that core is built for.
	Scala string
	// JVMOptions are those of Gradle's own JVM, in place of the ones in gradle.properties.
	JVMOptions []string
	// Offline forbids Gradle to fetch anything.
	Offline bool
	// Limit ends a build that takes longer; 0 for none.
	Limit time.Duration
	// Log is the file that takes the whole output.
	Log string
	// Environ is the environment that Gradle gets, but for what would change its results.
	Environ []string
	// Progress is told what runs; nil for silence.
	Progress func(what string)
}

// GradleBuilt is what upstream's build gave.
type GradleBuilt struct {
	// Wrapper tells that the tree's own wrapper ran.
	Wrapper bool
	// Version is Gradle's, as it says itself; empty when it does not.
	Version string
	Tasks   []string
	// CommitID is what the build was told to write as the commit, see CommitID.
	CommitID string
	// Properties are commitId and version as the build wrote them into
	// kafka/kafka-version.properties, which goes into kafka-clients; nil when it wrote none.
	Properties map[string]string
	// Jars are the built jars by module.
	Jars map[string]string
	// Left counts processes that the build left running and that were ended.
	Left int
}

// GradleModules are the modules whose jar tasks are run at least.
func GradleModules() []string { return []string{"metadata", "storage", "core"} }

// CommitID is the commit id that a patched build gets: upstream's build takes it from the
// tree's git, or from this property, and cuts it after 16 characters (build.gradle,
// determineCommitId). Without it a patched build would claim the commit of the release.
func CommitID(hooksSHA256 string) string { return "patched-" + hooksSHA256[:8] }

// versionFile is where upstream's build writes commit and version, below the tree.
const versionFile = "clients/build/kafka/kafka-version.properties"

// Run builds the jars of modules in a whole, patched tree by upstream's own jar tasks. names
// gives the file name of each module's jar. When ctx ends, the time is over or the build
// fails, no process of the build is left; the error names the log.
func (g Gradle) Run(ctx context.Context, tree string, names map[string]string, commitID string) (b GradleBuilt, err error) {
	program, err := g.program(tree)
	if err != nil {
		return b, err
	}
	b = GradleBuilt{Wrapper: g.Program == "", CommitID: commitID, Jars: map[string]string{}}
	if err := os.MkdirAll(filepath.Dir(g.Log), 0o755); err != nil {
		return b, fmt.Errorf("log of Gradle: %w", err)
	}
	log, err := os.Create(g.Log)
	if err != nil {
		return b, fmt.Errorf("log of Gradle: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	p := newGradleProgress(g.Progress)
	defer p.end()
	deadline := time.Now().Add(g.Limit)
	run := func(args ...string) (toolchain.Result, error) {
		c := toolchain.Command{Path: program, Args: args, Dir: tree, Env: g.environ(), Descendants: true, Log: log, Line: p.line}
		if g.Limit > 0 {
			c.Timeout = max(time.Until(deadline), time.Nanosecond)
		}
		r, err := toolchain.Run(ctx, c)
		b.Left += r.Left
		return r, g.explain(r, err)
	}
	r, err := run("--no-daemon", "--version")
	if err != nil {
		return b, err
	}
	if m := gradleVersion.FindSubmatch(r.Stdout); m != nil {
		b.Version = string(m[1])
	}
	for module, name := range names {
		b.Tasks = append(b.Tasks, ":"+module+":jar")
		// A jar that lies there already would pass for one that was built.
		if err := os.RemoveAll(filepath.Join(tree, module, "build", "libs", name)); err != nil {
			return b, err
		}
	}
	slices.Sort(b.Tasks)
	if _, err := run(append(g.arguments(commitID), b.Tasks...)...); err != nil {
		return b, err
	}
	for module, name := range names {
		if b.Jars[module], err = builtJar(tree, module, name); err != nil {
			return b, err
		}
	}
	b.Properties, err = readVersionFile(filepath.Join(tree, filepath.FromSlash(versionFile)))
	return b, err
}

var gradleVersion = regexp.MustCompile(`(?m)^Gradle (\S+)\s*$`)

// program finds what to run.
func (g Gradle) program(tree string) (string, error) {
	if g.Program == "" {
		path, err := filepath.Abs(filepath.Join(tree, "gradlew"))
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", errors.New("the tree has no wrapper gradlew; name upstream's Gradle with --gradle")
		}
		if err == nil && info.Mode()&0o111 == 0 {
			return "", errors.New("the tree's wrapper gradlew may not be executed: chmod +x gradlew, or name upstream's Gradle with --gradle")
		}
		return path, err
	}
	// The tree is the working folder, so a path must not be relative.
	if filepath.Base(g.Program) != g.Program {
		return filepath.Abs(g.Program)
	}
	return g.Program, nil
}

// environ gives Gradle's environment: the pinned JDK, English messages, UTC, and nothing that
// changes what a JVM does behind its command line.
func (g Gradle) environ() []string {
	drop := []string{"JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "LC_ALL", "LANG", "LANGUAGE", "TZ"}
	env := slices.DeleteFunc(slices.Clone(g.Environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(drop, name)
	})
	return append(env, "JAVA_HOME="+g.JDK.Home, "LC_ALL=C.UTF-8", "TZ=UTC")
}

func (g Gradle) arguments(commitID string) []string {
	args := []string{"--no-daemon", "--console=plain", "-PscalaVersion=" + g.Scala, "-PcommitId=" + commitID}
	if g.Offline {
		args = append(args, "--offline")
	}
	if len(g.JVMOptions) > 0 {
		args = append(args, "-Dorg.gradle.jvmargs="+strings.Join(g.JVMOptions, " "))
	}
	return args
}

// explain adds the end of the output and the log's place to a failed run.
func (g Gradle) explain(r toolchain.Result, err error) error {
	if err == nil {
		return nil
	}
	var failed *toolchain.Failure
	switch {
	case g.Limit > 0 && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("upstream's build took longer than the limit of %s and was ended, its output is in %s: %w", g.Limit, g.Log, context.DeadlineExceeded)
	case !errors.As(err, &failed):
		return fmt.Errorf("%w; its output is in %s", err, g.Log)
	}
	text := r.Stderr
	if len(strings.TrimSpace(string(text))) == 0 {
		text = r.Stdout
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	const most = 15
	lines = lines[max(0, len(lines)-most):]
	return fmt.Errorf("%s ended with code %d; its output is in %s and ends with:\n  %s", filepath.Base(failed.Path), r.Code, g.Log, strings.Join(lines, "\n  "))
}

// builtJar finds the jar of a module.
func builtJar(tree, module, name string) (string, error) {
	libs := filepath.Join(tree, module, "build", "libs")
	path := filepath.Join(libs, name)
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a regular file, found %s", path, info.Mode().Type())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	found := "nothing"
	if entries, err := os.ReadDir(libs); err == nil && len(entries) > 0 {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		found = strings.Join(names, ", ")
	}
	return "", exit.With(exit.Refused, fmt.Errorf("Gradle ended well, but %s/build/libs has no %s, found %s; is the tree that of the release, with the version in its gradle.properties?", module, name, found))
}

// readVersionFile reads key=value lines; nil when there is no file.
func readVersionFile(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	v := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			v[key] = value
		}
	}
	return v, err
}
