package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
	"observer-patch/internal/sentinel"
	"observer-patch/internal/source"
)

func newAnchorsCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "anchors",
		Short: "Help with anchors that no longer match",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSuggestCommand(env))
	return cmd
}

type suggestFlags struct {
	sel         selection
	src         sourceFlags
	ref, format string
	hooks       []string
}

func newSuggestCommand(env *Env) *cobra.Command {
	var s suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest --version V | --ref REF",
		Short: "Show, for each broken anchor, what upstream changed around it and which anchors would match",
		Long: `For each anchor that does not match exactly once: what happened to it (moved, renamed,
duplicated, deleted, already upstream), judged beside the last release that has it; upstream's
change of the enclosing method since then; and anchors near the old place that match exactly
once, those that do so in every release first. Nothing is written.

The release may be one that versions.yaml does not have yet; --ref takes a branch or tag of
upstream's git.`,
		Example: `  observer-patch anchors suggest --version 4.4.0
  observer-patch anchors suggest --ref trunk --hook reassignment
  observer-patch anchors suggest --version 4.3.1 --source dir --dir TREE`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), env) },
	}
	f := cmd.Flags()
	s.sel.flags(f)
	s.src.flags(f)
	formatFlag(cmd, &s.format)
	f.StringVar(&s.ref, "ref", "", "a branch (trunk, 4.3) or tag of upstream's git, instead of --version")
	f.StringArrayVar(&s.hooks, "hook", nil, "only this hook; may be given several times")
	return cmd
}

func (s *suggestFlags) run(ctx context.Context, env *Env) (err error) {
	if err := checkFormat(s.format); err != nil {
		return err
	}
	if (s.ref == "") == (len(s.sel.versions) == 0) || len(s.sel.versions) > 1 {
		return exit.With(exit.Usage, errors.New("expected --version with one release, or --ref"))
	}
	u, err := newUpstream(env, s.src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	tree, targets, err := s.open(ctx, env, u)
	if err != nil {
		return err
	}
	if tree.Close != nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
	}
	seen := map[string]bool{}
	drifts := []sentinel.Drift{}
	var text strings.Builder
	for _, t := range targets {
		p, err := patch.Make(tree.FS, u.catalog, t)
		if err != nil {
			return err
		}
		for _, m := range p.Misses {
			if seen[m.Pos] || len(s.hooks) > 0 && !slices.Contains(s.hooks, m.Hook) {
				continue
			}
			seen[m.Pos] = true
			e, err := sentinel.Explain(ctx, u.matrix, u.catalog, u.known, tree.FS, t, m)
			if err != nil {
				return err
			}
			drifts = append(drifts, e.Drift())
			writeExplained(&text, e)
		}
	}
	return s.print(env, drifts, text.String(), targets)
}

// open gives the tree that the flags name, and the targets to make of it.
func (s *suggestFlags) open(ctx context.Context, env *Env, u *upstream) (*source.Tree, []release.Target, error) {
	if s.ref == "" {
		if targets, err := s.sel.targets(env); err == nil {
			tree, err := s.opened(ctx, env, u, targets[0].Release)
			return tree, targets, err
		}
	}
	n := sentinel.Newcomer{}
	switch {
	case s.ref != "":
		list, err := u.named(ctx, []string{s.ref})
		if err != nil {
			return nil, nil, err
		}
		n = list[0]
	case s.src.kind == "maven":
		n = sentinel.Newcomer{Name: s.sel.versions[0], Version: s.sel.versions[0], Published: true}
	default:
		n = sentinel.Newcomer{Name: s.sel.versions[0], Version: s.sel.versions[0], Tag: s.sel.versions[0]}
	}
	if n.Version != "" {
		if _, _, err := sentinel.Like(u.matrix, n); err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
	}
	tree, err := u.sources(ctx, &n)
	if s.src.kind == "dir" {
		tree, err = source.Dir(s.src.dir)
	}
	if err != nil {
		return nil, nil, err
	}
	as, _, err := sentinel.Like(u.matrix, n)
	if err != nil {
		return nil, nil, err
	}
	one := release.Matrix{Releases: []release.Release{as}}
	targets, err := one.Targets([]string{release.All}, s.sel.mode, s.sel.scala, s.sel.set)
	return tree, targets, err
}

func (s *suggestFlags) opened(ctx context.Context, env *Env, u *upstream, r release.Release) (*source.Tree, error) {
	if s.src.kind == "dir" {
		if s.src.dir == "" {
			return nil, exit.With(exit.Usage, errors.New("--source dir needs --dir"))
		}
		return source.Dir(s.src.dir)
	}
	return openOne(ctx, env, s.src, u.lock, r)
}

func (s *suggestFlags) print(env *Env, drifts []sentinel.Drift, text string, targets []release.Target) error {
	var out []byte
	var err error
	switch s.format {
	case "json":
		out, err = json.MarshalIndent(drifts, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.MarshalWithOptions(drifts, yaml.UseJSONMarshaler())
	default:
		if text == "" {
			text = fmt.Sprintf("every anchor of %s matches exactly once\n", targets[0].Release)
		}
		out = []byte(text)
	}
	if err != nil {
		return err
	}
	_, err = env.Out.Write(out)
	return err
}

// writeExplained writes a miss for people, with upstream's change.
func writeExplained(b *strings.Builder, e sentinel.Explained) {
	fmt.Fprintf(b, "%s\n", e.Miss.Error())
	if len(e.Elsewhere) > 0 {
		fmt.Fprintf(b, "perhaps now in %s\n", strings.Join(e.Elsewhere, ", "))
	}
	switch {
	case e.LastGood == "":
		b.WriteString("no release of the matrix has it: the anchor is new, or wrong\n")
	case e.Member != "":
		fmt.Fprintf(b, "last found in %s, in: %s\n", e.LastGood, e.Member)
	default:
		fmt.Fprintf(b, "last found in %s\n", e.LastGood)
	}
	if len(e.Diff) > 0 {
		fmt.Fprintf(b, "\n%s", e.Diff)
	} else if e.Member != "" {
		b.WriteString("nothing in it changed\n")
	}
	if len(e.Suggestions) > 0 {
		b.WriteString("\nanchors that match exactly once:\n")
		for _, s := range e.Suggestions {
			b.WriteString(e.YAML(s))
		}
	} else if e.LastGood != "" {
		b.WriteString("\nno anchor near the old place matches exactly once: read the change and choose another place, or say absent\n")
	}
	b.WriteString("\n")
}
