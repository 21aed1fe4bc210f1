package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/traffic"
)

// span is how long latencies are looked at before and after a fault, in milliseconds; frozen is
// how long the observer is paused, less than the session timeout, so that nobody fences it.
const (
	span   = 4000
	frozen = 4 * time.Second
)

// s3 kills the observer, and then freezes it; each with a producer that is at work and with new ones.
func s3() Scenario {
	return Scenario{
		ID: "S3", Title: "kill -9 the observer; freeze it",
		Expect: "ISR, leaders and latency unchanged for a producer at work; a cold producer's first write is reported",
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			healthy, err := l.cold(ctx, "healthy")
			if err != nil {
				return err
			}
			waitAll(healthy)
			for _, f := range []fault.Fault{fault.Kill{Nodes: []int32{Observer}}, fault.Pause{Node: Observer}} {
				if err := l.Stays(ctx, span*time.Millisecond); err != nil {
					return err
				}
				if err := l.Inject(ctx, f); err != nil {
					return err
				}
				cold, err := l.cold(ctx, strings.ReplaceAll(f.Name(), " ", ""))
				if err != nil {
					return err
				}
				if err := l.Stays(ctx, frozen); err != nil {
					return err
				}
				if err := l.Heal(ctx, f); err != nil {
					return err
				}
				waitAll(cold)
				if err := l.UntilEach(ctx, 60*time.Second, "the observer has caught up", func(p history.Partition) bool {
					return p.HW >= 0 && p.LEO[Observer] >= p.HW
				}); err != nil {
					return err
				}
			}
			return nil
		},
		Judge: judgeS3,
	}
}

// colds is how many new producers are started per state.
const colds = 3

// cold starts new producers, each with a client of its own, for one record per partition. They
// are not waited for here: what they wait for may be the very broker that is frozen.
func (l *Lab) cold(ctx context.Context, state string) ([]*traffic.Producer, error) {
	var out []*traffic.Producer
	for i := range colds {
		p, err := l.Produce(ctx, fmt.Sprintf("cold-%s-%d", state, i), 0, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func waitAll(ps []*traffic.Producer) {
	for _, p := range ps {
		p.Wait()
	}
}

func judgeS3(h history.History, p Plan, o *Outcome) {
	warm := func(from, to float64) []float64 {
		return latencies(slices.DeleteFunc(acked(h, -1, from, to), func(op history.Op) bool { return op.Producer != "load" }))
	}
	for _, f := range h.Faults("", history.Inject) {
		name := f.Fault.Name
		was, is := warm(f.Fault.Began-span, f.Fault.Began), warm(f.Fault.Began, f.Fault.Began+span)
		o.require(check.That("the producer was at work around "+name, len(was) > 300 && len(is) > 300, "%d records in %d ms before, %d after", len(was), span, len(is)))
		from := "record handed to the client"
		o.measure(Measure{Name: "p99 before " + name, MS: quantile(was, 0.99), From: from, To: "acknowledgement"}, len(was) > 0)
		o.measure(Measure{Name: "p99 after " + name, MS: quantile(is, 0.99), From: from, To: "acknowledgement",
			Max: max(2*quantile(was, 0.99), quantile(was, 0.99)+250)}, len(is) > 0)
		o.measure(Measure{Name: "longest write after " + name, MS: quantile(is, 1), Max: 3000, From: from,
			To: "acknowledgement (waiting for the observer would take 4 s and more)"}, len(is) > 0)
		old := before(h, p.Topic, f.Fault.Began)
		changed, n := 0, 0
		for _, s := range h.Samples(p.Topic) {
			if s.From >= f.Fault.Began && s.At <= f.Fault.Began+span {
				n++
				if s.Leader != old[s.ID].Leader || !slices.Equal(sorted(s.ISR), sorted(old[s.ID].ISR)) {
					changed++
				}
			}
		}
		o.find(check.That("ISR and leaders stay after "+name, n > 0 && changed == 0, "%d of %d samples differ", changed, n))
	}
	for _, state := range []string{"healthy", "kill-9", "pause"} {
		var first []float64
		for _, op := range h.Ops() {
			if strings.HasPrefix(op.Producer, "cold-"+state) && op.Outcome == history.Acked {
				first = append(first, op.End-op.Start)
			}
		}
		slices.Sort(first)
		o.measure(Measure{Name: "longest first write of a cold producer, " + state, MS: quantile(first, 1),
			From: "first record handed to a new client", To: "acknowledgement"}, len(first) == colds*len(p.Assignment))
	}
}

func sorted(ids []int32) []int32 {
	out := slices.Clone(ids)
	slices.Sort(out)
	return out
}
