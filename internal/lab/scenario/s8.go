package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/probe"
)

const createdMark = "topic-created"

// observerFirst names the topic whose assignments begin with the observer, fresh the ones that are
// made right after a failover.
const (
	observerFirst = "s8-observer-first"
	fresh         = "s8-fresh-"
)

// takeovers is how often the active controller is killed in one run.
const takeovers = 2

// s8 kills the active controller and asks the next one at once to decide about observers.
func s8() Scenario {
	return Scenario{
		ID: "S8", Title: "kill -9 the active controller", Compare: true,
		Expect: "the next controller enforces at once: new topics start without observers, a preferred election does not choose one",
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			if err := l.CreateTopic(ctx, observerFirst, [][]int32{{4, 1, 2}, {4, 2, 3}}); err != nil {
				return err
			}
			for round := range takeovers {
				if err := l.failController(ctx, round); err != nil {
					return err
				}
			}
			return nil
		},
		Judge: judgeS8,
	}
}

func (l *Lab) failController(ctx context.Context, round int) error {
	active, err := l.Cluster.ActiveController(ctx)
	if err != nil {
		return err
	}
	kill := fault.Kill{Nodes: []int32{active}}
	if err := l.Inject(ctx, kill); err != nil {
		return err
	}
	if err := l.Cluster.Await(ctx, 60*time.Second, "another controller is active", func(ctx context.Context) error {
		c, err := l.Cluster.ActiveController(ctx)
		if err == nil && (c < 0 || c == active) {
			err = errors.New("none yet")
		}
		return err
	}); err != nil {
		return err
	}
	name := fmt.Sprint(fresh, round)
	if err := l.Cluster.Await(ctx, 60*time.Second, "a topic can be made", func(ctx context.Context) error {
		return l.CreateTopic(ctx, name, [][]int32{{1, 2, 3, 4}, {4, 3, 2, 1}})
	}); err != nil {
		return err
	}
	l.Rec.Mark(createdMark, int64(round), name)
	if err := l.look(ctx, name); err != nil {
		return err
	}
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, observerFirst, 0, 1); err != nil {
		return err
	}
	if err := l.look(ctx, observerFirst); err != nil {
		return err
	}
	if err := l.Heal(ctx, kill); err != nil {
		return err
	}
	return l.UntilWhole(ctx, 60*time.Second, l.Plan.Observers...)
}

// look records one view of a topic that is not sampled, once the brokers know it.
func (l *Lab) look(ctx context.Context, topic string) error {
	return l.Cluster.Await(ctx, 20*time.Second, "brokers know "+topic, func(ctx context.Context) error {
		v, err := probe.Look(ctx, l.Cluster, l.Rec.Now, history.View{}, topic)
		if err != nil {
			return err
		}
		l.Rec.Record(history.Event{View: &v})
		return nil
	})
}

func judgeS8(h history.History, p Plan, o *Outcome) {
	kills, made := h.Faults("kill -9", history.Inject), h.Marks(createdMark)
	o.require(check.That("the controller was killed and topics were made after it", len(kills) == takeovers && len(made) == takeovers, "%d kills, %d topics", len(kills), len(made)))
	var times []float64
	for i, k := range kills {
		dead := k.Fault.Targets[0]
		next, ok := h.First(p.Topic, k.At, func(s history.Sample) bool { return s.Controller >= 0 && s.Controller != dead })
		if !ok {
			o.measure(Measure{Name: "controller failover", From: "kill -9 of the active controller", To: "another one"}, false)
			continue
		}
		times = append(times, next.At-k.At)
		if i < len(made) {
			o.measure(Measure{Name: fmt.Sprintf("first topic after failover %d", i+1), MS: made[i].At - k.At,
				From: "kill -9 of the active controller", To: "creation of a topic acknowledged"}, true)
		}
		n := len(acked(h, -1, k.At, math.Inf(1)))
		o.find(check.That("writes go on", n > 0, "%d records acknowledged after the kill", n))
	}
	o.spread("controller failover", times, 0, "kill -9 of the active controller", "another one is active, as a broker says")
	if p.Unpatched {
		return
	}
	looked, in, led := 0, 0, 0
	for _, s := range h.Samples("") {
		if s.Topic != observerFirst && !strings.HasPrefix(s.Topic, fresh) {
			continue
		}
		looked++
		if slices.Contains(s.ISR, Observer) {
			in++
		}
		if s.Leader == Observer {
			led++
		}
	}
	o.find(check.That("new topics start without the observer", in == 0 && looked >= 4*takeovers, "%d of %d partitions seen have it in the ISR", in, looked))
	o.find(check.That("a preferred election does not choose the observer", led == 0 && looked >= 4*takeovers, "%d of %d partitions seen are led by it", led, looked))
}
