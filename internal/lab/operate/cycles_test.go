//go:build cluster

package operate

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/lab/traffic"
	"observer-patch/internal/lab/witness"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

var (
	cycles        = flag.Int("cycles", 6, "random cycles of automatic promotion")
	cycleSeed     = flag.Uint64("cycle-seed", 1, "what the cycles are drawn from")
	cycleMinutes  = flag.Int("cycle-minutes", 0, "begin no cycle later than so many minutes after the first; 0 is no limit")
	cycleStory    = flag.String("cycle-story", "", "write all that was seen to the file, as JSON, so that it can be judged again")
	cycleEvidence = flag.String("cycle-evidence", "", "write auto-cycles.json and auto-cycles.md of this run to the folder")
)

// What auto is set to, and what follows for the bounds: with a scan every 10 s and checks 5 s apart
// they are 14 s and 31 s, which is one scan and 4 s, and two scans, a gap and 6 s.
const (
	cycleScan     = time.Second
	cycleGap      = time.Second
	cycleCooldown = 8 * time.Second
	cycleHold     = 5 * time.Second
	cycleTimeout  = 10 * time.Second
	cyclePromote  = cycleScan + 4*time.Second
	cycleDemote   = 2*cycleScan + cycleGap + 6*time.Second
	// cycleSilent is a request timeout, for nodes that are frozen, as in vanishBound.
	cycleSilent = vanishBound - promoteBound
	cycleWindow = 3 * time.Second
)

// The kinds of cycles.
const (
	syncLost     = "a sync broker is lost"
	observerLost = "an observer's broker is lost"
	controllers  = "the active controller is lost"
	inTheMiddle  = "a node is lost during a promotion"
	autoKilled   = "auto is killed with -9 and started again"
	blink        = "a sync broker freezes for less than replica.lag.time.max.ms"
	flapBack     = "a sync broker is lost again between the two checks before a demotion"
	personCalm   = "a person promotes and demotes in a healthy cluster"
	personFirst  = "a person promotes while auto may too"
	personAfter  = "a person demotes what auto promoted"
	fileDiffers  = "one node's file differs while a sync broker is lost"
)

// deck has every kind as often as it is drawn in a round.
func deck() []string {
	return []string{syncLost, syncLost, syncLost, syncLost, observerLost, observerLost, controllers, controllers, inTheMiddle, inTheMiddle, inTheMiddle,
		autoKilled, blink, flapBack, flapBack, personCalm, personFirst, personAfter, fileDiffers}
}

// How a node is lost.
const (
	byKill   = "kill -9"
	byFreeze = "SIGSTOP"
	byStop   = "SIGTERM"
)

// course is one cycle as it was drawn, and when it ran.
type course struct {
	Kind string `json:"kind"`
	How  string `json:"how"`
	// Pick chooses among nodes, Other among further ones.
	Pick  int `json:"pick"`
	Other int `json:"other"`
	// Patient cycles heal after the promotion has ended, others after Lasts.
	Patient bool          `json:"patient"`
	Also    bool          `json:"also"`
	Lasts   time.Duration `json:"lasts_ns"`
	From    float64       `json:"from_ms"`
	To      float64       `json:"to_ms"`
}

// dice draws courses; equal seeds give equal ones.
type dice struct {
	*rand.Rand
	left []string
}

func (d *dice) next() course {
	if len(d.left) == 0 {
		d.left = deck()
		d.Shuffle(len(d.left), func(i, k int) { d.left[i], d.left[k] = d.left[k], d.left[i] })
	}
	c := course{Kind: d.left[0], How: []string{byKill, byFreeze, byStop}[d.IntN(3)], Pick: d.IntN(60), Other: d.IntN(60), Patient: d.IntN(3) > 0, Also: d.IntN(2) == 0,
		Lasts: time.Duration(300+d.IntN(5000)) * time.Millisecond}
	d.left = d.left[1:]
	return c
}

// stage is where cycles are played.
type stage struct {
	*rig
	watch *watch
	auto  *instance
	state string
}

func cycleSpec() cluster.Spec {
	return cluster.Spec{Brokers: 4, Controllers: 3, Observers: []int32{3, 4}, Properties: map[string]string{
		"replica.lag.time.max.ms":      "2000",
		"broker.session.timeout.ms":    "4000",
		"broker.heartbeat.interval.ms": "500",
		// How long a broker waits for an active controller that hangs; 30 s if not set.
		"controller.socket.timeout.ms":     "3000",
		"offsets.topic.replication.factor": "4",
		"offsets.topic.num.partitions":     "1",
	}}
}

// TestRandomCyclesWithoutAWrongAction plays cycles of a fault and its end, with auto as a process of
// its own, and has everything judged by a witness.
func TestRandomCyclesWithoutAWrongAction(t *testing.T) {
	r := startFor(t, cycleSpec(), limit+time.Duration(*cycleMinutes)*time.Minute+time.Duration(*cycles)*15*time.Second)
	r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 1, 4, 3})
	s := &stage{rig: r, state: t.TempDir()}
	s.auto = s.instance()
	r.locked(s.auto)
	s.watch = r.witness("t", "__consumer_offsets")
	s.watch.follow(s.auto)
	settings := s.settings()
	p, err := traffic.Start(r.ctx, r.cluster.Addrs(), traffic.Options{Name: "load", Topic: "t", Partitions: 2, Rate: 20, Size: 300, Timeout: 3 * time.Minute}, s.watch.rec)
	require.NoError(t, err)
	s.settles()

	var played []course
	ended := false
	// Also where a cycle did not come to its end.
	t.Cleanup(func() {
		s.watch.stop(t)
		s.judge(played, settings, ended)
	})
	began := time.Now()
	d := &dice{Rand: rand.New(rand.NewPCG(*cycleSeed, 8))}
	for len(played) < *cycles && (*cycleMinutes == 0 || time.Since(began) < time.Duration(*cycleMinutes)*time.Minute) {
		c := d.next()
		t.Logf("cycle %d: %+v", len(played)+1, c)
		c.From = s.watch.rec.Now()
		s.play(c)
		s.settles()
		c.To = s.watch.rec.Now()
		played = append(played, c)
	}
	p.Stop()
	s.readBack()
	require.Equal(t, settings, s.settings(), "what the brokers say of themselves has changed")
	ended = true
}

// instance starts auto on the stage's state.
func (s *stage) instance() *instance {
	return s.rig.auto(s.state, nil, "--interval", cycleScan.String(), "--check-gap", cycleGap.String(), "--cooldown", cycleCooldown.String(), "--hold", cycleHold.String(), "--timeout", cycleTimeout.String())
}

// settings asks the brokers for the minimum of every topic.
func (s *stage) settings() witness.Settings {
	s.t.Helper()
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	out := witness.Settings{Observers: []int32{3, 4}, Cooldown: ms(cycleCooldown), Hold: ms(cycleHold), Window: ms(cycleWindow), Sample: 1000, Promote: ms(cyclePromote), Demote: ms(cycleDemote), Silent: ms(cycleSilent)}
	for _, n := range s.cluster.Nodes {
		out.Nodes = append(out.Nodes, n.ID)
	}
	admin, err := s.cluster.Admin()
	require.NoError(s.t, err)
	all, err := admin.DescribeTopicConfigs(s.ctx, "t", "__consumer_offsets")
	require.NoError(s.t, err)
	for _, c := range all {
		require.NoError(s.t, c.Err)
		for _, v := range c.Configs {
			if v.Key == "min.insync.replicas" {
				require.Equal(s.t, "2", v.MaybeValue(), c.Name)
				out.MinISR = 2
			}
		}
	}
	require.Equal(s.t, 2, out.MinISR)
	return out
}

// lose takes a node down and gives what brings it back.
func (s *stage) lose(node int32, how string) (heal func() error) {
	s.t.Helper()
	n := s.cluster.Node(node)
	back := s.watch.fell(node, how == byFreeze)
	switch how {
	case byKill:
		require.NoError(s.t, n.Kill())
	case byFreeze:
		require.NoError(s.t, n.Pause())
		return func() error { defer back(); return n.Resume() }
	case byStop:
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		if err := n.Stop(ctx); err != nil { // one that finds nobody to take its partitions over
			s.t.Logf("%v: it is killed", err)
			require.NoError(s.t, n.Kill())
		}
	}
	return func() error { defer back(); return s.cluster.Restart(s.ctx, node) }
}

// waits waits for a condition for so long, and does not mind when it does not come: what should have
// come is the witness's to say.
func (s *stage) waits(limit time.Duration, cond func() bool) bool {
	err := s.cluster.Await(s.ctx, limit, "something happens", func(context.Context) error {
		if !cond() {
			return errors.New("not yet")
		}
		return nil
	})
	require.True(s.t, err == nil || errors.Is(err, cluster.ErrAwait), "%v", err)
	return err == nil
}

// logged gives the lines of the events since a time.
func (s *stage) logged(since time.Time, events ...string) []promoter.AuditLine {
	s.t.Helper()
	all, err := auditLines(s.auto.audit)
	require.NoError(s.t, err)
	return slices.DeleteFunc(all, func(l promoter.AuditLine) bool { return l.Time.Before(since) || !slices.Contains(events, l.Event) })
}

// patient waits until a promotion has ended, or for the course's time.
func (s *stage) patient(c course, since time.Time) {
	limit := c.Lasts
	if c.Patient {
		limit = 25 * time.Second
	}
	s.waits(limit, func() bool {
		return c.Patient && len(s.logged(since, promoter.AuditPromote, promoter.AuditFailed)) > 0
	})
}

// whole tells whether every partition has 1 and 2 in its ISR.
func (s *stage) whole() bool {
	v := s.watch.sampler.Last()
	for _, p := range v.Partitions {
		if p.Leader < 0 || !has(p.ISR, 1) || !has(p.ISR, 2) {
			return false
		}
	}
	return len(v.Partitions) == 3
}

// settles waits until everything is as it was before the first cycle.
func (s *stage) settles() {
	s.t.Helper()
	called := s.watch.rec.Now()
	require.NoError(s.t, s.cluster.Await(s.ctx, 2*time.Minute, "the cluster is as it was", func(context.Context) error {
		v := s.watch.sampler.Last()
		if v.From < called || len(v.Brokers) != 4 || !s.whole() {
			return fmt.Errorf("%+v", v)
		}
		for _, p := range v.Partitions {
			if has(p.ISR, 3) || has(p.ISR, 4) {
				return fmt.Errorf("%s-%d: ISR %v", p.Topic, p.ID, p.ISR)
			}
		}
		lists, err := s.lists()
		for node, list := range lists {
			if !slices.Equal(list, []int32{3, 4}) {
				return fmt.Errorf("the list of node %d is %v", node, list)
			}
		}
		return err
	}))
}

// person runs a command by hand, on another machine or on auto's, and tells whether it may have done
// it: one that fails has done it and waits in vain for something.
func (s *stage) person(kind observer.Change, broker int32, elsewhere bool) bool {
	args := slices.Clone(s.args)
	if !elsewhere {
		args[len(args)-1] = s.state
	}
	over := s.watch.begins(witness.Hand{Broker: broker})
	command := []string{string(kind), fmt.Sprint(broker), "--yes", "--timeout", "15s"}
	if kind == observer.Demote {
		command = append(command, "--move-leaders")
	}
	code, _, errs := tool(s.t, s.ctx, append(command, args...)...)
	over(code != exit.Done)
	require.Contains(s.t, []int{exit.Done, exit.Failed, exit.Refused}, code, errs)
	return code != exit.Refused
}

// undone has a person demote until it is done.
func (s *stage) undone(broker int32, elsewhere bool) {
	s.t.Helper()
	require.True(s.t, s.waits(2*time.Minute, s.whole))
	require.True(s.t, s.waits(time.Minute, func() bool {
		lists, err := s.lists()
		require.NoError(s.t, err)
		if !has(lists[1], broker) {
			s.person(observer.Demote, broker, elsewhere)
		}
		return has(lists[1], broker)
	}))
}

// readBack records what consumers read of the topic.
func (s *stage) readBack() {
	s.t.Helper()
	called := s.watch.rec.Now()
	var v history.View
	require.True(s.t, s.waits(time.Minute, func() bool {
		v = s.watch.sampler.Last()
		return v.From > called && !slices.ContainsFunc(v.Partitions, func(p history.Partition) bool { return p.Topic == "t" && (p.HW < 0 || p.HW != p.LEO[p.Leader]) })
	}))
	for _, p := range v.Partitions {
		for _, committed := range []bool{false, true} {
			if p.Topic == "t" {
				require.NoError(s.t, traffic.Read(s.ctx, s.cluster.Addrs(), p.Topic, p.ID, traffic.View{End: p.HW, Committed: committed, Limit: 2 * time.Minute}, s.watch.rec))
			}
		}
	}
}

// judge has the run judged, and writes it down.
func (s *stage) judge(played []course, settings witness.Settings, ended bool) {
	story := s.watch.story(s.t, s.auto.audit, settings)
	if *cycleStory != "" {
		text, err := json.Marshal(story)
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(*cycleStory, text, 0o644))
	}
	found := append([]check.Finding{check.That("the run went through to its end", ended, "%d cycles", len(played))}, story.Wrong()...)
	found = append(found, check.Records(story.History)...)
	late, promotions, demotions := story.Late()
	page := newCyclePage(story, played, append(found, late...), promotions, demotions)
	for _, f := range page.Findings {
		s.note(finding{Asked: f.Rule, Saw: f.Detail, Holds: f.OK})
		if !f.OK {
			s.t.Errorf("%s: %s", f.Rule, f.Detail)
		}
	}
	s.saw("how many cycles were played", "%d, seed %d: %v", len(played), *cycleSeed, page.Kinds)
	if len(promotions) == 0 || len(demotions) == 0 {
		s.t.Error("no promotion, or no demotion: the cycles show nothing")
	}
	if *cycleEvidence != "" {
		page.Passed = !s.t.Failed()
		require.NoError(s.t, page.write(*cycleEvidence))
	}
}
