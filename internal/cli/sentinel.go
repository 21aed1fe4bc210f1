package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"observer-patch/internal/anchor"
	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
	"observer-patch/internal/sentinel"
	"observer-patch/internal/source"
)

// sentinelFlags are what the sentinel and its discovery have in common.
type sentinelFlags struct {
	src      sourceFlags
	compiler compilerFlags
	steps    []string
	out      string
	baseline string
	format   string
}

func (s *sentinelFlags) flags(f *pflag.FlagSet, steps []string) {
	f.StringSliceVar(&s.steps, "steps", steps, "what is done with each target, with what it needs: check, generate, build, proof, outputs, whole")
	f.StringVar(&s.out, "out", filepath.Join("dist", "sentinel"), "folder for report.json, report.md, junit.xml and report.sarif")
	f.StringVar(&s.baseline, "baseline", "", "report.json of an earlier run: say what changed since")
	f.StringVarP(&s.format, "output", "o", "table", "table, json or yaml")
	s.compiler.flags(f)
}

func newSentinelCommand(env *Env) *cobra.Command {
	var s sentinelFlags
	sel := selection{}
	var shard string
	var legs, whole bool
	var jobs int
	cmd := &cobra.Command{
		Use:   "sentinel",
		Short: "Take the whole matrix through check, build and proof, and report what no longer holds",
		Long: `Take every release, mode and Scala version through: sources against versions.lock, every
hook's place exactly once, the diff, the build, the proof, and diff and jars against
outputs.lock. Reports go to --out: report.json, report.md (a summary), junit.xml and
report.sarif, in which a miss points at the anchor's line.

A run that was killed goes on where it was: what is finished stands in OUT/journal.jsonl
until the run ends. Exit code 3 is drift of an anchor, 4 a proof or digest that does not hold,
1 anything else that went wrong; of several the first of 4, 3, 1.`,
		Example: `  observer-patch sentinel --steps check,generate              # seconds: do the hooks still fit?
  observer-patch sentinel --legs --jobs 2 --whole
  observer-patch sentinel --shard 2/6 --baseline last/report.json
  observer-patch sentinel discover --ref trunk                # what will the next release say?`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if whole {
				s.steps = append(s.steps, string(sentinel.Whole))
			}
			return s.watch(cmd.Context(), env, sel, shard, legs, jobs)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&sel.versions, "version", []string{release.All}, "release (4.1.0), semver range (\">=3.6.2 <4.2\") or all; may be given several times")
	f.StringVar(&sel.mode, "mode", release.All, "zk, kraft, both or all")
	f.StringVar(&sel.scala, "scala", release.All, "2.12, 2.13 or all")
	f.StringVar(&sel.set, "set", string(release.DefaultSet), "hook set: base, full or all")
	f.BoolVar(&legs, "legs", false, "only the seven legs: 3.6.2, 3.7.1, 3.8.1, 3.9.1 zk and 3.7.1, 4.0.0, 4.1.0 kraft")
	f.StringVar(&shard, "shard", "", "only part i of n (\"2/6\"), for a CI engine's matrix")
	f.IntVar(&jobs, "jobs", 0, "releases at a time; default: the cores, half of them when something is built")
	f.BoolVar(&whole, "whole", false, "also compile whole modules and compare class by class (minutes a target)")
	s.src.flags(f)
	s.flags(f, []string{"check", "generate", "build", "proof", "outputs"})
	cmd.AddCommand(newDiscoverCommand(env), newSentinelMatrixCommand(env))
	return cmd
}

func newSentinelMatrixCommand(env *Env) *cobra.Command {
	var shards int
	var runners []string
	cmd := &cobra.Command{
		Use:     "matrix",
		Short:   "Print the matrix of a CI engine's jobs as JSON: every shard on every runner",
		Example: `  observer-patch sentinel matrix --shards 6 --runners ubuntu-24.04,ubuntu-24.04-arm`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if shards < 1 || len(runners) == 0 {
				return exit.With(exit.Usage, fmt.Errorf("--shards %d, --runners %v: expected at least one of each", shards, runners))
			}
			return json.NewEncoder(env.Out).Encode(map[string]any{"include": sentinel.Cells(runners, shards)})
		},
	}
	cmd.Flags().IntVar(&shards, "shards", 6, "parts of the matrix")
	cmd.Flags().StringSliceVar(&runners, "runners", []string{"ubuntu-24.04", "ubuntu-24.04-arm"}, "names of the runners")
	return cmd
}

// watch is the sentinel's run over the matrix.
func (s *sentinelFlags) watch(ctx context.Context, env *Env, sel selection, shardText string, legs bool, jobs int) error {
	shard, err := sentinel.ParseShard(shardText)
	if err != nil {
		return err
	}
	steps, err := s.check()
	if err != nil {
		return err
	}
	targets, err := s.targets(env, sel, legs)
	if err != nil {
		return err
	}
	base, err := s.readBaseline()
	if err != nil {
		return err
	}
	c, err := s.checker(env, steps)
	if err != nil {
		return err
	}
	key, err := s.key(env, steps)
	if err != nil {
		return err
	}
	if jobs <= 0 {
		jobs = runtime.NumCPU()
		if slices.Contains(steps, sentinel.Build) {
			jobs = max(1, jobs/2)
		}
	}
	// Folders of a run that was killed.
	if err := os.RemoveAll(c.Work); err != nil {
		return err
	}
	j, err := sentinel.OpenJournal(filepath.Join(s.out, "journal.jsonl"), key)
	if err != nil {
		return err
	}
	r := sentinel.Report{Tool: env.Version, Generation: release.Generation, Started: now(), Steps: steps, Shard: shardText}
	begin := time.Now()
	targets = shard.Of(targets)
	n := 0
	r.Targets, err = sentinel.Run(ctx, c, targets, jobs, j, func(t sentinel.Result) {
		n++
		env.Log.Info("done", "target", t.Target, "status", string(t.Status()), "of", fmt.Sprintf("%d/%d", n, len(targets)), "elapsed", time.Since(begin).Round(time.Second).String())
	})
	if err != nil {
		return errors.Join(err, j.Close())
	}
	if err := os.RemoveAll(c.Work); err != nil {
		return errors.Join(err, j.Close())
	}
	if err := s.report(env, &r, base); err != nil {
		return errors.Join(err, j.Close())
	}
	return errors.Join(j.Finish(), r.Err())
}

// now is when the run started, for the report.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

// check looks at the flags that need nothing else.
func (s *sentinelFlags) check() ([]sentinel.Step, error) {
	if err := checkFormat(s.format); err != nil {
		return nil, err
	}
	if s.src.kind == "dir" {
		return nil, exit.With(exit.Usage, errors.New("--source dir is one release's tree; the sentinel takes maven or git"))
	}
	return sentinel.ParseSteps(s.steps)
}

func (s *sentinelFlags) targets(env *Env, sel selection, legs bool) ([]release.Target, error) {
	if !legs {
		return sel.targets(env)
	}
	m, err := readMatrix(env)
	if err != nil {
		return nil, err
	}
	return sentinel.Legs(m, sel.set)
}

func (s *sentinelFlags) readBaseline() (*sentinel.Report, error) {
	if s.baseline == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	r, err := sentinel.ReadReport(text, s.baseline)
	return &r, err
}

// checker takes targets of the matrix through the steps.
func (s *sentinelFlags) checker(env *Env, steps []sentinel.Step) (*sentinel.Checker, error) {
	catalog, err := anchor.ReadCatalog(env.Data)
	if err != nil {
		return nil, fmt.Errorf("the catalog of hooks has mistakes:\n%w", err)
	}
	outputs, err := bundle.ReadOutputs(env.Data)
	if err != nil {
		return nil, err
	}
	lock, err := readLock(env)
	if err != nil {
		return nil, err
	}
	return &sentinel.Checker{
		Catalog: catalog, Outputs: outputs, Steps: steps, Tool: env.Version, Work: filepath.Join(s.out, "work"), Getenv: os.Getenv, Now: time.Now,
		Open: func(ctx context.Context, r release.Release) (*source.Tree, error) {
			return openOne(ctx, env, s.src, lock, r)
		},
		Prepare: func(ctx context.Context, spec *bundle.Spec) error {
			spec.Progress = func(what string) { env.Log.Debug(what, "target", spec.Target.String()) }
			return prepareLocked(ctx, env, lock, spec, &s.src, &s.compiler)
		},
	}, nil
}

// openOne gives a release's tree with an opener of its own, so that several can be open.
func openOne(ctx context.Context, env *Env, src sourceFlags, lock *release.Lock, r release.Release) (*source.Tree, error) {
	resolver, err := newResolver(env, src.offline)
	if err != nil {
		return nil, err
	}
	o := &opener{flags: &src, env: env, lock: lock, resolver: resolver}
	tree, err := o.open(ctx, r)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	whole := *tree
	whole.Close = o.Close
	return &whole, nil
}

// key is what the results of an interrupted run depend on: with another one they are not used.
func (s *sentinelFlags) key(env *Env, steps []sentinel.Step) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%v\x00%s\x00%s\x00%s\x00", env.Version, steps, s.src.kind, s.src.gitURL, s.compiler.jdk)
	err := fs.WalkDir(env.Data, ".", func(name string, d fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(name, "/")
		if err != nil || d.IsDir() || !slices.Contains([]string{"versions.yaml", "versions.lock", bundle.OutputsFile, "anchors", "patches"}, top) {
			if err == nil && d.IsDir() && name != "." && top != "anchors" && top != "patches" {
				return fs.SkipDir
			}
			return err
		}
		text, err := fs.ReadFile(env.Data, name)
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(text))
		h.Write(text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// report writes the report's files and prints it.
func (s *sentinelFlags) report(env *Env, r *sentinel.Report, base *sentinel.Report) error {
	r.Judge()
	if base != nil {
		r.Changes = r.Since(*base)
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	forms := []struct {
		name string
		make func() ([]byte, error)
	}{{"report.json", r.JSON}, {"report.md", func() ([]byte, error) { return r.Markdown(), nil }}, {"junit.xml", r.JUnit}, {"report.sarif", r.SARIF}}
	for _, f := range forms {
		text, err := f.make()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := renameio.WriteFile(filepath.Join(s.out, f.name), text, 0o644); err != nil {
			return err
		}
	}
	return s.print(env, r)
}

func (s *sentinelFlags) print(env *Env, r *sentinel.Report) error {
	var text []byte
	var err error
	switch s.format {
	case "json":
		text, err = r.JSON()
	case "yaml":
		text, err = yaml.MarshalWithOptions(r, yaml.UseJSONMarshaler())
	default:
		w := table.NewWriter()
		w.SetStyle(plainTable())
		r.Table(w)
		for _, line := range strings.Split(w.Render(), "\n") {
			text = append(text, strings.TrimRight(line, " ")+"\n"...)
		}
		if r.Changes != nil {
			for _, l := range r.Changes.Lines {
				text = append(text, "changed: "+l+"\n"...)
			}
		}
	}
	if err != nil {
		return err
	}
	_, err = env.Out.Write(text)
	return err
}
