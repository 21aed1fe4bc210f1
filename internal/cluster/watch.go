package cluster

import (
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	watchEvery   = time.Second
	watchPatient = 2 * time.Second
)

// Watch asks every second who lives, until ctx ends, so that the client's other requests go to live
// brokers. Without it a client goes on asking the brokers that it was given, in turn with those that
// it has heard of: where a zone vanished without closing connections, every such question takes a
// request timeout, and the coordinator of a group is not found.
func (c *Client) Watch(ctx context.Context) {
	given, _ := c.kgo.OptValue(kgo.SeedBrokers).([]string)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	using := given
	for {
		want := using
		live, err := c.live(ctx)
		switch {
		case err != nil: // those that live may be others than before
			want = given
		case slices.ContainsFunc(using, func(addr string) bool { return !slices.Contains(live, addr) }):
			want = live
		}
		// An update cuts off what is under way to the old ones.
		if ctx.Err() == nil && !slices.Equal(want, using) && c.kgo.UpdateSeedBrokers(want...) == nil {
			using = want
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// live gives host:port of the brokers that are not fenced. The client itself learns them from the
// same answer.
func (c *Client) live(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchPatient)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range resp.Brokers {
		out = append(out, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
	}
	slices.Sort(out)
	return out, nil
}
