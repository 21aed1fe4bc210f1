package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/lab/segment"
	"observer-patch/internal/lab/traffic"
)

// Limit bounds a scenario: what is done plus what is checked at its end.
const Limit = 4 * time.Minute

// Execute runs the scenario on a healthy cluster and records it. An error of the scenario itself
// goes into the history, where it fails the run; only an error of the recording is returned.
// whole tells whether the cluster was left as it was found.
func (s Scenario) Execute(ctx context.Context, p Plan, c *cluster.Cluster, rec *history.Recorder, log *slog.Logger) (whole bool, err error) {
	l := &Lab{Plan: p, Cluster: c, Rec: rec, Log: log.With("scenario", s.ID)}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(s.Limit, Limit)+time.Duration(p.Seconds)*time.Second)
	defer cancel()
	err = l.prepare(bounded)
	if err == nil {
		err = s.Run(bounded, l)
	}
	if err == nil {
		err = l.settle(bounded)
	}
	l.close()
	if err != nil {
		log.Warn("the run did not go through", "scenario", s.ID, "cause", err)
		rec.Mark(failure, 0, err.Error())
		return false, ctx.Err()
	}
	return l.remove(bounded) == nil, nil
}

// prepare writes the identity files, makes the topic and begins to sample.
func (l *Lab) prepare(ctx context.Context) error {
	if err := l.initial(); err != nil {
		return err
	}
	if err := l.CreateTopic(ctx, l.Plan.Topic, l.Plan.Assignment); err != nil {
		return err
	}
	l.sampler = probe.Start(ctx, l.Cluster, l.Rec, l.Plan.Topic)
	return l.UntilWhole(ctx, time.Minute, l.Plan.Observers...)
}

// initial gives every node the plan's list. Nodes that have had it all along never were without it;
// for others the list counts from now, as after any edit.
func (l *Lab) initial() error {
	if l.Plan.Unpatched {
		return nil
	}
	nodes := append(l.Cluster.ControllerIDs(), l.brokers()...)
	same := true
	for _, id := range nodes {
		has, err := l.Cluster.Node(id).HasIDs(l.Plan.Observers)
		if err != nil {
			return err
		}
		same = same && has
	}
	if !same {
		return l.Edit(l.Plan.Observers, nodes...)
	}
	l.Rec.Record(history.Event{Edit: &history.Edit{Nodes: nodes, IDs: l.Plan.Observers, Initial: true}})
	return nil
}

// settle brings the cluster to rest and records what is in it: every broker back, every replica at
// the same end, the log as consumers read it, and the segment files of every replica.
func (l *Lab) settle(ctx context.Context) error {
	for _, p := range l.producers {
		p.Stop()
	}
	if err := l.UntilEach(ctx, 90*time.Second, "all replicas have the same log end", func(p history.Partition) bool {
		for _, b := range p.Replicas {
			end, ok := p.LEO[b]
			if !ok || end != p.LEO[p.Replicas[0]] {
				return false
			}
		}
		return p.Leader >= 0 && p.HW == p.LEO[p.Leader]
	}); err != nil {
		return err
	}
	v, err := l.View(ctx)
	if err != nil {
		return err
	}
	l.sampler.Stop()
	for _, p := range v.Partitions {
		for _, committed := range []bool{false, true} {
			view := traffic.View{End: p.HW, Committed: committed, Limit: time.Minute}
			if err := traffic.Read(ctx, l.Cluster.Addrs(), p.Topic, p.ID, view, l.Rec); err != nil {
				return err
			}
		}
		for _, b := range p.Replicas {
			l.readReplica(p, b)
		}
	}
	return nil
}

// readReplica summarizes a replica's segment files. The broker may run: nothing writes any more, and
// a page that is not on disk yet is read from the page cache.
func (l *Lab) readReplica(p history.Partition, broker int32) {
	dir := filepath.Join(l.Cluster.Node(broker).DataDir(), fmt.Sprintf("%s-%d", p.Topic, p.ID))
	sum, err := segment.Summarize(dir)
	log := history.ReplicaLog{Broker: broker, Topic: p.Topic, Partition: p.ID, Leader: broker == p.Leader,
		Batches: sum.Batches, Bytes: sum.Bytes, SHA256: sum.SHA256, End: sum.End}
	if err != nil {
		log.Err = err.Error()
	}
	l.Rec.Record(history.Event{Log: &log})
}

// close ends what still runs in the background.
func (l *Lab) close() {
	for _, p := range l.producers {
		p.Abandon()
	}
	if l.sampler != nil {
		l.sampler.Stop()
	}
}

// remove deletes the run's topics and asks that all brokers are there, so that the next scenario
// meets the cluster as this one did.
func (l *Lab) remove(ctx context.Context) error {
	adm, err := l.Cluster.Admin()
	if err != nil {
		return err
	}
	slices.Sort(l.topics)
	done, err := adm.DeleteTopics(ctx, slices.Compact(l.topics)...)
	if err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	var errs []error
	for _, r := range done {
		if !errors.Is(r.Err, kerr.UnknownTopicOrPartition) { // one whose creation was refused
			errs = append(errs, r.Err)
		}
	}
	for _, n := range l.Cluster.Nodes {
		if !n.Answers() {
			errs = append(errs, fmt.Errorf("node %d was left down", n.ID))
		}
	}
	return errors.Join(append(errs, l.Cluster.AwaitBrokers(ctx, l.Cluster.BrokerIDs()...))...)
}
