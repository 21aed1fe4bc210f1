package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"observer-patch/internal/anchor"
	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/release"
	"observer-patch/internal/sentinel"
	"observer-patch/internal/source"
)

type discoverFlags struct {
	sentinelFlags
	from, refs, only []string
}

func newDiscoverCommand(env *Env) *cobra.Command {
	var d discoverFlags
	cmd := &cobra.Command{
		Use:   "discover",
		Short: "Try upstream's new releases, and branches, with the newest rules",
		Long: `Ask upstream's git for tags and Maven for published versions that versions.yaml does not
have, and try each with the newest hooks: 'would work as is', 'anchors moved: …', or
'needs work: …', with the entry for versions.yaml and, when it is built, the lines for
versions.lock. With --ref a branch is tried instead, before there is a release.

A release without published sources jars is taken from git. A branch cannot be built, since
there are no jars to compile against. Exit codes as for sentinel; what cannot be tried is 1.`,
		Example: `  observer-patch sentinel discover
  observer-patch sentinel discover --from maven --only 4.4.0 --steps build,proof
  observer-patch sentinel discover --ref trunk --ref 4.3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), env) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&d.from, "from", []string{"git", "maven"}, "where to look: git, maven")
	f.StringArrayVar(&d.refs, "ref", nil, "try this branch (trunk, 4.3) or tag, instead of looking for new releases; may be given several times")
	f.StringArrayVar(&d.only, "only", nil, "of what is found, try only this version; may be given several times")
	f.StringVar(&d.src.gitURL, "git-url", defaultGitURL, "upstream's repository, any URL or path")
	f.BoolVar(&d.src.offline, "offline", false, "use only what is in the cache; nothing new can be found then")
	d.src.kind = "maven"
	d.flags(f, []string{"check", "generate"})
	return cmd
}

func (d *discoverFlags) run(ctx context.Context, env *Env) (err error) {
	steps, err := d.check()
	if err != nil {
		return err
	}
	for _, f := range d.from {
		if f != "git" && f != "maven" {
			return exit.With(exit.Usage, fmt.Errorf("--from %q: expected git, maven or both", f))
		}
	}
	base, err := d.readBaseline()
	if err != nil {
		return err
	}
	u, err := newUpstream(env, d.src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	r := sentinel.Report{Tool: env.Version, Generation: release.Generation, Started: now(), Steps: steps}
	if r.Newcomers, err = u.newcomers(ctx, d.from, d.refs); err != nil {
		return err
	}
	if len(d.only) > 0 {
		r.Newcomers = slices.DeleteFunc(r.Newcomers, func(n sentinel.Newcomer) bool { return !slices.Contains(d.only, n.Version) })
	}
	scout := &sentinel.Scout{Matrix: u.matrix, Catalog: u.catalog, Known: u.known, New: u.sources,
		Checker: func(ctx context.Context, n *sentinel.Newcomer, as release.Release, tree *source.Tree) (*sentinel.Checker, []string, error) {
			return d.newChecker(ctx, env, u, steps, n, as, tree)
		}}
	for i := range r.Newcomers {
		n := &r.Newcomers[i]
		if err := scout.Try(ctx, n); err != nil {
			return err
		}
		env.Log.Info("tried", "newcomer", n.Name, "verdict", n.Verdict)
	}
	if err := d.report(env, &r, base); err != nil {
		return err
	}
	if len(r.Newcomers) == 0 {
		env.Log.Info("upstream has nothing that versions.yaml does not have")
	}
	return r.Err()
}

// newChecker takes a newcomer through the steps. Without published jars nothing can be compiled.
func (d *discoverFlags) newChecker(ctx context.Context, env *Env, u *upstream, steps []sentinel.Step, n *sentinel.Newcomer, as release.Release, tree *source.Tree) (*sentinel.Checker, []string, error) {
	c, err := d.checker(env, steps)
	if err != nil {
		return nil, nil, err
	}
	c.Outputs = bundle.Outputs{}
	c.Open = func(context.Context, release.Release) (*source.Tree, error) {
		open := *tree
		open.Close = nil // the scout closes it
		return &open, nil
	}
	if !slices.Contains(steps, sentinel.Build) {
		return c, nil, nil
	}
	if !n.Published {
		c.Steps = []sentinel.Step{sentinel.Source, sentinel.Check, sentinel.Generate}
		return c, nil, nil
	}
	lock, err := readLock(env)
	if err != nil {
		return nil, nil, err
	}
	before := lock.Format()
	if err := u.resolver.Relock(ctx, []release.Release{as}, lock); err != nil {
		return nil, nil, err
	}
	after := lock.Format()
	n.LockFile = filepath.Join("newcomers", n.Version+".lock")
	if err := os.MkdirAll(filepath.Join(d.out, "newcomers"), 0o755); err != nil {
		return nil, nil, err
	}
	if err := renameio.WriteFile(filepath.Join(d.out, n.LockFile), after, 0o644); err != nil {
		return nil, nil, err
	}
	c.Prepare = func(ctx context.Context, spec *bundle.Spec) error {
		return prepareLocked(ctx, env, lock, spec, &d.src, &d.compiler)
	}
	return c, added(before, after), nil
}

// added gives the lines that only the second text has.
func added(before, after []byte) []string {
	had := map[string]int{}
	for line := range bytes.Lines(before) {
		had[string(line)]++
	}
	var out []string
	for line := range bytes.Lines(after) {
		if had[string(line)]--; had[string(line)] < 0 {
			out = append(out, string(line))
		}
	}
	return out
}

// upstream is where new releases and branches come from.
type upstream struct {
	env      *Env
	src      sourceFlags
	matrix   *release.Matrix
	catalog  *anchor.Catalog
	lock     *release.Lock
	resolver *maven.Resolver
}

// newUpstream gathers what is needed; the caller closes it.
func newUpstream(env *Env, src sourceFlags) (*upstream, error) {
	u := &upstream{env: env, src: src}
	var err error
	if u.matrix, err = readMatrix(env); err != nil {
		return nil, err
	}
	if u.catalog, err = anchor.ReadCatalog(env.Data); err != nil {
		return nil, fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
	}
	if u.lock, err = readLock(env); err != nil {
		return nil, err
	}
	u.resolver, err = newResolver(env, src.offline)
	return u, err
}

// Close ends the use of the cache.
func (u *upstream) Close() error { return u.resolver.Cache.Close() }

// newcomers gives the named refs, or what git and Maven have and the matrix has not.
func (u *upstream) newcomers(ctx context.Context, from, refs []string) ([]sentinel.Newcomer, error) {
	if len(refs) > 0 {
		return u.named(ctx, refs)
	}
	var tags, published []sentinel.Newcomer
	if slices.Contains(from, "git") {
		list, err := source.ListRefs(ctx, u.src.gitURL)
		if err != nil {
			return nil, err
		}
		tags = sentinel.NewTags(u.matrix, list.Tags)
	}
	if slices.Contains(from, "maven") {
		versions, err := u.resolver.Published(ctx, u.matrix.Releases[len(u.matrix.Releases)-1].String())
		if err != nil {
			return nil, err
		}
		published = sentinel.NewVersions(u.matrix, versions)
	}
	return sentinel.Merge(tags, published), nil
}

func (u *upstream) named(ctx context.Context, refs []string) ([]sentinel.Newcomer, error) {
	list, err := source.ListRefs(ctx, u.src.gitURL)
	if err != nil {
		return nil, err
	}
	var out []sentinel.Newcomer
	for _, ref := range refs {
		n := sentinel.Newcomer{Name: ref}
		if commit, ok := list.Branches[ref]; ok {
			n.Branch, n.Commit = ref, commit
		} else if commit, ok := list.Tags[ref]; ok {
			n.Tag, n.Commit = ref, commit
		} else {
			return nil, exit.With(exit.Usage, fmt.Errorf("--ref %q: %s has %d branches and %d tags, none of that name", ref, u.src.gitURL, len(list.Branches), len(list.Tags)))
		}
		out = append(out, n)
	}
	return out, nil
}

// known gives the sources of a release of the matrix.
func (u *upstream) known(ctx context.Context, r release.Release) (*source.Tree, error) {
	kind := "maven"
	if !slices.Contains(r.Sources, kind) {
		kind = "git"
	}
	return openOne(ctx, u.env, sourceFlags{kind: kind, gitURL: u.src.gitURL, offline: u.src.offline}, u.lock, r)
}

// sources gives a newcomer's tree: the published sources, else git's.
func (u *upstream) sources(ctx context.Context, n *sentinel.Newcomer) (*source.Tree, error) {
	var missing error
	if n.Published {
		as, _, err := sentinel.Like(u.matrix, *n)
		if err != nil {
			return nil, err
		}
		jars, err := u.resolver.NewSources(ctx, as)
		if err == nil {
			return source.Maven(jars)
		}
		missing = fmt.Errorf("sources of %s are not published: %w", n.Version, err)
		n.GitOnly = true
		if n.Tag == "" {
			n.Tag = n.Version
		}
	}
	tree, err := source.Git(ctx, source.GitSpec{URL: u.src.gitURL, Tag: n.Tag, Branch: n.Branch, Commit: n.Commit, Cache: u.resolver.Cache.Root(), Offline: u.src.offline, Progress: progress(u.env.Err)})
	if err != nil {
		if missing != nil {
			return nil, fmt.Errorf("%w; and %w", missing, err)
		}
		return nil, err
	}
	n.Commit = tree.Commit
	if n.Version == "" {
		if n.Version, err = sentinel.VersionOf(tree.FS); err != nil {
			return nil, err
		}
	}
	if n.Tag != "" && strings.TrimPrefix(n.Tag, "v") != n.Version && !strings.Contains(n.Tag, "-rc") {
		u.env.Log.Warn("the tag's name is not the version that its files have", "tag", n.Tag, "version", n.Version)
	}
	return tree, nil
}
