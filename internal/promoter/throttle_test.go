package promoter

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/cluster"
)

// A topic of a move may be deleted before its throttle is removed.
func TestATopicThatIsGoneHidesNoOtherFailureOfAThrottle(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	t.Cleanup(c.Close)
	code := int16(0) // of broker 0
	c.ControlKey(int16(kmsg.IncrementalAlterConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.IncrementalAlterConfigsRequest)
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, res := range req.Resources {
			out := kmsg.NewIncrementalAlterConfigsResponseResource()
			out.ResourceType, out.ResourceName = res.ResourceType, res.ResourceName
			switch {
			case res.ResourceType == kmsg.ConfigResourceTypeBroker:
				out.ErrorCode = code
			case res.ResourceName == "gone":
				out.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			resp.Resources = append(resp.Resources, out)
		}
		return resp, nil, true
	})
	client, err := cluster.Connect(cluster.Settings{Bootstrap: c.ListenAddrs()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	conn := &Connection{Client: client, Now: time.Now}
	throttle := Throttle{Rate: 1, Brokers: ids(0), Followers: map[string][]string{"gone": {"0:0"}, "orders": {"0:0"}}}
	require.NoError(t, conn.SetThrottle(t.Context(), throttle), "or the move could never be finished")
	require.NoError(t, conn.ClearThrottle(t.Context(), throttle))
	code = kerr.ClusterAuthorizationFailed.Code
	require.ErrorIs(t, conn.ClearThrottle(t.Context(), throttle), kerr.ClusterAuthorizationFailed, "broker 0 is throttled still")
}
