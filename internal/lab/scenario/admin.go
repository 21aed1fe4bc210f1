package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
)

// CreateTopic creates a topic with the assignment, one list of brokers per partition. Settings are
// name=value.
func (l *Lab) CreateTopic(ctx context.Context, name string, assignment [][]int32, settings ...string) error {
	return l.createTopic(ctx, 20*time.Second, name, assignment, settings...)
}

func (l *Lab) createTopic(ctx context.Context, limit time.Duration, name string, assignment [][]int32, settings ...string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(limit.Milliseconds())
	t := cluster.Topic(name, assignment, append([]string{"min.insync.replicas=2"}, settings...)...)
	req.Topics = append(req.Topics, t)
	// Deleted at the end whatever the answer: some errors come with a topic.
	l.topics = append(l.topics, name)
	resp, err := l.Cluster.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if r.ErrorCode != 0 {
			return fmt.Errorf("create topic %s: %w", name, brokerError(r.ErrorCode, r.ErrorMessage))
		}
	}
	return nil
}

// Elect asks for an election of the partitions and gives the error code of each as text, empty for
// success.
func (l *Lab) Elect(ctx context.Context, how kadm.ElectLeadersHow, topic string, partitions ...int32) (map[int32]string, error) {
	adm, err := l.Cluster.Admin()
	if err != nil {
		return nil, err
	}
	l.Rec.Mark("elect", int64(how), fmt.Sprintf("%s %v", topic, partitions))
	res, err := adm.ElectLeaders(ctx, how, kadm.TopicsSet{topic: set(partitions)})
	if err != nil {
		return nil, fmt.Errorf("elect leaders of %s %v: %w", topic, partitions, err)
	}
	out := map[int32]string{}
	for _, r := range res[topic] {
		if r.Err != nil {
			out[r.Partition] = strings.SplitN(r.Err.Error(), ":", 2)[0]
		} else {
			out[r.Partition] = ""
		}
	}
	return out, nil
}

func set(ids []int32) map[int32]struct{} {
	out := map[int32]struct{}{}
	for _, id := range ids {
		out[id] = struct{}{}
	}
	return out
}

// watchAny waits until brokers know the topic and has the sampler look at it too.
func (l *Lab) watchAny(ctx context.Context, topic string) error {
	if err := l.look(ctx, topic); err != nil {
		return err
	}
	l.sampler.Watch(topic)
	return nil
}

// watch is watchAny and waits until the topic has a leader.
func (l *Lab) watch(ctx context.Context, topic string) error {
	if err := l.watchAny(ctx, topic); err != nil {
		return err
	}
	return l.Until(ctx, 20*time.Second, topic+" is sampled", func(v history.View) error {
		for _, p := range v.Partitions {
			if p.Topic == topic && p.Leader >= 0 {
				return nil
			}
		}
		return fmt.Errorf("no leader of %s yet", topic)
	})
}

// errNoLeader says that a partition has none, with what an election answered.
func errNoLeader(p history.Partition, election error) error {
	if election != nil {
		return election
	}
	return fmt.Errorf("%s-%d has no leader, ISR %v", p.Topic, p.ID, p.ISR)
}
