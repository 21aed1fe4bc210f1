package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// Scope says how much of a cluster is looked at.
type Scope struct {
	// Topics are the names of topics; empty for all.
	Topics []string
}

// Look takes a snapshot without replica positions, at the time now. It fails when the brokers
// cannot be reached or a named topic is not there; what else cannot be asked is named in Missing.
//
// It needs DESCRIBE and DESCRIBE_CONFIGS on the topics, and DESCRIBE on the cluster.
func (c *Client) Look(ctx context.Context, scope Scope, now time.Time) (*Snapshot, error) {
	s := &Snapshot{Time: now, Missing: []string{}}
	controller, err := c.metadata(ctx, scope, s)
	if err != nil {
		return nil, err
	}
	abilities, err := c.abilities(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster what it can do: %w", err)
	}
	var live []int32
	for _, b := range s.Brokers {
		live = append(live, b.ID)
	}
	var fenced, quorum, reassignments, minISR, elr error
	var g errgroup.Group // the questions do not depend on each other; none fails the others
	var outside []Broker
	g.Go(func() error { outside, fenced = c.fencedBrokers(ctx); return nil })
	g.Go(func() error { s.Quorum, quorum = c.quorum(ctx, live, abilities); return nil })
	g.Go(func() error { reassignments = c.reassignments(ctx, scope, s, live, abilities); return nil })
	g.Go(func() error { minISR = c.minISR(ctx, s); return nil })
	g.Go(func() error { elr = c.elr(ctx, scope, s, abilities); return nil })
	_ = g.Wait() // every error is kept apart
	missing := func(what string, err error, needs string) {
		if err != nil {
			s.Missing = append(s.Missing, what+": "+why(err, needs))
		}
	}
	const describeCluster = "DESCRIBE on the cluster"
	missing("brokers that are fenced", fenced, describeCluster)
	missing("reassignments", reassignments, describeCluster)
	missing("min.insync.replicas", minISR, "DESCRIBE_CONFIGS on the topics")
	missing("eligible leader replicas", elr, "DESCRIBE on the topics")
	missing("the controllers' quorum", quorum, describeCluster)
	switch {
	case s.Quorum != nil && s.Quorum.Leader >= 0:
		s.Controller = Known(s.Quorum.Leader)
	case !abilities.quorum && controller >= 0: // ZooKeeper: the metadata names the real controller
		s.Controller = Known(controller)
	}
	s.addDead(outside)
	return s, ctx.Err()
}

// metadata fills in brokers and topics, and gives the controller's id as brokers tell clients.
func (c *Client) metadata(ctx context.Context, scope Scope, s *Snapshot) (int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range scope.Topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask(ctx, req, c.anybody, uncoded[*kmsg.MetadataResponse])
	if err != nil {
		return None, fmt.Errorf("ask the cluster for its metadata: %w", err)
	}
	if resp.ClusterID != nil {
		s.ClusterID = *resp.ClusterID
	}
	for _, b := range resp.Brokers {
		broker := Broker{ID: b.NodeID, Host: b.Host, Port: b.Port, Alive: true}
		if b.Rack != nil {
			broker.Rack = *b.Rack
		}
		s.Brokers = append(s.Brokers, broker)
	}
	s.Topics = make([]Topic, 0, len(resp.Topics))
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		topic := Topic{Name: *t.Topic, ID: t.TopicID, Internal: t.IsInternal, Partitions: make([]Partition, len(t.Partitions))}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			if len(scope.Topics) > 0 {
				return None, fmt.Errorf("topic %s: %s", *t.Topic, why(err, "DESCRIBE on the topic"))
			}
			topic.Problem = why(err, "DESCRIBE on the topic")
		}
		for i, p := range t.Partitions {
			topic.Partitions[i] = Partition{ID: p.Partition, Replicas: p.Replicas, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR}
		}
		slices.SortFunc(topic.Partitions, func(a, b Partition) int { return cmp.Compare(a.ID, b.ID) })
		s.Topics = append(s.Topics, topic)
	}
	slices.SortFunc(s.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return resp.ControllerID, nil
}

// addDead adds the brokers that are not alive: the fenced ones that the cluster still knows, and
// those that only show in assignments.
func (s *Snapshot) addDead(fenced []Broker) {
	known := map[int32]bool{}
	for _, b := range s.Brokers {
		known[b.ID] = true
	}
	add := func(b Broker) {
		if !known[b.ID] {
			known[b.ID] = true
			s.Brokers = append(s.Brokers, b)
		}
	}
	for _, b := range fenced {
		add(b)
	}
	for i := range s.Topics {
		for j := range s.Topics[i].Partitions {
			for _, id := range s.Topics[i].Partitions[j].Replicas {
				add(Broker{ID: id})
			}
		}
	}
	slices.SortFunc(s.Brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
}

// fencedBrokers gives the brokers that are registered and not alive (KIP-1073, 4.0 and later;
// before, none is told).
func (c *Client) fencedBrokers(ctx context.Context) ([]Broker, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp, err := ask(ctx, req, c.anybody, func(r *kmsg.DescribeClusterResponse) int16 { return r.ErrorCode })
	if err != nil {
		return nil, err
	}
	var out []Broker
	for _, b := range resp.Brokers {
		if !b.IsFenced {
			continue
		}
		broker := Broker{ID: b.NodeID, Host: b.Host, Port: b.Port}
		if b.Rack != nil {
			broker.Rack = *b.Rack
		}
		out = append(out, broker)
	}
	return out, nil
}

// abilities are what the cluster can be asked.
type abilities struct {
	quorum, elr bool
}

// elrFeature is the feature that switches eligible leader replicas on (KIP-966).
const elrFeature = "eligible.leader.replicas.version"

// abilities asks any broker. ZooKeeper brokers do not list DescribeQuorum.
func (c *Client) abilities(ctx context.Context) (abilities, error) {
	var a abilities
	resp, err := ask(ctx, kmsg.NewPtrApiVersionsRequest(), c.anybody, func(r *kmsg.ApiVersionsResponse) int16 { return r.ErrorCode })
	if err != nil {
		return a, err
	}
	describeQuorum := (&kmsg.DescribeQuorumRequest{}).Key()
	a.quorum = slices.ContainsFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == describeQuorum })
	a.elr = slices.ContainsFunc(resp.FinalizedFeatures, func(f kmsg.ApiVersionsResponseFinalizedFeature) bool {
		return f.Name == elrFeature && f.MaxVersionLevel > 0
	})
	return a, nil
}

// quorum gives the KRaft quorum, nil where there is none.
func (c *Client) quorum(ctx context.Context, live []int32, a abilities) (*Quorum, error) {
	if !a.quorum {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	resp, err := ask(ctx, req, c.forwarding(live, a), func(r *kmsg.DescribeQuorumResponse) int16 {
		if r.ErrorCode == 0 && len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 {
			return r.Topics[0].Partitions[0].ErrorCode
		}
		return r.ErrorCode
	})
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("the answer has %d topics, expected one with one partition", len(resp.Topics))
	}
	p := resp.Topics[0].Partitions[0]
	q := &Quorum{Leader: p.LeaderID, Epoch: p.LeaderEpoch}
	for _, v := range p.CurrentVoters {
		voter := Voter{ID: v.ReplicaID, LogEnd: v.LogEndOffset}
		if v.LastFetchTimestamp >= 0 {
			voter.Fetched = Known(time.UnixMilli(v.LastFetchTimestamp))
		}
		q.Voters = append(q.Voters, voter)
	}
	slices.SortFunc(q.Voters, func(a, b Voter) int { return cmp.Compare(a.ID, b.ID) })
	return q, nil
}

func (c *Client) reassignments(ctx context.Context, scope Scope, s *Snapshot, live []int32, a abilities) error {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	if len(scope.Topics) > 0 {
		for i := range s.Topics { // no copies: other fields are filled in at the same time
			rt := kmsg.NewListPartitionReassignmentsRequestTopic()
			rt.Topic = s.Topics[i].Name
			for j := range s.Topics[i].Partitions {
				rt.Partitions = append(rt.Partitions, s.Topics[i].Partitions[j].ID)
			}
			req.Topics = append(req.Topics, rt)
		}
	}
	resp, err := ask(ctx, req, c.forwarding(live, a), func(r *kmsg.ListPartitionReassignmentsResponse) int16 { return r.ErrorCode })
	if err != nil {
		return err
	}
	n := 0
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if q := s.partition(t.Topic, p.Partition); q != nil && len(p.AddingReplicas)+len(p.RemovingReplicas) > 0 {
				q.Adding, q.Removing = p.AddingReplicas, p.RemovingReplicas
				n++
			}
		}
	}
	s.Reassignments = Known(n)
	return nil
}

// configBatch is how many topics are asked for in one request, and elrBatch how many partitions.
const (
	configBatch = 2000
	elrBatch    = 2000
)

func (c *Client) minISR(ctx context.Context, s *Snapshot) error {
	var first error
	for start := 0; start < len(s.Topics); start += configBatch {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for i := start; i < min(start+configBatch, len(s.Topics)); i++ {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, s.Topics[i].Name, []string{"min.insync.replicas"}
			req.Resources = append(req.Resources, r)
		}
		resp, err := ask(ctx, req, c.anybody, uncoded[*kmsg.DescribeConfigsResponse])
		if err != nil {
			return err
		}
		for _, r := range resp.Resources {
			t := s.Topic(r.ResourceName)
			if t == nil {
				continue
			}
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				first = cmp.Or(first, fmt.Errorf("topic %s: %w", r.ResourceName, err))
				continue
			}
			for _, config := range r.Configs {
				if config.Name != "min.insync.replicas" || config.Value == nil {
					continue
				}
				n, err := strconv.ParseInt(*config.Value, 10, 32)
				if err != nil {
					return fmt.Errorf("topic %s: min.insync.replicas: %w", r.ResourceName, err)
				}
				t.MinISR = Known(int32(n))
			}
		}
	}
	return first
}

// elr asks for eligible leader replicas where the cluster has the feature on; elsewhere there
// are none.
func (c *Client) elr(ctx context.Context, scope Scope, s *Snapshot, a abilities) error {
	if !a.elr {
		for i := range s.Topics {
			for j := range s.Topics[i].Partitions {
				s.Topics[i].Partitions[j].ELR = Known[[]int32](nil)
			}
		}
		return nil
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = elrBatch
	if len(scope.Topics) > 0 {
		for i := range s.Topics { // in order, as the cursor wants it
			rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
			rt.Topic = s.Topics[i].Name
			req.Topics = append(req.Topics, rt)
		}
	}
	for {
		page := *req // the next one is made while this may still be asked for
		resp, err := ask(ctx, &page, c.anybody, uncoded[*kmsg.DescribeTopicPartitionsResponse])
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			if t.Topic == nil || t.ErrorCode != 0 {
				continue
			}
			for _, p := range t.Partitions {
				if q := s.partition(*t.Topic, p.Partition); q != nil && p.ErrorCode == 0 {
					q.ELR = Known(p.EligibleLeaderReplicas)
				}
			}
		}
		next := resp.NextCursor
		if next == nil {
			return nil
		}
		if at := req.Cursor; at != nil && (next.Topic < at.Topic || next.Topic == at.Topic && next.Partition <= at.Partition) {
			return fmt.Errorf("the answer's cursor does not move on from %s-%d", at.Topic, at.Partition)
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = next.Topic, next.Partition
		req.Cursor = &cursor
	}
}
