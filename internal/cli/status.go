package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/overview"
	"observer-patch/internal/promoter"
)

// statusFlags are those of status.
type statusFlags struct {
	viewing
	watch    time.Duration
	limit    int
	failing  bool
	stateDir string
}

func newStatusCommand(env *Env) *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what is wrong with a cluster with observers, and what would go wrong next",
		Long: `Look at brokers, controllers, partitions and identity files, and change nothing.

Said are: who is an observer by each node's file, and where the files differ; partitions without a leader,
under min.insync.replicas (counting sync replicas only), led by an observer; the lag of every observer; what
the loss of each zone, and the restart of each broker, would stop now; the digests of the jars where the
inventory names a Kafka home. What could not be learnt is named, never guessed.

It needs DESCRIBE and DESCRIBE_CONFIGS on the topics and DESCRIBE on the cluster. Exit code 0 when it
could look; with --exit-code 1 when something is wrong or not known.`,
		Example: `  observer-patch status --bootstrap-server kafka-1:9092 --observers 4
  observer-patch status --context prod --watch 5s
  observer-patch status --context prod --exit-code -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), env, &f) },
	}
	f.viewing.flags(cmd)
	cmd.Flags().DurationVar(&f.watch, "watch", 0, "look again and again with this pause (5s), until Ctrl-C")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "how many partitions in trouble are listed")
	cmd.Flags().BoolVar(&f.failing, "exit-code", false, "exit code 1 when something is wrong or not known")
	cmd.Flags().StringVar(&f.stateDir, "state-dir", "", "folder with what promote, demote, plan and restart have left pending; default: as theirs")
	return cmd
}

func status(ctx context.Context, env *Env, f *statusFlags) error {
	if f.watch < 0 || f.limit < 0 {
		return exit.With(exit.Usage, errors.New("--watch and --limit: expected nothing below 0"))
	}
	client, err := f.open(env)
	if err != nil {
		return err
	}
	defer client.Close()
	if f.watch == 0 {
		r, err := look(ctx, client, f)
		if err != nil {
			return err
		}
		return f.show(env.Out, r)
	}
	tick := time.NewTicker(f.watch)
	defer tick.Stop()
	for {
		r, err := look(ctx, client, f)
		switch {
		case ctx.Err() != nil:
			return nil // whoever watches ends it this way
		case exit.Code(err) == exit.Refused:
			return err
		case err != nil:
			env.Log.Error("look", "problem", err)
		default:
			if f.format == "table" && isTerminal(env.Out) {
				fmt.Fprint(env.Out, "\x1b[H\x1b[2J") // home, clear
			}
			if err := f.show(env.Out, r); err != nil && !errors.Is(err, errUnhealthy) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look takes one look and makes the report.
func look(ctx context.Context, client *cluster.Client, f *statusFlags) (*overview.Report, error) {
	s, err := client.Look(ctx, cluster.Scope{}, time.Now())
	if err != nil {
		return nil, err
	}
	if err := f.check(s.ClusterID); err != nil {
		return nil, err
	}
	in := overview.Input{Snapshot: s, Seen: f.seen(ctx), Observers: f.given, Limit: f.limit}
	observers := overview.Decide(in)
	if err := client.Positions(ctx, s, cluster.Ends, func(t *cluster.Topic, p *cluster.Partition, b int32) bool {
		marked := overview.ObserversOf(t, p, observers.IDs)
		return len(marked) > 0 && p.Leader >= 0 && (b == p.Leader || slices.Contains(marked, b))
	}); err != nil {
		return nil, err
	}
	r := overview.Make(in)
	r.Pending, err = f.pending(s.ClusterID)
	return r, err
}

// pending says what promote, demote, plan or restart has left unfinished on this machine.
func (f *statusFlags) pending(clusterID string) (string, error) {
	dir, err := promoter.StateDir(f.stateDir, os.Getenv)
	if err != nil {
		return "", nil // without a folder nothing can have been left there
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	store, err := promoter.OpenStore(dir, clusterID)
	if err != nil {
		return "", err
	}
	var words []string
	p, err := store.Pending()
	if err != nil {
		return "", err
	}
	if p != nil {
		words = append(words, p.String())
	}
	m, err := store.Move()
	if err != nil {
		return "", err
	}
	if m != nil {
		words = append(words, m.String())
	}
	n, err := store.Restarting()
	if err != nil {
		return "", err
	}
	if n != nil {
		words = append(words, n.String())
	}
	return strings.Join(words, "; "), nil
}

var errUnhealthy = errors.New("something is wrong or not known: see the findings")

// show prints the report; with --exit-code it then fails when the cluster is not healthy.
func (f *statusFlags) show(w io.Writer, r *overview.Report) error {
	if err := printStatus(w, f.format, r); err != nil {
		return err
	}
	if f.failing && !r.Healthy() {
		return errUnhealthy
	}
	return nil
}

func printStatus(w io.Writer, format string, r *overview.Report) error {
	if format == "yaml" {
		// With --watch one document follows the other.
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
	}
	if done, err := encode(w, format, r); done {
		return err
	}
	var b strings.Builder
	statusTables(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
