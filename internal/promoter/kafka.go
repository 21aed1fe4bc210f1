package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/cluster"
	"observer-patch/internal/observer"
)

// quorumFresh is how far behind the leader's own time a controller's last fetch may lie for it to
// count as following. Followers fetch at least every half second.
const quorumFresh = 5 * time.Second

// electTimeout is how long the controller may take for an election or a reassignment.
const electTimeout = 15 * time.Second

// Connection is a cluster over a client.
type Connection struct {
	Client *cluster.Client
	Now    func() time.Time
}

// Look gives the whole cluster. It needs DESCRIBE on the cluster and DESCRIBE and DESCRIBE_CONFIGS
// on every topic; what it is not told is unknown, and refused where it decides.
func (c *Connection) Look(ctx context.Context) (observer.View, error) {
	s, err := c.Client.Look(ctx, cluster.Scope{}, c.Now())
	if err != nil {
		return observer.View{}, err
	}
	return ViewOf(s), nil
}

// ViewOf gives the snapshot in the form that the rules look at, without nodes.
func ViewOf(s *cluster.Snapshot) observer.View {
	v := observer.View{ClusterID: s.ClusterID, At: s.Time, Majority: majority(s)}
	for _, b := range s.Brokers {
		if b.Alive {
			v.Live = append(v.Live, b.ID)
		}
	}
	if s.Quorum != nil {
		v.Following = s.Quorum.Following()
		for _, voter := range s.Quorum.Voters {
			v.Voters = append(v.Voters, voter.ID)
		}
	}
	for _, t := range s.Topics {
		if t.Problem != "" && len(t.Partitions) == 0 {
			v.Partitions = append(v.Partitions, observer.Partition{Topic: t.Name, ID: -1, Leader: observer.NoLeader, Error: t.Problem})
		}
		for _, p := range t.Partitions {
			q := observer.Partition{Topic: t.Name, ID: p.ID, Leader: p.Leader, Replicas: p.Replicas, Adding: p.Adding, Removing: p.Removing,
				ISR: p.ISR, ELR: p.ELR.V, MinISR: int(t.MinISR.V), Error: t.Problem}
			if q.Leader < 0 {
				q.Leader = observer.NoLeader
			}
			if !s.Reassignments.Known && q.Error == "" {
				q.Error = "whether a reassignment is running is not known"
			}
			v.Partitions = append(v.Partitions, q)
		}
	}
	return v
}

// Held asks the broker for its log folders (KIP-113). It needs DESCRIBE on the cluster.
func (c *Connection) Held(ctx context.Context, broker int32) ([]observer.Partition, error) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	resp, err := c.Client.Ask(ctx, broker, req)
	if err != nil {
		return nil, fmt.Errorf("ask broker %d for its log folders: %w", broker, err)
	}
	dirs := resp.(*kmsg.DescribeLogDirsResponse)
	if err := kerr.ErrorForCode(dirs.ErrorCode); err != nil {
		return nil, denied(fmt.Errorf("log folders of broker %d: %w", broker, err), "DESCRIBE on the cluster")
	}
	var out []observer.Partition
	for _, d := range dirs.Dirs {
		if err := kerr.ErrorForCode(d.ErrorCode); err != nil {
			return nil, fmt.Errorf("log folder %s of broker %d: %w", d.Dir, broker, err)
		}
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				out = append(out, observer.Partition{Topic: t.Topic, ID: p.Partition})
			}
		}
	}
	return out, nil
}

// Up tells whether the broker takes part: it answers itself, and the cluster lists it as one that
// is registered and not fenced. It is down when its port refuses connections or the cluster does
// not list it; a broker that only does not answer may be either, which is the error. It needs no
// right.
func (c *Connection) Up(ctx context.Context, broker int32) (bool, error) {
	_, own := c.Client.Ask(ctx, broker, kmsg.NewPtrApiVersionsRequest())
	if errors.Is(own, syscall.ECONNREFUSED) {
		return false, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(r.(*kmsg.MetadataResponse).Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == broker }) {
		return false, nil
	}
	return own == nil, own
}

// majority tells whether an active controller answered and a majority of the voters follows it, by
// the leader's own clock; in ZooKeeper mode, whether the controlling broker is alive.
func majority(s *cluster.Snapshot) bool {
	if s.Quorum == nil {
		id, ok := s.Controller.Get()
		return ok && s.Broker(id).Alive
	}
	var newest time.Time
	for _, v := range s.Quorum.Voters {
		if v.Fetched.Known && v.Fetched.V.After(newest) {
			newest = v.Fetched.V
		}
	}
	following := 0
	for _, v := range s.Quorum.Voters {
		if v.Fetched.Known && newest.Sub(v.Fetched.V) <= quorumFresh || v.ID == s.Quorum.Leader {
			following++
		}
	}
	return s.Quorum.Leader >= 0 && 2*following > len(s.Quorum.Voters)
}

// Positions asks every live replica of the partitions for its log end, and with epochs for the
// leader epoch of its last batch too. Epochs need READ on the topics.
func (c *Connection) Positions(ctx context.Context, parts []observer.Partition, epochs bool) (Positions, error) {
	out := Positions{Replicas: map[string]map[int32]observer.Position{}, Watermarks: map[string]int64{}, Bounds: map[string]int64{}}
	wanted := map[string]bool{}
	scope := cluster.Scope{}
	for _, p := range parts {
		wanted[p.String()] = true
		scope.Topics = append(scope.Topics, p.Topic)
	}
	if len(parts) == 0 {
		return out, nil
	}
	slices.Sort(scope.Topics)
	scope.Topics = slices.Compact(scope.Topics)
	s, err := c.Client.Look(ctx, scope, c.Now())
	if err != nil {
		return out, err
	}
	depth := cluster.Logs
	if epochs {
		depth = cluster.Epochs
	}
	if err := c.Client.Positions(ctx, s, depth, func(t *cluster.Topic, p *cluster.Partition, _ int32) bool {
		return wanted[key(t.Name, p.ID)]
	}); err != nil {
		return out, err
	}
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			name := key(t.Name, p.ID)
			if !wanted[name] {
				continue
			}
			if hw, ok := p.HighWatermark.Get(); ok {
				out.Watermarks[name] = hw
			}
			if end, ok := p.CommittedBelow.Get(); ok {
				out.Bounds[name] = end
			}
			out.Replicas[name] = map[int32]observer.Position{}
			for _, q := range p.Positions {
				out.Replicas[name][q.Broker] = positionOf(q, epochs)
			}
		}
	}
	return out, nil
}

func positionOf(q cluster.Position, epochs bool) observer.Position {
	pos := observer.Position{Broker: q.Broker, End: q.LogEnd.V, Epoch: q.LastEpoch.V}
	if !q.LogEnd.Known || epochs && !q.LastEpoch.Known {
		pos.Cause = q.Problem
		if pos.Cause == "" {
			pos.Cause = "not answered"
		}
	}
	return pos
}

// Elect asks the controller. It needs ALTER on the cluster.
func (c *Connection) Elect(ctx context.Context, kind observer.ElectionKind, parts []observer.Partition) (map[string]error, error) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.TimeoutMillis = int32(electTimeout / time.Millisecond)
	switch kind {
	case observer.Preferred:
		req.ElectionType = 0
	case observer.Unclean:
		req.ElectionType = 1
	default:
		return nil, fmt.Errorf("election of kind %q: expected %s or %s", kind, observer.Preferred, observer.Unclean)
	}
	out := map[string]error{}
	for _, p := range parts {
		i := slices.IndexFunc(req.Topics, func(t kmsg.ElectLeadersRequestTopic) bool { return t.Topic == p.Topic })
		if i < 0 {
			t := kmsg.NewElectLeadersRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
			i = len(req.Topics) - 1
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p.ID)
		out[p.String()] = errors.New("not answered")
	}
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := r.(*kmsg.ElectLeadersResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, denied(err, MayAlter.String())
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			if errors.Is(err, kerr.ElectionNotNeeded) {
				err = nil
			}
			if err != nil && p.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *p.ErrorMessage)
			}
			out[key(t.Topic, p.Partition)] = denied(err, MayAlter.String())
		}
	}
	return out, nil
}

// Reorder gives the partitions their replicas in a new order. It needs ALTER on the cluster.
func (c *Connection) Reorder(ctx context.Context, parts []observer.Partition) error {
	return c.Reassign(ctx, parts)
}

// Reassign gives the partitions their Replicas as new assignments and does not wait until data is
// copied.
func (c *Connection) Reassign(ctx context.Context, parts []observer.Partition) error {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = int32(electTimeout / time.Millisecond)
	for _, p := range parts {
		i := slices.IndexFunc(req.Topics, func(t kmsg.AlterPartitionAssignmentsRequestTopic) bool { return t.Topic == p.Topic })
		if i < 0 {
			t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
			i = len(req.Topics) - 1
		}
		rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		rp.Partition, rp.Replicas = p.ID, p.Replicas
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return err
	}
	resp := r.(*kmsg.AlterPartitionAssignmentsResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return denied(err, MayAlter.String())
	}
	var errs []error
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				if p.ErrorMessage != nil {
					err = fmt.Errorf("%w: %s", err, *p.ErrorMessage)
				}
				errs = append(errs, fmt.Errorf("%s: %w", key(t.Topic, p.Partition), err))
			}
		}
	}
	return errors.Join(errs...)
}
