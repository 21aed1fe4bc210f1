package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/anchor"
	"observer-patch/internal/bundle"
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
hold the bundle's jars against the release's: only the hooks may have changed.

With --kafka-home the jars of a Kafka installation are compared as well, by class content
where digests differ. With --whole each module is compiled whole and compared class by class.
With --signer the signature of SHA256SUMS is checked against --allowed-signers.`,
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
	if s.Tree, err = treeOf(env, s, tree, d.Internal.HooksSHA256); err != nil {
		return err
	}
	if err := prepare(ctx, env, &s, src, c); err != nil {
		return err
	}
	return work(s, tree)
}

func treeOf(env *Env, s bundle.Spec, tree *source.Tree, hooks string) (patch.Tree, error) {
	if !s.Foreign {
		catalog, err := anchor.ReadCatalog(env.Data)
		if err != nil {
			return patch.Tree{}, fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
		}
		p, err := patch.Make(tree.FS, catalog, s.Target)
		if err != nil {
			return patch.Tree{}, err
		}
		same, err := bundle.HooksAre(p.Tree, hooks)
		if err != nil {
			return patch.Tree{}, err
		}
		if p.Err() == nil && same {
			return p.Tree, nil
		}
		env.Log.Warn("the bundle's hooks are not those of this tool; working from the bundle's own diff", "target", s.Target.String())
	}
	t, err := patch.ApplyDiff(tree.FS, s.Diff)
	if err != nil {
		return patch.Tree{}, fmt.Errorf("%s: %w", bundle.DiffFile, err)
	}
	return t, nil
}
