package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
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
	out        string
	execute    bool
	finish     bool
	throttle   int64
	create     string
	partitions int32
}

// planned is one line of the result of plan.
type planned struct {
	Partition string   `json:"partition"`
	Problems  []string `json:"problems"`
	From      []int32  `json:"from"`
	To        []int32  `json:"to"`
	Added     []int32  `json:"added"`
	Removed   []int32  `json:"removed"`
	// Bytes are those of the copies to be made, -1 when the size is not known.
	Bytes int64 `json:"bytes"`
}

func newPlanCommand(env *Env) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan --placement TOPIC=FILE",
		Short: "Compare topics with their placement, and move replicas and observers to it",
		Long: `Compare the assignments of topics with placements, the JSON that multi-region clusters use:

  {"version":2, "replicas":[{"count":1,"constraints":{"rack":"a"}}, ...],
   "observers":[{"count":1,"constraints":{"rack":"r"}}], "observerPromotionPolicy":"under-min-isr"}

TOPIC may be a pattern (orders-*); the first that matches counts. Internal topics are named like any
other. The result names what differs and the assignment that satisfies the placement with the least
data moved, observers last. --out writes it for kafka-reassign-partitions.

--execute does it: throttled (--throttle), an observer that is replaced by another one in two steps,
the old one going when the new one lacks nothing. The throttle is removed at the end; after a kill,
'plan --finish' goes on and removes it. --create TOPIC makes a topic by its placement.

Exit code 1 when something differs and nothing was done about it.`,
		Example: `  observer-patch plan --placement 'orders-*=layout.json' --context prod
  observer-patch plan --placement orders=layout.json --out moves.json --context prod
  observer-patch plan --placement orders=layout.json --execute --throttle 20000000 --context prod
  observer-patch plan --placement new=layout.json --create new --partitions 12 --context prod
  observer-patch plan --finish --context prod`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	f.flags(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.placements, "placement", nil, "TOPIC=FILE, or PATTERN=FILE; may be given several times")
	fs.StringVar(&f.out, "out", "", "write the reassignment to this file")
	fs.BoolVar(&f.execute, "execute", false, "do it")
	fs.BoolVar(&f.finish, "finish", false, "go on with a move that was cut off")
	fs.Int64Var(&f.throttle, "throttle", 10_000_000, "bytes per second and broker for copies; 0 for no bound")
	fs.StringVar(&f.create, "create", "", "make this topic by its placement")
	fs.Int32Var(&f.partitions, "partitions", 1, "partitions of the topic that is made")
	return cmd
}

// layout is a pattern of topic names with its placement.
type layout struct {
	pattern   string
	placement placement.Placement
}

// readLayouts reads the files of --placement.
func readLayouts(args []string) ([]layout, error) {
	var out []layout
	for _, arg := range args {
		pattern, file, ok := strings.Cut(arg, "=")
		if _, err := path.Match(pattern, ""); !ok || pattern == "" || err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--placement %q: expected TOPIC=FILE or PATTERN=FILE", arg))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		p, err := placement.Parse(text)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("%s: %w", file, err))
		}
		out = append(out, layout{pattern, p})
	}
	return out, nil
}

func of(layouts []layout, topic string) (placement.Placement, bool) {
	for _, l := range layouts {
		if ok, _ := path.Match(l.pattern, topic); ok { // the pattern was checked
			return l.placement, true
		}
	}
	return placement.Placement{}, false
}

func (f *planFlags) run(ctx context.Context, env *Env) error {
	layouts, err := readLayouts(f.placements)
	if err != nil {
		return err
	}
	if len(layouts) == 0 && !f.finish {
		return exit.With(exit.Usage, errors.New("no placement: say --placement TOPIC=FILE, or --finish"))
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
			return goOn(&f.operating, env, o, "move", "Go on with it", m, o.Store.Move, func() error { return o.FinishMove(ctx, conn, f.timeout) })
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
		return f.compare(ctx, env, o, conn, v, ids, layouts, brokers)
	})
}

func (f *planFlags) compare(ctx context.Context, env *Env, o *promoter.Operator, conn *promoter.Connection, v observer.View, ids []int32, layouts []layout, brokers []placement.Broker) error {
	rows := []planned{}
	var changes []placement.Change
	var moved []observer.Partition
	for _, l := range layouts {
		if !slices.ContainsFunc(v.Partitions, func(p observer.Partition) bool { ok, _ := path.Match(l.pattern, p.Topic); return ok }) {
			return fmt.Errorf("--placement %s: no topic matches that the cluster shows, so nothing was compared: it is misspelt, or DESCRIBE on the topic is not granted", l.pattern)
		}
	}
	for _, w := range v.Crowded(ids) {
		tell(env, "warning: "+w)
	}
	for _, p := range v.Partitions {
		want, ok := of(layouts, p.Topic)
		if !ok {
			continue
		}
		if p.Error != "" || len(p.Adding)+len(p.Removing) > 0 {
			return exit.With(exit.Refused, fmt.Errorf("%s: it is being reassigned, or not known: %s", p, p.Error))
		}
		part := placement.Partition{Topic: p.Topic, ID: p.ID, Replicas: p.Replicas, Leader: p.Leader}
		c, err := placement.Assign(want, part, brokers)
		if err != nil {
			return err
		}
		if !c.Differs() {
			continue
		}
		changes = append(changes, c)
		moved = append(moved, p)
		rows = append(rows, planned{Partition: p.String(), Problems: placement.Check(want, part, brokers), From: c.From, To: c.To, Added: c.Added, Removed: c.Removed, Bytes: -1})
	}
	f.estimate(ctx, env, conn, moved, rows)
	if err := printRows(env.Out, f.format, rows, plannedTable); err != nil {
		return err
	}
	isObserver := func(b int32) bool { return isIn(b, ids) }
	if f.out != "" {
		text, err := placement.Reassignment(changes, isObserver)
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(f.out, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	switch {
	case len(changes) == 0:
		return nil
	case !f.execute || f.dryRun:
		if f.out != "" {
			return nil
		}
		return fmt.Errorf("%d partitions differ from their placement; --execute moves them", len(changes))
	}
	if err := conn.Allowed(ctx, moveRights(changes, f.throttle)...); err != nil {
		return err
	}
	if err := f.confirm(env, os.Stdin, fmt.Sprintf("Move %d partitions of cluster %s?", len(changes), v.ClusterID)); err != nil {
		return err
	}
	return change(o, func() error { return o.BeginMove(ctx, conn, changes, ids, f.throttle, f.timeout) })
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

// estimate says how much is copied and how long that takes at least.
func (f *planFlags) estimate(ctx context.Context, env *Env, conn *promoter.Connection, parts []observer.Partition, rows []planned) {
	sizes := conn.Sizes(ctx, parts)
	perBroker := map[int32]int64{}
	total, unknown := int64(0), 0
	for i := range rows {
		size, ok := sizes[rows[i].Partition]
		if !ok && len(rows[i].Added) > 0 {
			unknown++
			continue
		}
		rows[i].Bytes = size * int64(len(rows[i].Added))
		total += rows[i].Bytes
		for _, b := range rows[i].Added {
			perBroker[b] += size
		}
	}
	if total == 0 && unknown == 0 {
		return
	}
	text := fmt.Sprintf("to copy: %d bytes in all", total)
	for _, b := range sortedIDs(perBroker) {
		text += fmt.Sprintf("; %d to broker %d", perBroker[b], b)
		if f.throttle > 0 {
			text += fmt.Sprintf(", %d s at least", (perBroker[b]+f.throttle-1)/f.throttle)
		}
	}
	if unknown > 0 {
		text += fmt.Sprintf("; the size of %d partitions is not known", unknown)
	}
	tell(env, text)
}

func sortedIDs(m map[int32]int64) []int32 {
	var out []int32
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func plannedTable(t table.Writer, rows []planned) {
	t.AppendHeader(table.Row{"partition", "from", "to", "bytes", "why"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Partition, fmt.Sprint(r.From), fmt.Sprint(r.To), r.Bytes, strings.Join(r.Problems, "; ")})
	}
}

// make makes a topic by its placement, the leaders spread over its sync replicas.
func (f *planFlags) make(ctx context.Context, env *Env, o *promoter.Operator, conn *promoter.Connection, layouts []layout, brokers []placement.Broker) error {
	want, ok := of(layouts, f.create)
	if !ok {
		return exit.With(exit.Usage, fmt.Errorf("--create %s: no --placement matches it", f.create))
	}
	if f.partitions < 1 || f.partitions > 10000 {
		return exit.With(exit.Usage, fmt.Errorf("--partitions %d: expected 1 to 10000", f.partitions))
	}
	rows := []planned{}
	var parts []observer.Partition
	for i := range f.partitions {
		c, err := placement.Assign(want, placement.Partition{Topic: f.create, ID: i, Leader: -1}, brokers)
		if err != nil {
			return err
		}
		n := want.Sync()
		to := append([]int32{}, c.To...)
		for k := range n {
			to[k] = c.To[(k+int(i))%n]
		}
		parts = append(parts, observer.Partition{Topic: f.create, ID: i, Replicas: to})
		rows = append(rows, planned{Partition: parts[i].String(), Problems: []string{}, To: to, Added: to, From: []int32{}, Removed: []int32{}})
	}
	if !f.dryRun {
		if err := f.confirm(env, os.Stdin, fmt.Sprintf("Make topic %s with %d partitions?", f.create, f.partitions)); err != nil {
			return err
		}
		if err := change(o, func() error { return conn.Create(ctx, parts) }); err != nil {
			return err
		}
	}
	return printRows(env.Out, f.format, rows, plannedTable)
}
