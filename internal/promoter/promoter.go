// Package promoter changes who is an observer: it writes the identity files of a cluster in the
// right order, moves leaders, asks for elections, and, as automatic promotion, does so by itself
// within nine rules. What may be done is decided by package observer; what was begun is kept
// durably, so that a killed run leaves nothing half done that nobody knows of.
package promoter

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

// Kafka is the cluster over its own protocol.
type Kafka interface {
	// Look gives the cluster id, the brokers, whether a controller majority answers, and every
	// partition. The nodes of the view are empty: their files are not Kafka's.
	Look(ctx context.Context) (observer.View, error)
	// Held gives the partitions of which a live broker has a log, by topic and id; nothing else of them is set. It does not depend
	// on the right to see their topics.
	Held(ctx context.Context, broker int32) ([]observer.Partition, error)
	// Positions asks each live broker for the log end of its replicas of the partitions, with epochs
	// also for the leader epoch of the last batch, without which positions do not compare. The first key is topic-partition, the second the broker; whoever did not answer
	// is there with a cause. Watermarks are those of the leaders that answered.
	Positions(ctx context.Context, parts []observer.Partition, epochs bool) (Positions, error)
	// Elect asks the controller for a preferred or unclean election and gives its answer for each
	// partition, nil for one that has a leader now or needed no election.
	Elect(ctx context.Context, kind observer.ElectionKind, parts []observer.Partition) (map[string]error, error)
	// Reorder gives each partition its Replicas in the given order, which has the same members.
	Reorder(ctx context.Context, parts []observer.Partition) error
}

// Positions are replica positions and high watermarks of partitions, by topic-partition. Bounds has
// the log end of a leader that could not tell its high watermark yet.
type Positions struct {
	Replicas   map[string]map[int32]observer.Position
	Watermarks map[string]int64
	Bounds     map[string]int64
}

// Committed gives the high watermark of the partition, or what it cannot be above: a replica that has
// everything up to there lacks nothing that is committed. Without the second, nothing would be known
// of a partition whose leader was elected just before it fell under its minimum.
func (p Positions) Committed(partition string) (int64, bool) {
	if hw, ok := p.Watermarks[partition]; ok {
		return hw, true
	}
	end, ok := p.Bounds[partition]
	return end, ok
}

// Files are the identity files of the inventory's nodes.
type Files interface {
	// Read reads every file; a node that cannot be read says why.
	Read(ctx context.Context) []observer.Node
	// Write replaces a node's file, and refuses when it is not what Read last saw.
	Write(ctx context.Context, node int32, content []byte) (hosts.Undo, error)
	// Rollback puts back what Write replaced.
	Rollback(ctx context.Context, u hosts.Undo) error
}

// Operator does what an operator, or automatic promotion, has decided on.
type Operator struct {
	Kafka Kafka
	Files Files
	Store *Store
	Log   *slog.Logger
	// Now gives the time, Poll is the pause between two looks while something is waited for.
	Now  func() time.Time
	Poll time.Duration
	// Strict says that the nodes read their files in strict mode, see observer.RenderFile.
	Strict bool
	// Who is recorded with what is changed.
	Who string
	// Fence is asked right before the first file of a promotion or demotion, which its error stops;
	// nil where nobody else acts by itself.
	Fence func(ctx context.Context) error
}

// View looks at the cluster and at every identity file.
func (o *Operator) View(ctx context.Context) (observer.View, error) {
	v, err := o.Kafka.Look(ctx)
	if err != nil {
		return v, fmt.Errorf("look at the cluster: %w", err)
	}
	v.Nodes = o.Files.Read(ctx)
	return v, nil
}

// DemotionView is View and, as partitions that are not known, those of which the broker has a log while the cluster does not
// show their topics to this client: without the right to DESCRIBE a topic, Kafka leaves it out of its metadata without a
// word, and no rule would have been asked about it. A broker that is not alive cannot be asked.
func (o *Operator) DemotionView(ctx context.Context, broker int32) (observer.View, error) {
	v, err := o.View(ctx)
	if err != nil {
		return v, err
	}
	return o.shown(ctx, v, broker)
}

// shown is what DemotionView adds to a view.
func (o *Operator) shown(ctx context.Context, v observer.View, broker int32) (observer.View, error) {
	if !v.IsLive(broker) {
		return v, nil
	}
	var err error
	v.Partitions, err = o.withHidden(ctx, slices.Clone(v.Partitions), broker)
	return v, err
}

// withHidden adds the partitions of which the broker has a log and which are not among the given ones.
func (o *Operator) withHidden(ctx context.Context, parts []observer.Partition, broker int32) ([]observer.Partition, error) {
	held, err := o.Kafka.Held(ctx, broker)
	if err != nil {
		return parts, fmt.Errorf("which partitions broker %d has is not known, and so not whether all of them were looked at: %w", broker, err)
	}
	shown := map[string]bool{}
	for _, p := range parts {
		shown[p.String()] = true
	}
	for _, p := range held {
		if !shown[p.String()] {
			p.Leader, p.Error = observer.NoLeader, fmt.Sprintf("broker %d has a log of it, but the cluster does not show the topic: it was deleted just now, or DESCRIBE on it is not granted", broker)
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// until looks again and again until cond gives no more reasons to wait, and logs what is waited
// for when that changes. At the limit it gives the last view and an error with the reasons.
func (o *Operator) until(ctx context.Context, limit time.Duration, what string, cond func(observer.View) []string) (observer.View, error) {
	deadline := o.Now().Add(limit)
	tick := time.NewTicker(o.Poll)
	defer tick.Stop()
	said := ""
	for {
		v, err := o.Kafka.Look(ctx)
		reasons := []string{}
		if err != nil {
			reasons = append(reasons, err.Error())
		} else if reasons = cond(v); len(reasons) == 0 {
			return v, nil
		}
		if ctx.Err() != nil {
			return v, fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		}
		if !o.Now().Before(deadline) {
			return v, fmt.Errorf("waited %v until %s: %d to go, the first: %s", limit, what, len(reasons), reasons[0])
		}
		if now := fmt.Sprintf("%d to go, the first: %s", len(reasons), reasons[0]); now != said {
			o.Log.Info("waiting until "+what, "left", len(reasons), "first", reasons[0])
			said = now
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
