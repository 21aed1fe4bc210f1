package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"observer-patch/internal/anchor"
	"observer-patch/internal/build"
	"observer-patch/internal/bundle"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
	"observer-patch/internal/toolchain"
)

// compilerFlags choose what compiles.
type compilerFlags struct {
	jdk    string
	anyJDK bool
}

func (c *compilerFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&c.jdk, "jdk", "", "folder of the JDK; default: the pinned version in JAVA_HOME, on PATH or in the usual folders")
	f.BoolVar(&c.anyJDK, "any-jdk", false, "accept a --jdk of another version than the pinned one; recorded in the provenance")
}

type buildFlags struct {
	sel      selection
	src      sourceFlags
	compiler compilerFlags
	gradle   gradleFlags
	format   string
	out      string
	file     string
	sign     string
	noProof  bool
	dryRun   bool
	lockTo   string
}

// built is one line of build's output.
type built struct {
	Target string       `json:"target"`
	Out    string       `json:"out,omitempty"`
	Jars   []bundle.Jar `json:"jars"`
	// Proof is the weakest likeness of the unpatched rebuild, or "skipped".
	Proof string `json:"proof"`
	JDK   string `json:"jdk"`
	patch.Summary
}

func newBuildCommand(env *Env) *cobra.Command {
	var b buildFlags
	cmd := &cobra.Command{
		Use:   "build --version V",
		Short: "Compile the hooked files and write a bundle of changed jars, proven against the release",
		Long: `Compile the hooked files with the release's own jars and the pinned compilers, put their
classes into copies of the release's jars, prove that nothing else changed, and write
OUT/<target>/ with jars, diff, notices, parts list, provenance, proof and SHA256SUMS.

With --patch, somebody else's diff goes through the same build; its hunks are the owners.
With --backend gradle the jars are made by upstream's own jar tasks, run on the whole patched
tree, and the same proof judges them; the bundle is OUT/<target>-gradle/. It needs upstream's
Gradle version, which the tree's wrapper fetches.
A proof that does not hold, or a result that differs from outputs.lock, is exit code 4.`,
		Example: `  observer-patch build --version 4.1.0
  observer-patch build --version '>=3.7,<4' --scala all --sign release_key
  observer-patch build --version 4.1.0 --patch theirs.diff
  observer-patch build --version 4.1.0 --backend gradle --source git --gradle-jvm -Xmx4g`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(b.format); err != nil {
				return err
			}
			if err := b.gradle.complete(env, cmd.Flags(), &b); err != nil {
				return err
			}
			rows, err := b.run(cmd.Context(), env)
			if len(rows) > 0 {
				if perr := printRows(env.Out, b.format, rows, builtTable); err == nil {
					err = perr
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	b.sel.flags(f)
	b.src.flags(f)
	b.compiler.flags(f)
	b.gradle.flags(f)
	formatFlag(cmd, &b.format)
	f.StringVar(&b.out, "out", "dist", "folder for the bundles, <target>/ each")
	f.StringVar(&b.file, "patch", "", "somebody else's unified diff, instead of our hooks; the bundle is OUT/<release>-<mode>-patch/")
	f.StringVar(&b.sign, "sign", "", "sign SHA256SUMS with this ssh key")
	f.BoolVar(&b.noProof, "no-proof", false, "skip the proof; said in the bundle and in its provenance")
	f.BoolVar(&b.dryRun, "dry-run", false, "locate hooks and say what would be built, compile and write nothing")
	f.StringVar(&b.lockTo, "update-outputs-lock", "", "write the digests of the results into this file (outputs.lock) instead of comparing")
	return cmd
}

func (b *buildFlags) run(ctx context.Context, env *Env) ([]built, error) {
	rows := []built{}
	outputs, err := bundle.ReadOutputs(env.Data)
	if err != nil {
		return nil, err
	}
	if b.lockTo != "" {
		if outputs, err = bundle.ReadOutputs(os.DirFS(filepath.Dir(b.lockTo))); err != nil {
			return nil, err
		}
	}
	var failed []error
	err = plans(ctx, env, &b.sel, &b.src, func(p *patch.Plan, tree *source.Tree) error {
		s, name, err := b.spec(ctx, env, p, tree)
		if err != nil {
			failed = append(failed, err)
			return nil
		}
		row := built{Target: name, Summary: s.Tree.Summary(), JDK: s.JDK.Version, Proof: "skipped"}
		if b.dryRun {
			rows = append(rows, row)
			return nil
		}
		if b.lockTo == "" {
			s.Outputs = outputs
		}
		b.gradle.into(env, &s, &b.src, b.out, name)
		s.Waiting = func(dir string) { env.Log.Info("waiting for another build of this folder", "out", dir) }
		dir := filepath.Join(b.out, name)
		made, err := bundle.Make(ctx, s, dir)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, hinted(env, p, err)))
			return nil
		}
		if b.lockTo != "" && !s.Foreign {
			// Written after each target: an interrupted matrix keeps what it has found.
			outputs.Targets[name] = made.Locked
			if err := outputs.Write(b.lockTo); err != nil {
				return err
			}
		}
		row.Out, row.Jars = dir, made.Jars
		if made.Verdict != nil {
			row.Proof = made.Verdict.Level.String()
		} else {
			env.Log.Warn("the proof was skipped", "target", name)
		}
		b.gradle.report(env, name, made)
		rows = append(rows, row)
		return ctx.Err()
	})
	if err != nil {
		return rows, err
	}
	return rows, joined(failed)
}

// spec gathers what a target's bundle is made from.
func (b *buildFlags) spec(ctx context.Context, env *Env, p *patch.Plan, tree *source.Tree) (bundle.Spec, string, error) {
	s := bundle.Spec{Target: p.Target, Tree: p.Tree, Origin: tree.Origin, Upstream: tree.FS, NoProof: b.noProof, Tool: env.Version, SignKey: b.sign, Getenv: os.Getenv,
		Progress: func(what string) { env.Log.Debug(what, "target", p.Target.String()) }}
	name := p.Target.String()
	if b.file != "" {
		text, err := os.ReadFile(b.file)
		if err != nil {
			return s, "", err
		}
		if s.Tree, err = patch.ApplyDiff(tree.FS, text); err != nil {
			return s, "", fmt.Errorf("%s: %w", b.file, err)
		}
		// A foreign patch belongs to no set of ours; the name says so.
		s.Foreign, s.Diff, s.Target.Set = true, text, release.Full
		name = s.Target.String() + "-patch"
	} else {
		if err := p.Err(); err != nil {
			return s, "", err
		}
		text, err := diffText(env, p)
		if err != nil {
			return s, "", err
		}
		s.Diff = text
	}
	if b.gradle.backend == bundle.WholeBuild {
		name += "-gradle"
	}
	return s, name, prepare(ctx, env, &s, &b.src, &b.compiler)
}

// prepare brings artifacts and JDK into a spec.
func prepare(ctx context.Context, env *Env, s *bundle.Spec, src *sourceFlags, c *compilerFlags) error {
	lock, err := readLock(env)
	if err != nil {
		return err
	}
	return prepareLocked(ctx, env, lock, s, src, c)
}

// prepareLocked is prepare with a lock that may not be the tool's own.
func prepareLocked(ctx context.Context, env *Env, lock *release.Lock, s *bundle.Spec, src *sourceFlags, c *compilerFlags) (err error) {
	version := s.Target.Release.String()
	locked := lock.Releases[version]
	if locked == nil {
		return fmt.Errorf("release %s is not in versions.lock; 'observer-patch lock --version %s' adds it", version, version)
	}
	if s.JDK, err = toolchain.FindJDK(toolchain.Want{Major: locked.Javac, Home: c.jdk, AnyVersion: c.anyJDK}, os.Getenv); err != nil {
		return err
	}
	if !s.JDK.Pinned {
		env.Log.Warn("compiling with another JDK than the pinned one", "jdk", s.JDK.Version, "pinned", locked.Javac)
	}
	resolver, err := newResolver(env, src.offline)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resolver.Cache.Close()) }()
	s.CacheDir = resolver.Cache.Root()
	s.Inputs.Scala = locked.Scalac[s.Target.Scala]
	get := func(use string, to *[]maven.Artifact) {
		if err != nil {
			return
		}
		var list []release.LockedArtifact
		if list, err = lock.Artifacts(version, use); err == nil {
			*to, err = resolver.Resolve(ctx, list)
		}
	}
	get("classpath/"+s.Target.Scala, &s.Inputs.Classpath)
	get("scalac/"+s.Target.Scala, &s.Inputs.Scalac)
	if src.kind == "maven" {
		get("source", &s.Sources)
	}
	return err
}

// hinted adds to compiler messages where the hook's own text is kept.
func hinted(env *Env, p *patch.Plan, err error) error {
	var noisy *build.Noisy
	if !errors.As(err, &noisy) {
		return err
	}
	for i, n := range noisy.News {
		for _, l := range p.Located {
			if l.Hook == n.Owner && l.Path == n.Path {
				noisy.News[i].Hint = bodyFile(env.Data, l)
			}
		}
	}
	return err
}

// bodyFile finds the file below patches/ that has a hook's body.
func bodyFile(data fs.FS, l anchor.Located) string {
	found := ""
	_ = fs.WalkDir(data, "patches", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || found != "" {
			return err
		}
		text, err := fs.ReadFile(data, path)
		if err == nil && strings.TrimRight(string(text), "\n") == l.Body {
			found = path
		}
		return err
	})
	return found
}

func builtTable(w table.Writer, rows []built) {
	w.AppendHeader(table.Row{"target", "jar", "replaced", "added", "removed", "proof", "sha256", "out"})
	for _, r := range rows {
		if len(r.Jars) == 0 {
			w.AppendRow(table.Row{r.Target, "-", 0, 0, 0, r.Proof, "", r.Out})
		}
		for _, j := range r.Jars {
			w.AppendRow(table.Row{r.Target, j.Name, len(j.Replaced), len(j.Added), len(j.Removed), r.Proof, j.SHA256[:16], r.Out})
		}
	}
}
