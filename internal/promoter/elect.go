package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

// Vote is the election of one partition.
type Vote struct {
	Partition observer.Partition `json:"partition"`
	Election  observer.Election  `json:"election"`
	// Bound is how much an unclean election loses at most, by what was recorded before.
	Bound *observer.Bound `json:"bound,omitempty"`
	// Outcome is what came of it, empty before.
	Outcome string `json:"outcome,omitempty"`
}

// Ballot is what an election command will ask for.
type Ballot struct {
	ClusterID string  `json:"cluster_id"`
	IDs       []int32 `json:"ids"`
	Accepted  bool    `json:"accept_data_loss"`
	Votes     []Vote  `json:"votes"`
	// Refusals are about the cluster; those of a partition are in its vote.
	Refusals []observer.Refusal `json:"refusals,omitempty"`
}

// Refuse gives every refusal of the ballot as an error with exit code 5, nil when there is none.
func (b Ballot) Refuse() error {
	all := slices.Clone(b.Refusals)
	for _, v := range b.Votes {
		all = append(all, v.Election.Refusals...)
	}
	return exit.With(exit.Refused, observer.Refused(all))
}

// Lossy gives the votes that may lose records.
func (b Ballot) Lossy() []Vote {
	return slices.DeleteFunc(slices.Clone(b.Votes), func(v Vote) bool { return v.Election.Kind != observer.Unclean || !v.Election.Lossy })
}

// Ballot decides on the election of every leaderless partition that chosen wants: clean where a
// member of the ISR or ELR is alive, otherwise by comparing the logs of all live replicas.
func (o *Operator) Ballot(ctx context.Context, chosen func(observer.Partition) bool, acceptLoss bool) (Ballot, error) {
	v, err := o.View(ctx)
	if err != nil {
		return Ballot{}, err
	}
	ids, refusals := v.InForce()
	b := Ballot{ClusterID: v.ClusterID, IDs: observer.With(ids), Accepted: acceptLoss, Refusals: refusals}
	var none []observer.Partition
	for _, p := range v.Partitions {
		if p.Leader == observer.NoLeader && chosen(p) {
			none = append(none, p)
		}
	}
	if len(none) == 0 {
		return b, nil
	}
	b.Votes, err = o.votes(ctx, v, none, b.IDs, acceptLoss)
	return b, err
}

func (o *Operator) votes(ctx context.Context, v observer.View, parts []observer.Partition, ids []int32, acceptLoss bool) ([]Vote, error) {
	positions, err := o.Kafka.Positions(ctx, parts, true)
	if err != nil {
		return nil, fmt.Errorf("ask for replica positions: %w", err)
	}
	recordings, err := o.Store.Recordings()
	if err != nil {
		return nil, err
	}
	var out []Vote
	for _, p := range parts {
		vote := Vote{Partition: p, Election: v.ChooseElection(p, ids, positions.Replicas[p.String()], acceptLoss)}
		if len(vote.Election.Compared) > 0 && vote.Election.Leader != observer.NoLeader {
			end := positions.Replicas[p.String()][vote.Election.Leader].End
			bound := recordings[p.String()].Bound(end, o.Now())
			vote.Bound = &bound
		}
		out = append(out, vote)
	}
	return out, nil
}

// Elect does the ballot. A preferred election is asked for first, always: it loses nothing. What
// is leaderless after it is looked at again right before the unclean one, and refused when
// anything has changed. Each vote gets its outcome; refused and failed ones are in the error.
func (o *Operator) Elect(ctx context.Context, b Ballot, limit time.Duration) (Ballot, error) {
	if len(b.Refusals) > 0 {
		return b, exit.With(exit.Refused, observer.Refused(b.Refusals))
	}
	var errs []error
	var asked []observer.Partition
	for i, vote := range b.Votes {
		if vote.Election.Kind == observer.Impossible {
			b.Votes[i].Outcome = "refused"
			errs = append(errs, exit.With(exit.Refused, observer.Refused(vote.Election.Refusals)))
			continue
		}
		asked = append(asked, vote.Partition)
	}
	if len(asked) == 0 {
		return b, refusedFirst(errs)
	}
	if _, err := o.Kafka.Elect(ctx, observer.Preferred, asked); err != nil {
		return b, errors.Join(append(errs, fmt.Errorf("preferred election: %w", err))...)
	}
	unclean, err := o.afterPreferred(ctx, &b)
	if err != nil {
		return b, err
	}
	if len(unclean) > 0 {
		errs = append(errs, o.electUnclean(ctx, &b, unclean, limit))
	}
	for i := range b.Votes {
		if b.Votes[i].Outcome == "" {
			errs = append(errs, fmt.Errorf("%s has no leader: a preferred election was expected to make broker %d lead", b.Votes[i].Partition, b.Votes[i].Election.Leader))
			b.Votes[i].Outcome = "no leader"
		}
	}
	return b, refusedFirst(errs)
}

// afterPreferred fills in the outcome of what the preferred election has solved, and gives the
// indexes of the votes that need an unclean one.
func (o *Operator) afterPreferred(ctx context.Context, b *Ballot) ([]int, error) {
	v, err := o.Kafka.Look(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the cluster after the preferred election: %w", err)
	}
	leaders := map[string]int32{}
	for _, p := range v.Partitions {
		leaders[p.String()] = p.Leader
	}
	var unclean []int
	for i, vote := range b.Votes {
		leader, ok := leaders[vote.Partition.String()]
		switch {
		case vote.Outcome != "":
		case ok && leader != observer.NoLeader:
			b.Votes[i].Outcome = fmt.Sprintf("led by %d, nothing lost", leader)
		case vote.Election.Kind == observer.Unclean:
			unclean = append(unclean, i)
		}
	}
	return unclean, nil
}

// electUnclean reorders where that is needed, decides anew on what is there now, and asks for the
// election of what still stands.
func (o *Operator) electUnclean(ctx context.Context, b *Ballot, votes []int, limit time.Duration) error {
	var reorder []observer.Partition
	var changes []placement.Change
	for _, i := range votes {
		if order := b.Votes[i].Election.Assignment; order != nil {
			p := b.Votes[i].Partition
			changes = append(changes, placement.Change{Topic: p.Topic, ID: p.ID, From: p.Replicas, To: order})
			p.Replicas = order
			reorder = append(reorder, p)
		}
	}
	if len(reorder) > 0 {
		undo, err := o.Store.keep(beforeElection, o.Now(), changes)
		if err != nil {
			return fmt.Errorf("keep the order of replicas that is about to change: %w; nothing was elected: make room, or name another folder by --state-dir", err)
		}
		o.Log.Info("another replica is put first", "partitions", len(changes), "the order before, once there is a leader", undo)
		if err := o.Kafka.Reorder(ctx, reorder); err != nil {
			return fmt.Errorf("put the best replica first: %w", err)
		}
		if err := o.untilOrdered(ctx, reorder, limit); err != nil {
			return err
		}
	}
	parts, errs := o.standing(ctx, b, votes)
	if len(parts) == 0 {
		return refusedFirst(errs)
	}
	answers, err := o.Kafka.Elect(ctx, observer.Unclean, parts)
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("unclean election: %w", err))...)
	}
	_, err = o.until(ctx, limit, "the elected replicas lead", func(v observer.View) []string {
		var left []string
		for _, p := range v.Partitions {
			for _, i := range votes {
				vote := &b.Votes[i]
				if p.String() != vote.Partition.String() || vote.Outcome == "refused" {
					continue
				}
				switch {
				case p.Leader == observer.NoLeader:
					left = append(left, fmt.Sprintf("%s has no leader (%v)", p, answers[p.String()]))
				case p.Leader == vote.Election.Leader:
					vote.Outcome = fmt.Sprintf("led by %d", p.Leader)
				default:
					vote.Outcome = fmt.Sprintf("led by %d, expected %d", p.Leader, vote.Election.Leader)
				}
			}
		}
		return left
	})
	for _, i := range votes {
		vote := &b.Votes[i]
		if vote.Outcome == "" {
			vote.Outcome = "no leader"
		}
		if vote.Outcome != "refused" && vote.Outcome != fmt.Sprintf("led by %d", vote.Election.Leader) {
			errs = append(errs, fmt.Errorf("%s: %s", vote.Partition, vote.Outcome))
		}
	}
	return refusedFirst(append(errs, err))
}

// standing looks again, right before the election, and gives the partitions whose decision holds.
func (o *Operator) standing(ctx context.Context, b *Ballot, votes []int) ([]observer.Partition, []error) {
	v, err := o.View(ctx)
	if err != nil {
		return nil, []error{fmt.Errorf("look again before the election: %w", err)}
	}
	ids, refusals := v.InForce()
	if len(refusals) > 0 {
		return nil, []error{exit.With(exit.Refused, observer.Refused(refusals))}
	}
	var now []observer.Partition
	var of []int
	for _, i := range votes {
		for _, p := range v.Partitions {
			if p.String() == b.Votes[i].Partition.String() {
				now, of = append(now, p), append(of, i)
			}
		}
	}
	again, err := o.votes(ctx, v, now, observer.With(ids), b.Accepted)
	if err != nil {
		return nil, []error{err}
	}
	var parts []observer.Partition
	var errs []error
	for k, i := range of {
		vote := &b.Votes[i]
		refusals := vote.Election.StillHolds(now[k], again[k].Election)
		switch {
		case len(refusals) > 0:
			vote.Outcome = "refused"
			errs = append(errs, exit.With(exit.Refused, observer.Refused(refusals)))
		case again[k].Election.Kind == observer.NotNeeded:
			vote.Election.Leader = now[k].Leader
			vote.Outcome = fmt.Sprintf("led by %d", now[k].Leader)
		case again[k].Election.Kind == observer.Preferred:
			vote.Outcome = "refused"
			errs = append(errs, exit.With(exit.Refused, fmt.Errorf("%s: a member of the ISR or ELR has returned: run the command again, its election loses nothing", now[k])))
		default:
			vote.Bound = again[k].Bound
			parts = append(parts, now[k])
		}
	}
	return parts, errs
}

func (o *Operator) untilOrdered(ctx context.Context, parts []observer.Partition, limit time.Duration) error {
	want := map[string][]int32{}
	for _, p := range parts {
		want[p.String()] = p.Replicas
	}
	_, err := o.until(ctx, limit, "the replicas are in their new order", func(v observer.View) []string {
		var out []string
		for _, p := range v.Partitions {
			if order, ok := want[p.String()]; ok && !slices.Equal(order, p.Replicas) {
				out = append(out, fmt.Sprintf("%s: replicas %v", p, p.Replicas))
			}
		}
		return out
	})
	return err
}

// refusedFirst joins errors, with exit code 5 when one of them has it.
func refusedFirst(errs []error) error {
	all := errors.Join(errs...)
	for _, err := range errs {
		if exit.Code(err) == exit.Refused {
			return exit.With(exit.Refused, all)
		}
	}
	return all
}

// ElectPreferred asks for a preferred election of the partitions, which loses nothing, and gives
// who leads each of them afterwards. Partitions that are leaderless then are the error.
func (o *Operator) ElectPreferred(ctx context.Context, parts []observer.Partition, limit time.Duration) (map[string]int32, error) {
	answers, err := o.Kafka.Elect(ctx, observer.Preferred, parts)
	if err != nil {
		return nil, fmt.Errorf("preferred election: %w", err)
	}
	after := map[string]int32{}
	refused := map[string]bool{}
	var errs []error
	for _, p := range parts {
		after[p.String()] = observer.NoLeader
		if err := answers[p.String()]; err != nil {
			refused[p.String()] = true
			errs = append(errs, fmt.Errorf("preferred election of %s: %w", p, err))
		}
	}
	_, err = o.until(ctx, limit, "the elected replicas lead", func(v observer.View) []string {
		var left []string
		for _, p := range v.Partitions {
			if _, ok := after[p.String()]; !ok {
				continue
			}
			after[p.String()] = p.Leader
			if p.Leader == observer.NoLeader && !refused[p.String()] {
				left = append(left, p.String()+" has no leader")
			}
		}
		return left
	})
	errs = append(errs, err)
	for _, p := range parts {
		if after[p.String()] == observer.NoLeader && !refused[p.String()] && err == nil {
			errs = append(errs, fmt.Errorf("who leads %s is not known: the cluster shows it no more", p))
		}
	}
	return after, errors.Join(errs...)
}
