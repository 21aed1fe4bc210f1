package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
)

// Right is something that the cluster has to allow: an operation on a topic, or, without one, on
// the cluster.
type Right struct {
	Operation kmsg.ACLOperation
	Topic     string
}

// String names the right as upstream's kafka-acls does, with underscores.
func (r Right) String() string {
	on := "the cluster"
	if r.Topic != "" {
		on = "topic " + r.Topic
	}
	return operationName(r.Operation) + " on " + on
}

func operationName(o kmsg.ACLOperation) string {
	switch o {
	case kmsg.ACLOperationAlterConfigs:
		return "ALTER_CONFIGS"
	case kmsg.ACLOperationDescribeConfigs:
		return "DESCRIBE_CONFIGS"
	}
	return strings.ToUpper(o.String())
}

// notTold is what a broker answers in place of operations when it does not tell them (KIP-430).
const notTold int32 = -1 << 31

// Lacks gives the rights that this client has not got, as the cluster says it (KIP-430), so that
// nothing is begun that would be stopped in the middle. What the cluster does not tell is not
// lacking. It needs DESCRIBE on the cluster and on the topics.
func (c *Connection) Lacks(ctx context.Context, rights ...Right) ([]observer.Refusal, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, r := range rights {
		known := slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool { return *t.Topic == r.Topic })
		if r.Topic != "" && !known {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(r.Topic)
			req.Topics = append(req.Topics, t)
		}
	}
	on := map[string]int32{}
	if len(req.Topics) > 0 {
		r, err := c.Client.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, t := range r.(*kmsg.MetadataResponse).Topics {
			if t.Topic != nil {
				on[*t.Topic] = t.AuthorizedOperations
			}
		}
	}
	ask := kmsg.NewPtrDescribeClusterRequest()
	ask.IncludeClusterAuthorizedOperations = true
	r, err := c.Client.Request(ctx, ask)
	if err != nil {
		return nil, err
	}
	on[""] = r.(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations
	var out []observer.Refusal
	for _, r := range rights {
		if ops, told := on[r.Topic]; told && ops != notTold && ops&(1<<r.Operation) == 0 {
			out = append(out, observer.Refusal{Rule: observer.RuleNotAllowed, Reason: "this needs " + r.String() + ", which is not granted", Do: "grant it, see 'Rights in Kafka' in docs/operate.md"})
		}
	}
	return out, nil
}

// MayAlter is the right that elections and new orders of replicas need.
var MayAlter = Right{Operation: kmsg.ACLOperationAlter}

// Allowed refuses, with exit code 5, when this client lacks one of the rights.
func (c *Connection) Allowed(ctx context.Context, rights ...Right) error {
	refusals, err := c.Lacks(ctx, rights...)
	if err != nil {
		return err
	}
	return exit.With(exit.Refused, observer.Refused(refusals))
}

// denied names the right that is missing when the cluster has refused for want of one.
func denied(err error, right string) error {
	if errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed) {
		return fmt.Errorf("%w; it needs %s", err, right)
	}
	return err
}
