package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that hangs, and keeps its connections, is what operators look at clusters for: it is
// given up soon and the question goes to another one, several times before it fails.
const (
	requestTimeout = 8 * time.Second
	requestRetries = 5
	retryTimeout   = 50 * time.Second
)

// Client talks to a cluster. Close it.
type Client struct {
	kgo *kgo.Client
}

// Connect makes a client; nothing is sent yet. Settings without effect are warned of by name.
func Connect(s Settings, log *slog.Logger) (*Client, error) {
	opts, err := s.options(func(text string) { log.Warn("client properties", "file", s.CommandConfig, "problem", text) })
	if err != nil {
		return nil, err
	}
	opts = append(opts, kgo.RequestRetries(requestRetries), kgo.RetryTimeout(retryTimeout), kgo.DisableClientMetrics())
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	return &Client{kgo: cl}, nil
}

// Close ends all connections.
func (c *Client) Close() { c.kgo.Close() }

// Request sends a request to whichever broker has to answer it, and tries again what can be.
func (c *Client) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return c.kgo.Request(ctx, req)
}

// Ask sends a request to one broker, once.
func (c *Client) Ask(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.kgo.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("broker %d: %w", broker, err)
	}
	return resp, nil
}

// Transient tells whether the same question may be answered later: nobody could be reached, or a broker
// says so itself. An identity that a broker refuses, or a certificate that either side does, is refused
// again.
func Transient(err error) bool {
	var refused *kerr.Error
	if errors.As(err, &refused) {
		return refused.Retriable
	}
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, &alert) && !errors.As(err, &certificate) && !errors.As(err, &record)
}

// why gives an error for people: Kafka's own name for one of its codes, and what is missing when
// the cluster does not let the user do it.
func why(err error, needs string) string {
	var k *kerr.Error
	if !errors.As(err, &k) {
		return err.Error()
	}
	switch k.Code {
	case kerr.ClusterAuthorizationFailed.Code, kerr.TopicAuthorizationFailed.Code:
		return k.Message + ", it needs " + needs
	}
	return k.Message
}
