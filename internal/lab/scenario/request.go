package scenario

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// brokerError joins a broker's error code with its message.
func brokerError(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if message != nil && *message != "" {
		return fmt.Errorf("%w (%s)", err, *message)
	}
	return err
}

// throttle limits what each leader sends to replicas outside of the ISR, in bytes per second; 0 ends
// the limit. It makes an observer lag while it lives. The limit is on the leaders' side because only
// there membership of the ISR decides who is exempt; a follower exempts itself whenever a fetch
// has brought it level.
func (l *Lab) throttle(ctx context.Context, bytesPerSecond int) error {
	adm, err := l.Cluster.Admin()
	if err != nil {
		return err
	}
	rate := kadm.AlterConfig{Op: kadm.SetConfig, Name: "leader.replication.throttled.rate", Value: kadm.StringPtr(strconv.Itoa(bytesPerSecond))}
	all := kadm.AlterConfig{Op: kadm.SetConfig, Name: "leader.replication.throttled.replicas", Value: kadm.StringPtr("*")}
	if bytesPerSecond == 0 {
		rate.Op, rate.Value = kadm.DeleteConfig, nil
		all.Op, all.Value = kadm.DeleteConfig, nil
	}
	brokers, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{rate}, l.Cluster.BrokerIDs()...)
	if err != nil {
		return fmt.Errorf("throttle leaders: %w", err)
	}
	topics, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{all}, l.Plan.Topic)
	if err != nil {
		return fmt.Errorf("throttle replicas of %s: %w", l.Plan.Topic, err)
	}
	for _, r := range append(brokers, topics...) {
		if r.Err != nil {
			return fmt.Errorf("throttle %s: %w", r.Name, r.Err)
		}
	}
	l.Rec.Mark("throttle", int64(bytesPerSecond), "bytes per second that a leader sends to replicas outside of the ISR")
	return nil
}
