package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// restartLimit is how long a restart may take when nothing else is said, and programEnd how long
// its program gets to end when the tool does.
const (
	restartLimit = 30 * time.Minute
	programEnd   = 10 * time.Second
)

type restartFlags struct {
	operating
	standIn int32
	accept  bool
	finish  bool
}

// restarted is the line of the result of restart.
type restarted struct {
	Cluster string `json:"cluster"`
	Broker  int32  `json:"broker"`
	// Stops are the partitions whose writes the restart alone would stop.
	Stops []string `json:"stops"`
	// StandIn is the observer that was promoted meanwhile, null where none was needed.
	StandIn  *int32             `json:"standIn"`
	Outcome  string             `json:"outcome"`
	Seconds  float64            `json:"seconds"`
	Undo     string             `json:"undo"`
	Warnings []string           `json:"warnings"`
	Refusals []observer.Refusal `json:"refusals"`
}

func newRestartCommand(env *Env) *cobra.Command {
	var f restartFlags
	cmd := &cobra.Command{
		Use:   "restart BROKER [-- COMMAND ARG...]",
		Short: "Restart a broker without stopping writes, an observer standing in where that is needed",
		Long: `Restart a broker, and have writes with acks=all go on. Where they would stop, as in a layout of 2 + 1
with min.insync.replicas=2, an observer is promoted first; where they would not, nobody is.

 1. promote the stand-in and wait until it is in every ISR that needs it;
 2. look again, then run COMMAND (no shell, its output goes to stderr), or without one say 'restart
    broker N now'; a broker that is stopped in order hands its leaderships over itself;
 3. wait until the broker was seen to go away and is back, and until it is in every ISR;
 4. move the leaderships home that it had, and demote the stand-in. What was promoted before this
    command is not demoted by it.

What fails leaves the stand-in promoted, which loses nothing, and is named by 'status': --finish does
steps 3 and 4 once the broker runs, also after a kill. It is refused, with exit code 5, when a
partition would take no writes in spite of the stand-in (--accept-stopped-writes does it all the
same), or when anything that decides is not known.`,
		Example: `  observer-patch restart 1 --dry-run --context prod
  observer-patch restart 1 --stand-in 4 --context prod
  observer-patch restart 1 --context prod --yes -- ssh kafka-1 sudo systemctl restart kafka
  observer-patch restart --finish --context prod`,
		Args: func(cmd *cobra.Command, args []string) error {
			words := args
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				words = args[:n]
			}
			if f.finish {
				if len(args) > 0 {
					return fmt.Errorf("--finish knows which broker it was: expected no arguments, found %d", len(args))
				}
				return nil
			}
			if len(words) != 1 {
				return fmt.Errorf("expected one broker id, and a command only after --, found %d arguments", len(words))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), env, func(o *promoter.Operator) error {
				if f.finish {
					return f.goBack(cmd.Context(), env, o)
				}
				return f.run(cmd.Context(), env, o, args[0], args[1:])
			})
		},
	}
	f.flags(cmd)
	f.timeout = restartLimit
	limit := cmd.Flags().Lookup("timeout")
	limit.DefValue, limit.Usage = restartLimit.String(), "how long to wait for each of the steps"
	cmd.Flags().Int32Var(&f.standIn, "stand-in", promoter.NoStandIn, "the observer to promote if one is needed; default: the only one that will do")
	cmd.Flags().BoolVar(&f.accept, "accept-stopped-writes", false, "go on although some partitions take no writes meanwhile")
	cmd.Flags().BoolVar(&f.finish, "finish", false, "the broker is restarted, or will not be: go back after a restart that was cut off")
	return cmd
}

func (f *restartFlags) run(ctx context.Context, env *Env, o *promoter.Operator, arg string, program []string) error {
	broker, err := brokerID(arg)
	if err != nil {
		return err
	}
	if f.standIn == broker {
		return exit.With(exit.Usage, fmt.Errorf("--stand-in %d: expected another broker than the one that restarts", f.standIn))
	}
	p, err := o.PlanRestart(ctx, broker, f.standIn, f.accept)
	if err != nil {
		return err
	}
	refusals, err := o.Kafka.(*promoter.Connection).Lacks(ctx, promoter.MayAlter)
	if err != nil {
		return err
	}
	p.Refusals = append(p.Refusals, refusals...)
	tell(env, restartLines(p, program)...)
	row := restarted{Cluster: p.ClusterID, Broker: broker, Stops: p.Stops, Warnings: append([]string{}, p.Warnings...), Refusals: append([]observer.Refusal{}, p.Refusals...)}
	if p.StandIn != promoter.NoStandIn {
		row.StandIn, row.Undo = &p.StandIn, promoter.FinishRestart
	}
	print := func(outcome string, err error) error {
		row.Outcome = outcome
		return errors.Join(err, printRows(env.Out, f.format, []restarted{row}, restartTable))
	}
	switch {
	case len(p.Refusals) > 0:
		return print("refused", p.Refuse())
	case f.dryRun:
		return print("dry run", nil)
	}
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("Restart broker %d of cluster %s?", broker, p.ClusterID)); err != nil {
		return err
	}
	r := promoter.Restart{Limit: f.timeout, Accept: f.accept, Up: o.Kafka.(*promoter.Connection).Up, Say: func(text string) { tell(env, text) }}
	if len(program) > 0 {
		r.Do = func(ctx context.Context) error { return runProgram(ctx, env.Err, program) }
	}
	return change(o, func() error {
		began := o.Now()
		err := o.Restart(ctx, p, r)
		row.Seconds = o.Now().Sub(began).Seconds()
		if err == nil {
			row.Undo = ""
			return print("done", nil)
		}
		if n, unread := o.Store.Restarting(); unread == nil && n == nil {
			row.Undo = "" // nobody stands in
		}
		return print("not complete", err)
	})
}

// runProgram runs the words as a program, without a shell. A file gets its output as it comes,
// other writers when it has ended.
func runProgram(ctx context.Context, out io.Writer, words []string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = programEnd
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if f, ok := out.(*os.File); ok {
		cmd.Stdout, cmd.Stderr = f, f
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w%s", strings.Join(words, " "), err, strings.TrimRight("\n"+said.String(), "\n"))
	}
	return nil
}

// goBack is --finish.
func (f *restartFlags) goBack(ctx context.Context, env *Env, o *promoter.Operator) error {
	n, err := o.Store.Restarting()
	if err != nil {
		return err
	}
	if n == nil {
		tell(env, "no restart is under way")
		return nil
	}
	tell(env, n.String())
	if f.dryRun {
		return nil
	}
	if err := o.Kafka.(*promoter.Connection).Allowed(ctx, promoter.MayAlter); err != nil {
		return err
	}
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("Broker %d is restarted, or will not be: wait until it is in every ISR and demote broker %d?", n.Broker, n.StandIn)); err != nil {
		return err
	}
	return change(o, func() error {
		if err := o.FinishRestart(ctx, *n, f.timeout); err != nil {
			return err
		}
		tell(env, fmt.Sprintf("broker %d is an observer again", n.StandIn))
		return nil
	})
}

// restartLines say what a restart will do.
func restartLines(p promoter.RestartPlan, program []string) []string {
	out := []string{fmt.Sprintf("restart broker %d of cluster %s: it leads %d partitions", p.Broker, p.ClusterID, len(p.Led))}
	switch {
	case len(p.Stops) == 0:
		out = append(out, "  it stops no writes, so no stand-in is needed")
	default:
		out = append(out, fmt.Sprintf("  alone it would stop the writes of %d partitions: %s", len(p.Stops), listed(p.Stops)))
	}
	if p.Promotion != nil {
		out = append(out, fmt.Sprintf("  first: promote broker %d, the list %v becomes %v, and wait for it in %d ISRs", p.StandIn, p.Promotion.Before, p.Promotion.After, len(p.Promotion.Await)),
			fmt.Sprintf("  topics with a replica on it: %s", listed(p.Promotion.Topics)))
	}
	if len(program) > 0 {
		out = append(out, fmt.Sprintf("  then: run %q", program))
	} else {
		out = append(out, fmt.Sprintf("  then: wait until somebody restarts broker %d", p.Broker))
	}
	out = append(out, "  at last: wait until it is in every ISR, move its leaderships home")
	if p.StandIn != promoter.NoStandIn {
		out = append(out, fmt.Sprintf("  and demote broker %d again; taken back in the middle by: %s", p.StandIn, promoter.FinishRestart))
	}
	for _, w := range p.Warnings {
		out = append(out, "  warning: "+w)
	}
	for _, r := range p.Refusals {
		out = append(out, "  refused: "+r.String())
	}
	return out
}

func restartTable(t table.Writer, rows []restarted) {
	t.AppendHeader(table.Row{"broker", "alone it would stop", "stand-in", "outcome", "seconds", "taken back by"})
	for _, r := range rows {
		standIn := "none"
		if r.StandIn != nil {
			standIn = fmt.Sprint(*r.StandIn)
		}
		t.AppendRow(table.Row{r.Broker, listed(r.Stops), standIn, r.Outcome, fmt.Sprintf("%.1f", r.Seconds), r.Undo})
	}
}
