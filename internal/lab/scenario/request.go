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

// throttle limits how fast one broker may fetch the topic, in bytes per second; 0 ends the limit.
// It makes a follower lag while it lives, which a stopped one does not.
func (l *Lab) throttle(ctx context.Context, broker int32, bytesPerSecond int) error {
	adm, err := l.Cluster.Admin()
	if err != nil {
		return err
	}
	rate := kadm.AlterConfig{Op: kadm.SetConfig, Name: "follower.replication.throttled.rate", Value: kadm.StringPtr(strconv.Itoa(bytesPerSecond))}
	all := kadm.AlterConfig{Op: kadm.SetConfig, Name: "follower.replication.throttled.replicas", Value: kadm.StringPtr("*")}
	if bytesPerSecond == 0 {
		rate.Op, rate.Value = kadm.DeleteConfig, nil
		all.Op, all.Value = kadm.DeleteConfig, nil
	}
	done, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{rate}, broker)
	if err != nil {
		return fmt.Errorf("throttle broker %d: %w", broker, err)
	}
	for _, r := range done {
		if r.Err != nil {
			return fmt.Errorf("throttle broker %d: %w", broker, r.Err)
		}
	}
	done, err = adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{all}, l.Plan.Topic)
	if err != nil {
		return fmt.Errorf("throttle replicas of %s: %w", l.Plan.Topic, err)
	}
	for _, r := range done {
		if r.Err != nil {
			return fmt.Errorf("throttle replicas of %s: %w", l.Plan.Topic, r.Err)
		}
	}
	l.Rec.Mark("throttle", int64(bytesPerSecond), fmt.Sprintf("bytes per second of broker %d", broker))
	return nil
}
