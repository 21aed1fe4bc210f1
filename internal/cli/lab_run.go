package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/scenario"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

type labFlags struct {
	sel       selection
	all       bool
	unpatched bool
	only      bool
	keep      bool
	offline   bool
	dist      string
	out       string
	jdk       string
	format    string
	seed      uint64
	seconds   int
}

func newLabRunCommand(env *Env) *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...] --version V",
		Short: "Run scenarios on real clusters and store the evidence",
		Long: `Run scenarios on real clusters made from the release's class path and the jars of a bundle,
and store plan, events, log lines and verdict in OUT/<leg>/<scenario>/.

With --unpatched the scenarios that have something to compare run on upstream's own jars too.
A run that fails, or that shows nothing (inconclusive), is exit code 1.`,
		Example: "  observer-patch lab run S1 S3 --version 4.1.0 --mode kraft --unpatched",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(l.format); err != nil {
				return err
			}
			rows, err := l.run(cmd.Context(), env, args)
			if len(rows) > 0 {
				if perr := printRows(env.Out, l.format, rows, labTable); err == nil {
					err = perr
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	l.sel.flags(f)
	formatFlag(cmd, &l.format)
	f.BoolVar(&l.all, "all", false, "every scenario")
	f.BoolVar(&l.unpatched, "unpatched", false, "also run on upstream's own jars what can be compared")
	f.BoolVar(&l.only, "unpatched-only", false, "run on upstream's own jars only")
	f.BoolVar(&l.keep, "keep", false, "keep the clusters' files also when everything passed")
	f.BoolVar(&l.offline, "offline", false, "use only what is in the cache and the local Maven repository")
	f.Uint64Var(&l.seed, "seed", 0, "seed of random faults (S16); default: a new one, recorded in the plan")
	f.IntVar(&l.seconds, "seconds", 60, "how long random faults go on (S16)")
	f.StringVar(&l.dist, "dist", "dist", "folder with bundles")
	f.StringVar(&l.out, "out", filepath.Join("dist", "lab"), "folder for evidence")
	f.StringVar(&l.jdk, "jdk", "", "folder of the JDK that runs the nodes; default: the release's pinned version, found as build finds it")
	return cmd
}

func labTable(t table.Writer, rows []campaign.Result) {
	t.AppendHeader(table.Row{"leg", "scenario", "verdict", "took", "why"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Leg, r.Scenario, r.Verdict, r.Took.Round(time.Second), r.Reason})
	}
}

func (l *labFlags) run(ctx context.Context, env *Env, ids []string) ([]campaign.Result, error) {
	if runtime.GOOS != "linux" {
		return nil, exit.With(exit.Refused, fmt.Errorf("the lab needs Linux (it freezes processes and drops capabilities), this is %s", runtime.GOOS))
	}
	scenarios, err := l.scenarios(ids)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	targets, err := l.sel.targets(env)
	if err != nil {
		return nil, err
	}
	var rows []campaign.Result
	for _, t := range targets {
		modes := []release.Mode{t.Mode}
		if t.Mode == release.Both {
			modes = []release.Mode{release.ZK, release.KRaft}
		}
		for _, mode := range modes {
			if err := l.leg(ctx, env, t, mode, scenarios, &rows); err != nil {
				return rows, fmt.Errorf("%s %s: %w", t, mode, err)
			}
		}
	}
	bad := 0
	for _, r := range rows {
		if r.Verdict != scenario.Pass && r.Verdict != campaign.NotApplicable {
			bad++
		}
	}
	if bad > 0 {
		return rows, fmt.Errorf("%d of %d runs did not pass", bad, len(rows))
	}
	return rows, nil
}

func (l *labFlags) scenarios(ids []string) ([]scenario.Scenario, error) {
	if l.all == (len(ids) > 0) {
		return nil, errors.New("name scenarios, or give --all; 'observer-patch lab list' shows them")
	}
	var out []scenario.Scenario
	if l.all {
		out = scenario.All()
	}
	for _, id := range ids {
		s, err := scenario.Find(id)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// leg runs the scenarios on one release and mode, on upstream's jars too when that is asked for.
func (l *labFlags) leg(ctx context.Context, env *Env, t release.Target, mode release.Mode, scenarios []scenario.Scenario, rows *[]campaign.Result) (err error) {
	c := campaign.Campaign{Release: t.Release.String(), Mode: mode, Set: t.Set, Scenarios: scenarios, Out: l.out, Keep: l.keep, Log: env.Log, Machine: machine(),
		Seed: l.seed, Seconds: l.seconds}
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1 << 32)
	}
	if err := l.jvm(env, t, &c); err != nil {
		return err
	}
	upstream, err := l.classpath(ctx, env, t)
	if err != nil {
		return err
	}
	if c.Work, err = os.MkdirTemp("", "observer-patch-lab-"); err != nil {
		return err
	}
	// Only an empty folder goes: what a failed run left behind is kept.
	defer func() { _ = os.Remove(c.Work) }()
	each := func(r campaign.Result) {
		*rows = append(*rows, r)
		env.Log.Info("verdict", "leg", r.Leg, "scenario", r.Scenario, "verdict", r.Verdict, "took", r.Took.Round(time.Second), "why", r.Reason)
	}
	if !l.only {
		if c.Classpath, c.Patched, err = l.patched(upstream, t, mode); err != nil {
			return err
		}
		if c.Others, err = l.others(ctx, env, t, upstream, c.Needs()); err != nil {
			return err
		}
		if err := c.Run(ctx, each); err != nil {
			return err
		}
	}
	if l.unpatched || l.only {
		c.Unpatched, c.Classpath, c.Patched, c.Others = true, upstream, nil, nil
		return c.Run(ctx, each)
	}
	return nil
}

// jvm finds the JDK that runs the nodes.
func (l *labFlags) jvm(env *Env, t release.Target, c *campaign.Campaign) error {
	lock, err := readLock(env)
	if err != nil {
		return err
	}
	locked := lock.Releases[t.Release.String()]
	if locked == nil {
		return fmt.Errorf("release %s is not in versions.lock", t.Release)
	}
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: locked.Javac, Home: l.jdk, AnyVersion: true}, os.Getenv)
	if err != nil {
		return err
	}
	c.Java, c.JavaVersion = jdk.Tool("java"), "JDK "+jdk.Version
	return nil
}

// machine says what times were taken on: cores and how busy they were when the leg began.
func machine() string {
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 0 {
			load = f[0]
		}
	}
	return fmt.Sprintf("%d cores, load average %s when the leg began", runtime.NumCPU(), load)
}
