package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
	"observer-patch/internal/promoter"
)

type planFlags struct {
	operating
	placements []string
	assignment string
	out        string
	execute    bool
	finish     bool
	throttle   int64
	create     string
	partitions int32
}

func newPlanCommand(env *Env) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --placement TOPIC=FILE | --assignment FILE",
		Short: "Compare topics with their placement, and move replicas and observers to it",
		Long: `Compare the assignments of topics with placements, the JSON that multi-region clusters use:

  {"version":2, "replicas":[{"count":1,"constraints":{"rack":"a"}}, ...],
   "observers":[{"count":1,"constraints":{"rack":"r"}}], "observerPromotionPolicy":"under-min-isr"}

TOPIC may be a pattern (orders-*); the first that matches counts. Internal topics are named like any
other. The result names what differs and the assignment that satisfies the placement with the least
data moved, observers last. --out writes it for kafka-reassign-partitions.

--assignment FILE has assignments instead of a placement, in the JSON of kafka-reassign-partitions, for
the partitions in it. A move that has ended keeps the assignments that it has replaced as such a file in
the state folder, and prints the command that takes it back; add the flags that name the cluster.

--execute does it: throttled (--throttle), an observer that is replaced by another one in two steps,
the old one going when the new one lacks nothing. The throttle is removed at the end; after a kill,
'plan --finish' goes on and removes it. --create TOPIC makes a topic by its placement.

Exit code 1 when something differs and nothing was done about it.`,
		Example: `  observer-patch plan --placement 'orders-*=layout.json' --context prod
  observer-patch plan --placement orders=layout.json --out moves.json --context prod
  observer-patch plan --placement orders=layout.json --execute --throttle 20000000 --context prod
  observer-patch plan --placement new=layout.json --create new --partitions 12 --context prod
  observer-patch plan --assignment before.json --execute --context prod
  observer-patch plan --finish --context prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	f.flags(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.placements, "placement", nil, "TOPIC=FILE, or PATTERN=FILE; may be given several times")
	fs.StringVar(&f.assignment, "assignment", "", "file with assignments, as kafka-reassign-partitions takes them")
	fs.StringVar(&f.out, "out", "", "write the reassignment to this file")
	fs.BoolVar(&f.execute, "execute", false, "do it")
	fs.BoolVar(&f.finish, "finish", false, "go on with a move that was cut off")
	fs.Int64Var(&f.throttle, "throttle", 10_000_000, "bytes per second and broker for copies; 0 for no bound")
	fs.StringVar(&f.create, "create", "", "make this topic by its placement")
	fs.Int32Var(&f.partitions, "partitions", 1, "partitions of the topic that is made")
	return cmd
}

func (f *planFlags) run(ctx context.Context, env *Env) error {
	layouts, err := readLayouts(f.placements)
	if err != nil {
		return err
	}
	targets, err := readTargets(f.assignment)
	if err != nil {
		return err
	}
	if len(layouts)+len(targets) == 0 && !f.finish {
		return exit.With(exit.Usage, errors.New("no placement: say --placement TOPIC=FILE, --assignment FILE, or --finish"))
	}
	if f.assignment != "" && (len(layouts) > 0 || f.create != "" || f.finish) {
		return exit.With(exit.Usage, errors.New("--assignment says where replicas go by itself: leave --placement, --create and --finish out"))
	}
	if f.throttle < 0 {
		return exit.With(exit.Usage, fmt.Errorf("--throttle %d: expected bytes per second, or 0", f.throttle))
	}
	return f.with(ctx, env, func(o *promoter.Operator) error {
		conn := o.Kafka.(*promoter.Connection)
		if f.finish {
			m, err := o.Store.Move()
			if err != nil {
				return err
			}
			if m == nil {
				tell(env, "no move is under way")
				return nil
			}
			tell(env, m.String())
			if f.dryRun {
				return nil
			}
			return goOn(&f.operating, env, o, "move", "Go on with it", m, o.Store.Move, func() error {
				undo, err := o.FinishMove(ctx, conn, f.timeout)
				tellMoved(env, undo)
				return err
			})
		}
		v, err := o.View(ctx)
		if err != nil {
			return err
		}
		ids, refusals := v.InForce()
		if len(refusals) > 0 {
			return exit.With(exit.Refused, observer.Refused(refusals))
		}
		brokers, err := conn.Brokers(ctx, ids)
		if err != nil {
			return err
		}
		if f.create != "" {
			return f.make(ctx, env, o, conn, layouts, brokers)
		}
		for _, w := range v.Crowded(ids) {
			tell(env, "warning: "+w)
		}
		p := proposal{ids: ids, brokers: brokers, rows: []planned{}}
		if err := errors.Join(p.place(v, layouts), p.assign(v, targets)); err != nil {
			return err
		}
		return f.propose(ctx, env, o, conn, v.ClusterID, p)
	})
}

// tellMoved says by which command a move is taken back; none is of nothing moved.
func tellMoved(env *Env, undo string) {
	if undo != "" {
		tell(env, "moved, taken back by: "+undo)
	}
}

// propose prints what differs, and writes or does it as the flags say.
func (f *planFlags) propose(ctx context.Context, env *Env, o *promoter.Operator, conn *promoter.Connection, clusterID string, p proposal) error {
	f.estimate(ctx, env, conn, p.parts, p.rows)
	if err := printRows(env.Out, f.format, p.rows, plannedTable); err != nil {
		return err
	}
	if f.out != "" {
		text, err := placement.Reassignment(p.changes, p.isObserver)
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(f.out, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	switch {
	case len(p.changes) == 0:
		return nil
	case !f.execute || f.dryRun:
		if f.out != "" {
			return nil
		}
		return fmt.Errorf("%d partitions differ from what was asked for; --execute moves them", len(p.changes))
	}
	if err := conn.Allowed(ctx, moveRights(p.changes, f.throttle)...); err != nil {
		return err
	}
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("Move %d partitions of cluster %s?", len(p.changes), clusterID)); err != nil {
		return err
	}
	return change(o, func() error {
		undo, err := o.BeginMove(ctx, conn, p.changes, p.ids, f.throttle, f.timeout)
		tellMoved(env, undo)
		return err
	})
}

// moveRights are what a move needs, with those of its throttle.
func moveRights(changes []placement.Change, throttle int64) []promoter.Right {
	rights := []promoter.Right{promoter.MayAlter}
	if throttle == 0 {
		return rights
	}
	rights = append(rights, promoter.Right{Operation: kmsg.ACLOperationDescribeConfigs}, promoter.Right{Operation: kmsg.ACLOperationAlterConfigs})
	for _, c := range changes {
		r := promoter.Right{Operation: kmsg.ACLOperationAlterConfigs, Topic: c.Topic}
		if !slices.Contains(rights, r) {
			rights = append(rights, r)
		}
	}
	return rights
}
