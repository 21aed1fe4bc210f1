package traffic

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sources counts the bytes of records that a consumer got from each broker.
type sources struct {
	mu    sync.Mutex
	bytes map[int32]int64
}

// OnFetchBatchRead is called by the client for every batch, see kgo.HookFetchBatchRead.
func (s *sources) OnFetchBatchRead(meta kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[meta.NodeID] += int64(m.CompressedBytes)
}

// only gives the broker that served everything, 0 when there were several or none.
func (s *sources) only() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bytes) == 1 {
		for id := range s.bytes {
			return id
		}
	}
	return 0
}
