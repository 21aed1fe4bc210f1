package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"observer-patch/internal/anchor"
	"observer-patch/internal/exit"
	"observer-patch/internal/patch"
	"observer-patch/internal/source"
)

type applyFlags struct {
	sel     selection
	src     sourceFlags
	format  string
	out     string
	file    string
	reverse bool
	dryRun  bool
}

func newApplyCommand(env *Env) *cobra.Command {
	var a applyFlags
	cmd := &cobra.Command{
		Use:   "apply --version V | apply --patch FILE --dir TREE --out DIR",
		Short: "Write a patched source tree and its diff",
		Long: `Write a patched source tree and its diff: OUT/source and OUT/observer-patch.diff.

With --reverse, --dir names a patched tree, and OUT/source gets upstream's own files back.
With --patch, somebody else's diff goes onto the tree at --dir, strictly: each hunk where
it says or nothing at all. An output folder that has something in it is refused.`,
		Example: `  observer-patch apply --version 4.1.0 --out patched
  observer-patch apply --reverse --version 4.1.0 --dir patched/source --out own
  observer-patch apply --patch theirs.diff --dir TREE --out patched`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(a.format); err != nil {
				return err
			}
			if err := a.ignored(cmd.Flags()); err != nil {
				return err
			}
			rows, err := a.run(cmd.Context(), env)
			if len(rows) > 0 {
				if perr := printRows(env.Out, a.format, rows, writtenTable); err == nil {
					err = perr
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	a.sel.flags(f)
	a.src.flags(f)
	formatFlag(cmd, &a.format)
	f.StringVar(&a.out, "out", "", "output folder; default dist/<target>-source; with several targets the folder for them")
	f.StringVar(&a.file, "patch", "", "somebody else's unified diff, instead of our hooks")
	f.BoolVar(&a.reverse, "reverse", false, "take our hooks out of the patched tree at --dir")
	f.BoolVar(&a.dryRun, "dry-run", false, "write nothing, say what would be written")
	return cmd
}

// ignored refuses flags that --patch and --reverse would not look at.
func (a *applyFlags) ignored(f *pflag.FlagSet) error {
	which, no := "--reverse", []string{"git-url", "offline"}
	switch {
	case a.file != "":
		which, no = "--patch", append(no, "mode", "scala", "set")
	case !a.reverse:
		return nil
	}
	if f.Changed("source") && a.src.kind != "dir" {
		return exit.With(exit.Usage, fmt.Errorf("%s works on the tree at --dir; it does not go with --source %s", which, a.src.kind))
	}
	for _, name := range no {
		if f.Changed(name) {
			return exit.With(exit.Usage, fmt.Errorf("%s works on the tree at --dir; it does not go with --%s", which, name))
		}
	}
	return nil
}

func (a *applyFlags) run(ctx context.Context, env *Env) ([]written, error) {
	if a.file != "" || a.reverse {
		if a.src.dir == "" || a.out == "" && !a.dryRun {
			return nil, exit.With(exit.Usage, fmt.Errorf("--patch and --reverse work on the tree at --dir and write a new one to --out; expected both"))
		}
		a.src.kind = "dir"
	}
	if a.file == "" && !a.reverse {
		return a.hooks(ctx, env)
	}
	if a.file != "" && (a.reverse || len(a.sel.versions) > 0) {
		return nil, exit.With(exit.Usage, fmt.Errorf("--patch goes with neither --reverse nor --version; the file says everything"))
	}
	tree, err := source.Dir(a.src.dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	name, t, err := a.foreignOrReversed(env, tree)
	if err != nil {
		return nil, err
	}
	row, err := a.write(ctx, name, a.out, tree, t, nil)
	if err != nil {
		return nil, err
	}
	return []written{row}, nil
}

// foreignOrReversed gives the change that --patch or --reverse stands for, and its name.
func (a *applyFlags) foreignOrReversed(env *Env, tree *source.Tree) (string, patch.Tree, error) {
	if a.file != "" {
		text, err := os.ReadFile(a.file)
		if err != nil {
			return "", patch.Tree{}, err
		}
		t, err := patch.ApplyDiff(tree.FS, text)
		if err != nil {
			err = fmt.Errorf("%s: %w", a.file, err)
		}
		return filepath.Base(a.file), t, err
	}
	targets, err := a.sel.targets(env)
	if err != nil {
		return "", patch.Tree{}, err
	}
	if len(targets) != 1 {
		return "", patch.Tree{}, exit.With(exit.Usage, fmt.Errorf("--reverse works on one target, the flags choose %d", len(targets)))
	}
	catalog, err := anchor.ReadCatalog(env.Data)
	if err != nil {
		return "", patch.Tree{}, fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
	}
	t, err := patch.Unmake(tree.FS, catalog, targets[0])
	return targets[0].String(), t, err
}

// hooks applies our hooks to each target.
func (a *applyFlags) hooks(ctx context.Context, env *Env) ([]written, error) {
	targets, err := a.sel.targets(env)
	if err != nil {
		return nil, err
	}
	var rows []written
	var failed []error
	err = plans(ctx, env, &a.sel, &a.src, func(p *patch.Plan, tree *source.Tree) error {
		if err := p.Err(); err != nil {
			failed = append(failed, err)
			return nil
		}
		out := a.out
		switch name := p.Target.String() + "-source"; {
		case out == "":
			out = filepath.Join("dist", name)
		case len(targets) > 1:
			out = filepath.Join(out, name)
		}
		diff, err := diffText(env, p)
		if err != nil {
			return err
		}
		if !tree.Whole {
			env.Log.Warn("partial tree: it has what the sources jars hold; upstream's Gradle build cannot run in it", "target", p.Target.String(), "source", tree.Origin)
		}
		if len(tree.LeftOut) > 0 {
			env.Log.Warn("left out, because they are no regular files", "paths", tree.LeftOut)
		}
		row, err := a.write(ctx, p.Target.String(), out, tree, p.Tree, diff)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return rows, err
	}
	return rows, joined(failed)
}

func (a *applyFlags) write(ctx context.Context, name, out string, tree *source.Tree, t patch.Tree, diff []byte) (written, error) {
	row := written{Target: name, Whole: tree.Whole, Summary: t.Summary()}
	if a.dryRun {
		return row, nil
	}
	row.Out = out
	return row, patch.InNewDir(ctx, out, func(tmp string) error {
		if diff != nil {
			if err := os.WriteFile(filepath.Join(tmp, "observer-patch.diff"), diff, 0o644); err != nil {
				return err
			}
		}
		return t.Write(ctx, tree.FS, filepath.Join(tmp, "source"))
	})
}
