package probe

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/lab/history"
)

// eligible replaces what the view says of leaders and ISRs by what the same broker answers to
// DescribeTopicPartitions, which has the ELR beside them: all from one moment.
func eligible(ctx context.Context, a Asker, v *history.View) error {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, p := range v.Partitions {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.Topic {
			t := kmsg.NewDescribeTopicPartitionsRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
		}
	}
	resp, err := a.Ask(ctx, v.Via, req)
	if err != nil {
		return fmt.Errorf("eligible leader replicas: %w", err)
	}
	known := map[key]kmsg.DescribeTopicPartitionsResponseTopicPartition{}
	for _, t := range resp.(*kmsg.DescribeTopicPartitionsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("eligible leader replicas: %w", kerr.ErrorForCode(t.ErrorCode))
		}
		for _, p := range t.Partitions {
			known[key{*t.Topic, p.Partition}] = p
		}
	}
	for i := range v.Partitions {
		p := &v.Partitions[i]
		d, ok := known[key{p.Topic, p.ID}]
		if !ok {
			return fmt.Errorf("eligible leader replicas: broker %d says nothing of %s-%d", v.Via, p.Topic, p.ID)
		}
		p.Leader, p.Epoch, p.Replicas, p.ISR, p.ELR = d.LeaderID, d.LeaderEpoch, d.Replicas, d.ISR, d.EligibleLeaderReplicas
	}
	v.Eligible = true
	return nil
}
