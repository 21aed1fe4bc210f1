package probe

import (
	"context"
	"slices"
	"sync"
	"time"

	"observer-patch/internal/lab/history"
)

// Sampler takes a View again and again.
type Sampler struct {
	mu     sync.Mutex
	topics []string
	last   history.View
	stop   context.CancelFunc
	done   chan struct{}
}

// Every is the time between two samples.
const Every = 200 * time.Millisecond

// Start samples the topics into rec until Stop. A sample that nobody answers is left out.
func Start(ctx context.Context, a Asker, rec *history.Recorder, topics ...string) *Sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &Sampler{topics: topics, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(Every)
		defer tick.Stop()
		var last history.View
		for {
			v, err := Look(ctx, a, rec.Now, last, s.watched()...)
			if err == nil && ctx.Err() == nil {
				last = v
				rec.Record(history.Event{View: &v})
				s.mu.Lock()
				s.last = v
				s.mu.Unlock()
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return s
}

// Watch has the topic in every sample from now on; brokers must know it.
func (s *Sampler) Watch(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics = append(slices.Clone(s.topics), topic)
}

func (s *Sampler) watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topics
}

// Last gives the newest view; it is empty before the first one.
func (s *Sampler) Last() history.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Stop ends sampling and waits for the sample under way.
func (s *Sampler) Stop() {
	s.stop()
	<-s.done
}
