package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

// The settings of replication throttles (KIP-73).
const (
	leaderRate       = "leader.replication.throttled.rate"
	followerRate     = "follower.replication.throttled.rate"
	leaderReplicas   = "leader.replication.throttled.replicas"
	followerReplicas = "follower.replication.throttled.replicas"
)

// Throttle bounds what a move may send.
type Throttle struct {
	// Rate is bytes per second, for each broker; 0 for no bound.
	Rate int64 `json:"rate"`
	// Brokers have the rate, Leaders and Followers are the throttled replicas of each topic, as
	// partition:broker.
	Brokers   []int32             `json:"brokers"`
	Leaders   map[string][]string `json:"leaders"`
	Followers map[string][]string `json:"followers"`
}

// ThrottleOf gives the throttle for the changes: the brokers that send or get a copy, and of each
// partition the present replicas as senders, the added ones as receivers.
func ThrottleOf(changes []placement.Change, rate int64) Throttle {
	t := Throttle{Rate: rate, Leaders: map[string][]string{}, Followers: map[string][]string{}}
	if rate <= 0 {
		return t
	}
	for _, c := range changes {
		if len(c.Added) == 0 {
			continue
		}
		for _, b := range c.From {
			t.Leaders[c.Topic] = append(t.Leaders[c.Topic], fmt.Sprintf("%d:%d", c.ID, b))
		}
		for _, b := range c.Added {
			t.Followers[c.Topic] = append(t.Followers[c.Topic], fmt.Sprintf("%d:%d", c.ID, b))
		}
		t.Brokers = append(append(t.Brokers, c.From...), c.Added...)
	}
	t.Brokers = observer.With(t.Brokers)
	return t
}

// Topics are those with throttled replicas, sorted.
func (t Throttle) Topics() []string {
	var out []string
	for topic := range t.Followers {
		out = append(out, topic)
	}
	slices.Sort(out)
	return out
}

// Throttled gives the throttles that the broker knows of: its own rates and the topics' lists. A
// change of them reaches each broker in its own time, with the metadata. It needs DESCRIBE_CONFIGS
// on the cluster and on the topics.
func (c *Connection) Throttled(ctx context.Context, broker int32, topics []string) ([]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	ask := func(kind kmsg.ConfigResourceType, name string, settings ...string) {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, settings
		req.Resources = append(req.Resources, r)
	}
	ask(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker)), leaderRate, followerRate)
	for _, t := range topics {
		ask(kmsg.ConfigResourceTypeTopic, t, leaderReplicas, followerReplicas)
	}
	r, err := c.Client.Ask(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, res := range r.(*kmsg.DescribeConfigsResponse).Resources {
		if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
			return nil, denied(fmt.Errorf("%s: %w", res.ResourceName, err), "DESCRIBE_CONFIGS on the cluster and the topics")
		}
		for _, s := range res.Configs {
			own := s.Source == kmsg.ConfigSourceDynamicTopicConfig || s.Source == kmsg.ConfigSourceDynamicBrokerConfig || s.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig
			if own && s.Value != nil && *s.Value != "" {
				out = append(out, fmt.Sprintf("%s %s: %s=%s", strings.ToLower(res.ResourceType.String()), res.ResourceName, s.Name, *s.Value))
			}
		}
	}
	return out, nil
}

// SetThrottle sets the rates and the throttled replicas.
func (c *Connection) SetThrottle(ctx context.Context, t Throttle) error {
	rate := strconv.FormatInt(t.Rate, 10)
	return c.alter(ctx, t, func(kind kmsg.ConfigResourceType, name string) map[string]*string {
		if kind == kmsg.ConfigResourceTypeBroker {
			return map[string]*string{leaderRate: &rate, followerRate: &rate}
		}
		l, f := strings.Join(t.Leaders[name], ","), strings.Join(t.Followers[name], ",")
		return map[string]*string{leaderReplicas: &l, followerReplicas: &f}
	})
}

// ClearThrottle removes what SetThrottle has set.
func (c *Connection) ClearThrottle(ctx context.Context, t Throttle) error {
	return c.alter(ctx, t, func(kind kmsg.ConfigResourceType, _ string) map[string]*string {
		if kind == kmsg.ConfigResourceTypeBroker {
			return map[string]*string{leaderRate: nil, followerRate: nil}
		}
		return map[string]*string{leaderReplicas: nil, followerReplicas: nil}
	})
}

// alter changes settings of the throttle's brokers and topics; nil deletes one. A topic that is gone
// meanwhile has none. It needs ALTER_CONFIGS on the cluster and on the topics.
func (c *Connection) alter(ctx context.Context, t Throttle, settings func(kmsg.ConfigResourceType, string) map[string]*string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	add := func(kind kmsg.ConfigResourceType, name string) {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		for setting, value := range settings(kind, name) {
			s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			s.Name, s.Value = setting, value
			if value == nil {
				s.Op = kmsg.IncrementalAlterConfigOpDelete
			}
			r.Configs = append(r.Configs, s)
		}
		req.Resources = append(req.Resources, r)
	}
	for _, b := range t.Brokers {
		add(kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(b)))
	}
	for _, topic := range t.Topics() {
		add(kmsg.ConfigResourceTypeTopic, topic)
	}
	r, err := c.Client.Request(ctx, req)
	if err != nil {
		return err
	}
	var errs []error
	for _, res := range r.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if err := kerr.ErrorForCode(res.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			if res.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *res.ErrorMessage)
			}
			errs = append(errs, denied(fmt.Errorf("%s: %w", res.ResourceName, err), "ALTER_CONFIGS on the cluster and the topics"))
		}
	}
	return errors.Join(errs...)
}

// Sizes gives the bytes of each partition's log on its leader, by topic-partition; what is not
// answered is missing. It needs DESCRIBE on the cluster.
func (c *Connection) Sizes(ctx context.Context, parts []observer.Partition) map[string]int64 {
	byLeader := map[int32][]observer.Partition{}
	for _, p := range parts {
		if p.Leader != observer.NoLeader {
			byLeader[p.Leader] = append(byLeader[p.Leader], p)
		}
	}
	out := map[string]int64{}
	for leader, led := range byLeader {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		topics := map[string]int{}
		for _, p := range led {
			i, ok := topics[p.Topic]
			if !ok {
				t := kmsg.NewDescribeLogDirsRequestTopic()
				t.Topic = p.Topic
				req.Topics = append(req.Topics, t)
				i = len(req.Topics) - 1
				topics[p.Topic] = i
			}
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, p.ID)
		}
		r, err := c.Client.Ask(ctx, leader, req)
		if err != nil {
			continue
		}
		for _, d := range r.(*kmsg.DescribeLogDirsResponse).Dirs {
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					if !p.IsFuture {
						out[key(t.Topic, p.Partition)] += p.Size
					}
				}
			}
		}
	}
	return out
}
