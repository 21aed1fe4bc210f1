package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/anchor"
	"observer-patch/internal/bundle"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/source"
)

// checked is one line of verify's and rebuild's output.
type checked struct {
	Bundle string `json:"bundle"`
	Check  string `json:"check"`
	Result string `json:"result"`
}

func checkedTable(w table.Writer, rows []checked) {
	w.AppendHeader(table.Row{"bundle", "check", "result"})
	for _, r := range rows {
		w.AppendRow(table.Row{r.Bundle, r.Check, r.Result})
	}
}

type verifyFlags struct {
	src      sourceFlags
	compiler compilerFlags
	format   string
	home     string
	whole    bool
	sig      signatureFlags
}

func newVerifyCommand(env *Env) *cobra.Command {
	var v verifyFlags
	cmd := &cobra.Command{
		Use:   "verify DIST",
		Short: "Prove a bundle again, from the release's jars and sources",
		Long: `Check SHA256SUMS, compile the files of the bundle's patch again with and without it, and
hold the bundle's jars against the release's: only the hooks may have changed. Every document
is written again from target, jars and proof, and has to be the bundle's to the byte.

With --kafka-home the jars of a Kafka installation are compared as well, by class content
where digests differ. With --whole each module is compiled whole and compared class by class.
With --signer the signature of SHA256SUMS is checked against --allowed-signers.`,
		Example: `  observer-patch verify dist/4.1.0-kraft
  observer-patch verify dist/4.1.0-kraft --signer release@example.org --allowed-signers signers --kafka-home /opt/kafka`,
		Args: oneArgument("a bundle's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(v.format); err != nil {
				return err
			}
			rows, err := v.run(cmd.Context(), env, args[0])
			if perr := printRows(env.Out, v.format, rows, checkedTable); err == nil {
				err = perr
			}
			return err
		},
	}
	f := cmd.Flags()
	v.src.flags(f)
	v.compiler.flags(f)
	formatFlag(cmd, &v.format)
	f.StringVar(&v.home, "kafka-home", "", "compare the jars in this Kafka home's libs folder too")
	f.BoolVar(&v.whole, "whole", false, "compile whole modules and compare class by class (minutes)")
	v.sig.flags(f)
	return cmd
}

func (v *verifyFlags) run(ctx context.Context, env *Env, dir string) ([]checked, error) {
	rows := []checked{}
	say := func(check, result string) { rows = append(rows, checked{dir, check, result}) }
	if err := v.sig.complete(); err != nil {
		return rows, err
	}
	if err := v.sig.check(ctx, dir); err != nil {
		return rows, err
	}
	if v.sig.signer != "" {
		say("signature", "signed by "+v.sig.signer)
	}
	return rows, withBundle(ctx, env, dir, &v.src, &v.compiler, func(s bundle.Spec, tree *source.Tree) error {
		say("SHA256SUMS", "match")
		verdict, err := bundle.Verify(ctx, s, dir)
		if err != nil {
			return err
		}
		say("proof", verdict.Level.String())
		if s.Recovered {
			say("documents", "as this tool writes them; CHANGES.md and PROOF.md were not compared, as they name hooks of another version of the tool")
		} else {
			say("documents", "as this tool writes them")
		}
		if v.home != "" {
			list, err := bundle.CompareHome(s, dir, v.home)
			for _, j := range list {
				say(filepath.Join(v.home, "libs", j.Name), j.Is)
			}
			if err != nil {
				return err
			}
		}
		if v.whole {
			n, err := bundle.Whole(ctx, s, tree.FS, dir)
			if err != nil {
				return err
			}
			say("whole modules", fmt.Sprintf("%d classes agree", n))
		}
		return nil
	})
}

// withBundle reads a bundle and gathers what it was made from: the hooks of this tool when
// they are those of the bundle, else the bundle's own diff with its hunks as owners.
func withBundle(ctx context.Context, env *Env, dir string, src *sourceFlags, c *compilerFlags, work func(bundle.Spec, *source.Tree) error) (err error) {
	statement, err := bundle.Read(dir)
	if err != nil {
		return err
	}
	d := statement.Predicate.BuildDefinition
	m, err := readMatrix(env)
	if err != nil {
		return err
	}
	set := d.External.Set
	t, err := m.Target(d.External.Release, d.External.Mode, d.External.Scala, set)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, bundle.DiffFile))
	if err != nil {
		return err
	}
	o, err := src.opener(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	tree, err := o.open(ctx, t.Release)
	if err != nil {
		return err
	}
	s := bundle.Spec{Target: t, Foreign: d.External.Patch != "", Diff: text, Origin: tree.Origin, Upstream: tree.FS, NoProof: d.External.Proof == "skipped", Backend: d.Internal.Backend,
		Tool: statement.Tool(), Getenv: os.Getenv, Progress: func(what string) { env.Log.Debug(what, "bundle", dir) }}
	s.Verifier = env.Version
	if s.Tree, s.Recovered, err = treeOf(env, s, tree, d.Internal.HooksSHA256); err != nil {
		return err
	}
	if err := prepare(ctx, env, &s, src, c); err != nil {
		return err
	}
	if s.Sources, err = sourcesOf(env, s, d.ResolvedDependencies); err != nil {
		return err
	}
	return work(s, tree)
}

// sourcesOf gives the locked sources jars of a release when a bundle says that it was made from
// those; it may be verified from git all the same. They are named only, not fetched.
func sourcesOf(env *Env, s bundle.Spec, dependencies []bundle.Resource) ([]maven.Artifact, error) {
	if !slices.ContainsFunc(dependencies, func(r bundle.Resource) bool { return strings.Contains(r.URI, "classifier=sources") }) {
		return nil, nil
	}
	lock, err := readLock(env)
	if err != nil {
		return nil, err
	}
	locked, err := lock.Artifacts(s.Target.Release.String(), "source")
	if err != nil {
		return nil, err
	}
	var list []maven.Artifact
	for _, a := range locked {
		list = append(list, maven.Artifact{Coordinates: a.Coordinates, SHA256: a.SHA256})
	}
	return list, nil
}

// treeOf gives the patch of a bundle, and whether it had to be taken from the bundle's diff
// though hooks of ours made it.
func treeOf(env *Env, s bundle.Spec, tree *source.Tree, hooks string) (t patch.Tree, recovered bool, err error) {
	if !s.Foreign {
		catalog, err := anchor.ReadCatalog(env.Data)
		if err != nil {
			return patch.Tree{}, false, fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
		}
		p, err := patch.Make(tree.FS, catalog, s.Target)
		if err != nil {
			return patch.Tree{}, false, err
		}
		same, err := bundle.HooksAre(p.Tree, hooks)
		if err != nil {
			return patch.Tree{}, false, err
		}
		if p.Err() == nil && same {
			return p.Tree, false, nil
		}
		env.Log.Warn("the bundle's hooks are not those of this tool; working from the bundle's own diff", "target", s.Target.String())
	}
	t, err = patch.ApplyDiff(tree.FS, s.Diff)
	if err != nil {
		return patch.Tree{}, false, fmt.Errorf("%s: %w", bundle.DiffFile, err)
	}
	return t, !s.Foreign, nil
}
