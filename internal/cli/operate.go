package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// operating are the flags of the commands that change who is an observer or who leads.
type operating struct {
	connection
	stateDir string
	strict   bool
	yes      bool
	dryRun   bool
	format   string
	timeout  time.Duration
}

func (f *operating) flags(cmd *cobra.Command) {
	f.connection.flags(cmd.Flags())
	f.stateFlags(cmd.Flags())
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the plan, change nothing")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long to wait for what has to follow")
	formatFlag(cmd, &f.format)
}

func (f *operating) stateFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.stateDir, "state-dir", "", "folder for what outlives a run; default: $"+promoter.StateVariable+", else observer-patch in the user's state folder")
	fs.BoolVar(&f.strict, "strict", false, "the nodes run with KAFKA_OBSERVER_STRICT=true: an empty list is written as the word none")
}

// with connects, checks that it is the cluster that is meant, and hands on an operator for it.
func (f *operating) with(ctx context.Context, env *Env, do func(*promoter.Operator) error) (err error) {
	if err := checkFormat(f.format); err != nil {
		return err
	}
	dir, err := promoter.StateDir(f.stateDir, os.Getenv)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return f.connect(ctx, env, dir, func(conn *promoter.Connection, files *promoter.Inventory, store *promoter.Store) error {
		return do(&promoter.Operator{Kafka: conn, Files: files, Store: store, Log: env.Log, Now: time.Now,
			Poll: 300 * time.Millisecond, Strict: f.strict, Who: whoami()})
	})
}

// change runs do under the lock that lets one change at a time happen on this machine.
func change(o *promoter.Operator, do func() error) error {
	release, err := o.Store.Lock(promoter.ChangeLock)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// goOn finishes what was cut off, as it was shown: it asks, and refuses when something else lies there
// by then.
func goOn[T fmt.Stringer](f *operating, env *Env, o *promoter.Operator, what, question string, shown *T, now func() (*T, error), do func() error) error {
	agreed := (*shown).String()
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("%s on cluster %s?", question, o.Store.Cluster())); err != nil {
		return err
	}
	return change(o, func() error {
		left, err := now()
		if err != nil {
			return err
		}
		if left == nil || (*left).String() != agreed {
			return exit.With(exit.Refused, fmt.Errorf("the %s is not the one that was shown any more, somebody has changed it since: run the command again", what))
		}
		return do()
	})
}

// whoami names the person for the records: the user, and the one behind sudo.
func whoami() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if by := os.Getenv("SUDO_USER"); by != "" {
		name = by + " as " + name
	}
	return name
}

// confirm asks on env.Err and reads the answer from the standard input; only the word yes is one.
func (f *operating) confirm(env *Env, in io.Reader, question string) error {
	if f.yes {
		return nil
	}
	fmt.Fprintf(env.Err, "%s Type yes to go on: ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		fmt.Fprintln(env.Err)
		return exit.With(exit.Usage, errors.New("not confirmed, nothing was changed; --yes does not ask"))
	}
	return nil
}

func brokerID(text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 0 {
		return 0, exit.With(exit.Usage, fmt.Errorf("broker id %q: expected a number from 0 to 2147483647", text))
	}
	return int32(id), nil
}

// tell prints lines for people to env.Err.
func tell(env *Env, lines ...string) {
	for _, line := range lines {
		fmt.Fprintln(env.Err, line)
	}
}

// planLines say what a plan will do.
func planLines(p promoter.Plan) []string {
	out := []string{fmt.Sprintf("%s broker %d of cluster %s: list %v becomes %v", p.Change, p.Broker, p.ClusterID, p.Before, p.After)}
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("  first: %s gets the order %v and broker %d leads it", m, m.Replicas, m.Replicas[0]))
	}
	for i, s := range p.Steps {
		out = append(out, fmt.Sprintf("  files, step %d: nodes %v", i+1, s))
	}
	out = append(out, fmt.Sprintf("  topics with a replica on it: %s", listed(p.Topics)))
	for _, w := range p.Warnings {
		out = append(out, "  warning: "+w)
	}
	for _, r := range p.Refusals {
		out = append(out, "  refused: "+r.String())
	}
	return append(out, "  taken back by: "+p.Undo)
}

// listed names the first few of a list.
func listed(names []string) string {
	const most = 10
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// shown fails when --topic or --partition names what the cluster does not show: doing nothing about
// it is not what was asked for.
func shown(topics, partitions []string, all []observer.Partition) error {
	var errs []error
	for _, t := range topics {
		if !slices.ContainsFunc(all, func(p observer.Partition) bool { return p.Topic == t }) {
			errs = append(errs, fmt.Errorf("--topic %s: the cluster shows no such topic: it is misspelt or deleted, or DESCRIBE on it is not granted", t))
		}
	}
	for _, name := range partitions {
		if !slices.ContainsFunc(all, func(p observer.Partition) bool { return p.String() == name }) {
			errs = append(errs, fmt.Errorf("--partition %s: the cluster shows no such partition (TOPIC-NUMBER): it is misspelt or deleted, or DESCRIBE on its topic is not granted", name))
		}
	}
	return errors.Join(errs...)
}

// chosen gives the test for the partitions that --topic and --partition choose; none given is all.
func chosen(topics, partitions []string) func(observer.Partition) bool {
	if len(topics)+len(partitions) == 0 {
		return func(observer.Partition) bool { return true }
	}
	want := map[string]bool{}
	for _, t := range topics {
		want["t "+t] = true
	}
	for _, p := range partitions {
		want["p "+p] = true
	}
	return func(p observer.Partition) bool { return want["t "+p.Topic] || want["p "+p.String()] }
}
