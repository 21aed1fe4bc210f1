package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/source"
)

// selection are the flags that choose targets: --version, --mode, --scala, --set.
type selection struct {
	versions         []string
	mode, scala, set string
}

func (s *selection) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.versions, "version", nil, "release (4.1.0), semver range (\">=3.6.2 <4.2\") or all; may be given several times")
	f.StringVar(&s.mode, "mode", "", "zk, kraft, both or all; default: the release's first")
	f.StringVar(&s.scala, "scala", "", "2.12, 2.13 or all; default: the release's first")
	f.StringVar(&s.set, "set", string(release.DefaultSet), "hook set: base, full or all")
}

// targets gives what the flags choose, in the order of the matrix.
func (s *selection) targets(env *Env) ([]release.Target, error) {
	m, err := readMatrix(env)
	if err != nil {
		return nil, err
	}
	return m.Targets(s.versions, s.mode, s.scala, s.set)
}

// sourceFlags are the flags that say where upstream's files come from.
type sourceFlags struct {
	kind, gitURL, dir string
	offline           bool
}

// defaultGitURL is where upstream is developed.
const defaultGitURL = "https://github.com/apache/kafka.git"

func (s *sourceFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&s.kind, "source", "maven", "maven (published sources jars), git or dir")
	f.StringVar(&s.gitURL, "git-url", defaultGitURL, "upstream's repository, any URL or path; with --source git")
	f.StringVar(&s.dir, "dir", "", "upstream's source tree; with --source dir")
	f.BoolVar(&s.offline, "offline", false, "use only what is in the cache and the local Maven repository")
}

// opener gives upstream's trees, one for each release, and remembers the last.
type opener struct {
	flags    *sourceFlags
	env      *Env
	lock     *release.Lock
	resolver *maven.Resolver

	last    string
	current *source.Tree
}

// opener checks the flags. The caller closes it.
func (s *sourceFlags) opener(env *Env) (*opener, error) {
	o := &opener{flags: s, env: env}
	switch s.kind {
	case "dir":
		if s.dir == "" {
			return nil, exit.With(exit.Usage, fmt.Errorf("--source dir needs --dir"))
		}
		return o, nil
	case "maven", "git":
		if s.dir != "" {
			return nil, exit.With(exit.Usage, fmt.Errorf("--dir goes with --source dir, found --source %s", s.kind))
		}
	default:
		return nil, exit.With(exit.Usage, fmt.Errorf("--source %q: expected maven, git or dir", s.kind))
	}
	lock, err := readLock(env)
	if err != nil {
		return nil, err
	}
	o.lock = lock
	o.resolver, err = newResolver(env, s.offline)
	return o, err
}

// Close ends the use of the cache and of the last tree.
func (o *opener) Close() error {
	err := o.drop()
	if o.resolver != nil {
		err = errors.Join(err, o.resolver.Cache.Close())
	}
	return err
}

func (o *opener) drop() error {
	if o.current == nil || o.current.Close == nil {
		return nil
	}
	t := o.current
	o.current, o.last = nil, ""
	return t.Close()
}

// open gives the tree of a release. It stays open until the next call or Close.
func (o *opener) open(ctx context.Context, r release.Release) (*source.Tree, error) {
	if o.current != nil && o.last == r.String() {
		return o.current, nil
	}
	if err := o.drop(); err != nil {
		return nil, err
	}
	t, err := o.tree(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("source of %s: %w", r, err)
	}
	o.last, o.current = r.String(), t
	return t, nil
}

func (o *opener) tree(ctx context.Context, r release.Release) (*source.Tree, error) {
	switch o.flags.kind {
	case "dir":
		return source.Dir(o.flags.dir)
	case "git":
		spec := source.GitSpec{URL: o.flags.gitURL, Tag: r.Tag, Cache: o.resolver.Cache.Root(), Offline: o.flags.offline, Progress: progress(o.env.Err)}
		if l := o.lock.Releases[r.String()]; l != nil {
			spec.Commit = l.Commit
			if spec.Commit == "" {
				spec.Commit = l.CommitPrefix
			}
		}
		return source.Git(ctx, spec)
	}
	locked, err := o.lock.Artifacts(r.String(), "source")
	if err != nil {
		return nil, err
	}
	jars, err := o.resolver.Resolve(ctx, locked)
	if err != nil {
		return nil, err
	}
	return source.Maven(jars)
}

// plans makes the plan of each target and hands it on with the tree it was made from.
func plans(ctx context.Context, env *Env, sel *selection, src *sourceFlags, each func(*patch.Plan, *source.Tree) error) (err error) {
	targets, err := sel.targets(env)
	if err != nil {
		return err
	}
	catalog, err := anchor.ReadCatalog(env.Data)
	if err != nil {
		return fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
	}
	if src.kind == "dir" {
		if rs := releases(targets); len(rs) > 1 {
			return exit.With(exit.Usage, fmt.Errorf("--source dir is one release's tree, --version chooses %s; expected one version", strings.Join(rs, ", ")))
		}
	}
	o, err := src.opener(env)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := o.Close(); err == nil {
			err = cerr
		}
	}()
	for _, t := range targets {
		if err := ctx.Err(); err != nil {
			return err
		}
		tree, err := o.open(ctx, t.Release)
		if err != nil {
			return err
		}
		plan, err := patch.Make(tree.FS, catalog, t)
		if err != nil {
			return err
		}
		if err := each(plan, tree); err != nil {
			return err
		}
	}
	return nil
}

func releases(targets []release.Target) []string {
	var out []string
	for _, t := range targets {
		if v := t.Release.String(); len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}

func readMatrix(env *Env) (*release.Matrix, error) {
	text, err := fs.ReadFile(env.Data, "versions.yaml")
	if err != nil {
		return nil, err
	}
	return release.ReadMatrix(text, "versions.yaml")
}

func readLock(env *Env) (*release.Lock, error) {
	text, err := fs.ReadFile(env.Data, "versions.lock")
	if err != nil {
		return nil, err
	}
	return release.ReadLock(text, "versions.lock")
}
