package scenario

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/lab/traffic"
)

// Lab is what a scenario works with. Everything that is done through it is recorded.
type Lab struct {
	Plan    Plan
	Cluster *cluster.Cluster
	Rec     *history.Recorder
	Log     *slog.Logger

	sampler   *probe.Sampler
	producers []*traffic.Producer
	topics    []string
	pending   map[int32]bool
}

// Rate is how many records per second and partition the background producer sends.
const Rate = 100

// recordSize is bytes per value: small enough for two cores, large enough for lag to be bytes.
const recordSize = 300

// giveUp is how long a producer tries a record; longer than any failover of the matrix.
const giveUp = 60 * time.Second

// Produce starts a producer on the plan's topic and stops it with the run at the latest.
func (l *Lab) Produce(ctx context.Context, name string, rate int, count int64) (*traffic.Producer, error) {
	return l.ProduceTo(ctx, l.Plan.Topic, len(l.Plan.Assignment), name, rate, count)
}

// ProduceTo is Produce for another topic.
func (l *Lab) ProduceTo(ctx context.Context, topic string, partitions int, name string, rate int, count int64) (*traffic.Producer, error) {
	p, err := traffic.Start(ctx, l.Cluster.Addrs(), traffic.Options{Name: name, Topic: topic,
		Partitions: int32(partitions), Rate: rate, Count: count, Size: recordSize, Timeout: giveUp}, l.Rec)
	if err != nil {
		return nil, err
	}
	l.producers = append(l.producers, p)
	return p, nil
}

// Load starts the usual background traffic and waits until every replica has some of it, so that
// what follows happens to a working cluster.
func (l *Lab) Load(ctx context.Context) (*traffic.Producer, error) { return l.LoadAt(ctx, Rate) }

// LoadAt is Load with another rate.
func (l *Lab) LoadAt(ctx context.Context, rate int) (*traffic.Producer, error) {
	p, err := l.Produce(ctx, "load", rate, 0)
	if err != nil {
		return nil, err
	}
	return p, l.UntilEach(ctx, 30*time.Second, "every replica has some records", func(p history.Partition) bool {
		for _, b := range p.Replicas {
			if p.LEO[b] < int64(rate) {
				return false
			}
		}
		return true
	})
}

// Inject injects a fault and records it.
func (l *Lab) Inject(ctx context.Context, f fault.Fault) error {
	if err := f.Available(l.Cluster); err != nil {
		return fmt.Errorf("%s of %v: %w", f.Name(), f.Targets(), err)
	}
	return l.phase(history.Inject, f, func() error { return f.Inject(ctx, l.Cluster) })
}

// Heal heals a fault and records it.
func (l *Lab) Heal(ctx context.Context, f fault.Fault) error {
	return l.phase(history.Heal, f, func() error { return f.Heal(ctx, l.Cluster) })
}

func (l *Lab) phase(phase string, f fault.Fault, do func() error) error {
	l.Log.Info(phase, "fault", f.Name(), "nodes", f.Targets())
	began := l.Rec.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s %s of %v: %w", phase, f.Name(), f.Targets(), err)
	}
	l.Rec.Record(history.Event{Fault: &history.Fault{Name: f.Name(), Phase: phase, Targets: f.Targets(), Began: began}})
	return nil
}

// Edit writes the identity files of the nodes, in that order, and records it.
func (l *Lab) Edit(ids []int32, nodes ...int32) error {
	l.Log.Info("edit of the identity file", "ids", ids, "nodes", nodes)
	began := l.Rec.Now()
	if err := l.Cluster.WriteIDs(ids, nodes...); err != nil {
		return err
	}
	l.Rec.Record(history.Event{Edit: &history.Edit{Nodes: nodes, IDs: ids, Began: began}})
	return nil
}

// Promote takes ids out of the lists: the controllers' files first. rest are the ids that stay.
func (l *Lab) Promote(rest ...int32) error {
	return l.Edit(rest, append(l.Cluster.ControllerIDs(), l.brokers()...)...)
}

// Demote makes ids observers: the brokers' files first. ids are all that are observers then.
func (l *Lab) Demote(ids ...int32) error {
	return l.Edit(ids, append(l.brokers(), l.Cluster.ControllerIDs()...)...)
}

// brokers gives the brokers that are not also controllers.
func (l *Lab) brokers() []int32 {
	controllers := l.Cluster.ControllerIDs()
	return slices.DeleteFunc(l.Cluster.BrokerIDs(), func(id int32) bool { return slices.Contains(controllers, id) })
}

// Until waits until a new view of the plan's topic meets the condition. Views from before the
// call do not count.
func (l *Lab) Until(ctx context.Context, limit time.Duration, what string, cond func(history.View) error) error {
	called := l.Rec.Now()
	return l.Cluster.Await(ctx, limit, what, func(context.Context) error {
		v := l.sampler.Last()
		if v.From < called {
			return errors.New("no new view yet")
		}
		return cond(v)
	})
}

// UntilEach waits until every partition of the topic meets the condition in one view.
func (l *Lab) UntilEach(ctx context.Context, limit time.Duration, what string, cond func(history.Partition) bool) error {
	return l.Until(ctx, limit, what, func(v history.View) error {
		for _, p := range v.Partitions {
			if p.Topic == l.Plan.Topic && !cond(p) {
				return fmt.Errorf("%s-%d: leader %d, ISR %v, log ends %v, via broker %d", p.Topic, p.ID, p.Leader, p.ISR, p.LEO, v.Via)
			}
		}
		return nil
	})
}

// Stays asks for the opposite of a wait: nothing is waited for, the sampler looks on for d. What
// it saw is judged later.
func (l *Lab) Stays(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// View gives a fresh view of the plan's topic.
func (l *Lab) View(ctx context.Context) (history.View, error) {
	var v history.View
	err := l.Until(ctx, 20*time.Second, "a view is taken", func(now history.View) error { v = now; return nil })
	return v, err
}

// Leader gives the current leader of a partition.
func (l *Lab) Leader(ctx context.Context, partition int32) (int32, error) {
	v, err := l.View(ctx)
	if err != nil {
		return -1, err
	}
	return v.Partitions[partition].Leader, nil
}

// Whole tells whether the ISR has all replicas but observers.
func (l *Lab) Whole(p history.Partition, observers ...int32) bool {
	for _, b := range p.Replicas {
		if slices.Contains(observers, b) == slices.Contains(p.ISR, b) {
			return false
		}
	}
	return p.Leader >= 0
}

// UntilWhole waits until the ISRs have all replicas but observers.
func (l *Lab) UntilWhole(ctx context.Context, limit time.Duration, observers ...int32) error {
	return l.UntilEach(ctx, limit, fmt.Sprintf("the ISRs have all replicas but %v", observers), func(p history.Partition) bool { return l.Whole(p, observers...) })
}

// UntilLine waits until each node has logged a line with the text since the mark that LogMark gave,
// and records the first such line of each.
func (l *Lab) UntilLine(ctx context.Context, limit time.Duration, marks map[int32]int64, text string) error {
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		err := l.Cluster.Await(ctx, limit, fmt.Sprintf("node %d logs %q", id, text), func(context.Context) error {
			line, err := l.Cluster.Node(id).FindLine(marks[id], text)
			if err == nil {
				l.Rec.Record(history.Event{Line: &history.Line{Node: id, Text: strings.ReplaceAll(line, l.Cluster.Dir, "CLUSTER")}})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LogMark gives the present ends of the nodes' logs.
func (l *Lab) LogMark(nodes ...int32) (map[int32]int64, error) {
	out := map[int32]int64{}
	for _, id := range nodes {
		end, err := l.Cluster.Node(id).LogEnd()
		if err != nil {
			return nil, err
		}
		out[id] = end
	}
	return out, nil
}
