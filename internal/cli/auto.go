package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/promoter"
)

// lockGroup is the consumer group whose leader is the one instance that may act.
const lockGroup = "observer-patch-auto"

// lockSession is how long the holder of the lock may be silent.
const lockSession = 30 * time.Second

type autoFlags struct {
	operating
	rules       promoter.Rules
	policy      string
	topics      map[string]string
	placements  []string
	maxLagMS    int64
	auditPath   string
	metricsAddr string
	every       time.Duration
	once        bool
}

func newAutoCommand(env *Env) *cobra.Command {
	f := autoFlags{rules: promoter.DefaultRules()}
	cmd := &cobra.Command{
		Use:   "auto --enable",
		Short: "Promote observers by themselves when a partition needs one, and demote them again",
		Long: `Scan the cluster and promote an observer when the policy asks for it; demote it when it is no longer
needed. It keeps to nine rules:

  1  it does nothing unless --enable is given
  2  --dry-run only says what it would do
  3  an observer that lags more than --max-lag-records (0) or --max-lag-ms is not promoted
  4  a broker is not promoted again within --cooldown (300 s) of its last promotion
  5  one action a scan
  6  a demotion needs two checks, --check-gap (5 s) apart
  7  it demotes only what it promoted itself
  8  it does not start without its audit log, and ends when that cannot be written
  9  a person has precedence (a broker whose mark somebody changed is left alone for --hold), and it
     does nothing without the controller majority's view and the lock on the cluster

Policies: under-min-isr, under-replicated, leader-is-observer, never. A broker is promoted whole: an
observer that also carries topics with another policy is not promoted. Leaderless partitions are a
person's decision (observer-patch elect).

Run it outside of the observers' zone and of the brokers, two instances or more if you like: one
holds the lock (a consumer group, ` + lockGroup + `), the others wait. The audit log has one JSON
object a line: BEGIN, PROMOTE-OK, DEMOTE-OK, FAILED, SKIP with the reason, DRY-RUN, START, STOP. When
no broker answers at its start it asks again until one does; with --once that is exit code 1.`,
		Example: `  observer-patch auto --enable --dry-run --context prod --audit-log /var/log/observer-patch/audit.jsonl
  observer-patch auto --enable --policy under-min-isr --context prod --metrics-listen 127.0.0.1:9415`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	f.connection.flags(cmd.Flags())
	f.stateFlags(cmd.Flags())
	f.format = "table"
	fs := cmd.Flags()
	fs.BoolVar(&f.rules.Enabled, "enable", false, "act; without it every scan is skipped")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, change nothing")
	fs.BoolVar(&f.once, "once", false, "one scan, then end")
	fs.StringVar(&f.policy, "policy", string(promoter.UnderMinISR), "policy of topics without one of their own")
	fs.StringToStringVar(&f.topics, "topic-policy", nil, "TOPIC=POLICY; may be given several times")
	fs.StringArrayVar(&f.placements, "placement", nil, "TOPIC=FILE, or PATTERN=FILE: the placement's observerPromotionPolicy, never where it has none")
	fs.Int64Var(&f.rules.MaxLagRecords, "max-lag-records", 0, "committed records that an observer may lack; -1 does not look at records")
	fs.Int64Var(&f.maxLagMS, "max-lag-ms", -1, "milliseconds for which it may lack what was committed; -1 does not look at time")
	fs.DurationVar(&f.rules.Cooldown, "cooldown", f.rules.Cooldown, "no second promotion of a broker within this time")
	fs.DurationVar(&f.rules.Gap, "check-gap", f.rules.Gap, "time between the two checks before a demotion")
	fs.DurationVar(&f.rules.Hold, "hold", f.rules.Hold, "how long a broker is left alone after a person changed its mark")
	fs.DurationVar(&f.every, "interval", 10*time.Second, "time between two scans")
	fs.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long one action may take")
	fs.StringVar(&f.auditPath, "audit-log", "", "audit log; default: audit.jsonl in the cluster's state folder")
	fs.StringVar(&f.metricsAddr, "metrics-listen", "", "host:port for Prometheus; default: none")
	return cmd
}

// settings checks the flags that are no single value's.
func (f *autoFlags) settings() (err error) {
	if f.rules.Policy, err = promoter.ParsePolicy(f.policy); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--policy: %w", err))
	}
	f.rules.Topics = map[string]promoter.Policy{}
	for _, topic := range slices.Sorted(maps.Keys(f.topics)) {
		if f.rules.Topics[topic], err = promoter.ParsePolicy(f.topics[topic]); err != nil {
			return exit.With(exit.Usage, fmt.Errorf("--topic-policy %s: %w", topic, err))
		}
	}
	layouts, err := readLayouts(f.placements)
	if err != nil {
		return err
	}
	for _, l := range layouts {
		policy := promoter.Never
		if l.placement.Policy != "" {
			policy = promoter.Policy(l.placement.Policy)
		}
		f.rules.Placed = append(f.rules.Placed, promoter.Placed{Pattern: l.pattern, Policy: policy})
	}
	f.rules.MaxLag = time.Duration(f.maxLagMS) * time.Millisecond
	if f.rules.MaxLagRecords < 0 && f.rules.MaxLag < 0 {
		return exit.With(exit.Usage, errors.New("--max-lag-records -1 and --max-lag-ms -1: one of them has to bar a lagging observer"))
	}
	for name, d := range map[string]time.Duration{"--interval": f.every, "--check-gap": f.rules.Gap, "--timeout": f.timeout} {
		if d < time.Second {
			return exit.With(exit.Usage, fmt.Errorf("%s %v: expected at least 1s", name, d))
		}
	}
	return nil
}

func (f *autoFlags) run(ctx context.Context, env *Env) error {
	if err := f.settings(); err != nil {
		return err
	}
	if !f.once {
		f.again = 5 * time.Second
	}
	err := f.with(ctx, env, func(o *promoter.Operator) (err error) {
		a := &promoter.Auto{Operator: o, Rules: f.rules, Metrics: &promoter.Metrics{}, Every: f.every, Limit: f.timeout, DryRun: f.dryRun}
		o.Who = "auto"
		path := f.auditPath
		if path == "" {
			path = o.Store.Path("audit.jsonl")
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		if a.Audit, err = promoter.OpenAudit(path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Audit.Close()) }()
		live, unwatch := context.WithCancel(context.WithoutCancel(ctx))
		var watches sync.WaitGroup
		defer func() { unwatch(); watches.Wait() }()
		watches.Go(func() { o.Kafka.(*promoter.Connection).Client.Watch(live) })
		// A dry run stands in nobody's way.
		a.Lock = promoter.NoFence{}
		if !f.dryRun {
			release, err := o.Store.Lock(promoter.AutoLock)
			if err != nil {
				return err
			}
			defer release()
			// Requests that wait for the coordinator must not hold up the scans.
			settings, err := f.resolve()
			if err != nil {
				return err
			}
			client, err := cluster.Connect(settings, slog.New(slog.DiscardHandler)) // what it warns of was said
			if err != nil {
				return err
			}
			defer func() { unwatch(); watches.Wait(); client.Close() }()
			watches.Go(func() { client.Watch(live) })
			lock := promoter.NewGroupLock(client, lockGroup, lockSession)
			keep, stop := context.WithCancel(context.WithoutCancel(ctx))
			kept := make(chan struct{})
			go func() { lock.Keep(keep); close(kept) }()
			defer func() { stop(); <-kept }()
			a.Lock = lock
		}
		if f.metricsAddr != "" {
			stop, err := serve(f.metricsAddr, a.Metrics)
			if err != nil {
				return err
			}
			defer stop()
		}
		if f.once {
			_, err := a.Scan(ctx)
			return err
		}
		return a.Run(ctx)
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // it was stopped while it waited for its first answer
		return nil
	}
	return err
}

// serve answers scrapes on addr until stop is called.
func serve(addr string, m *promoter.Metrics) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with Close
	return func() { _ = s.Close() }, nil
}
