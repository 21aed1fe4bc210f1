package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
	"observer-patch/internal/release"
)

// electionAnswer is the mark with what an election without quorum was answered.
const electionAnswer = "election"

// s19 loses two zones, first with controllers elsewhere, then with the controllers in them.
func s19() Scenario {
	return Scenario{
		ID: "S19", Title: "two zones lost: with the controllers in a third site, and with the controllers in the lost zones (ZooKeeper: with its server)",
		Expect: "controllers elsewhere: the sync replica that is left leads everything. Controllers lost: nobody is elected, an election is refused, promotion has no effect, no record is acknowledged; when the quorum is back, the sync replica leads",
		Run:    runS19,
		Judge:  judgeS19,
	}
}

// quorum are the nodes that go with the two zones, the first of which is enough to have it back.
func (p Plan) quorum() []int32 {
	if p.Mode == release.ZK {
		return []int32{100}
	}
	return []int32{101, 102}
}

func runS19(ctx context.Context, l *Lab) error {
	if _, err := l.LoadAt(ctx, Rate/2); err != nil {
		return err
	}
	zones := fault.Kill{Nodes: []int32{1, 2}}
	third := func(p history.Partition) bool { return p.Leader == 3 }
	if err := l.Inject(ctx, zones); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 60*time.Second, "3 leads everything", third); err != nil {
		return err
	}
	if err := l.Heal(ctx, zones); err != nil {
		return err
	}
	if err := l.UntilWhole(ctx, 60*time.Second, Observer); err != nil {
		return err
	}
	if _, err := l.Elect(ctx, kadm.ElectPreferredReplica, l.Plan.Topic, l.partitions()...); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 30*time.Second, "the first replicas lead", func(p history.Partition) bool { return p.Leader == p.Replicas[0] }); err != nil {
		return err
	}
	quorum := l.Plan.quorum()
	both := fault.Kill{Nodes: append(slices.Clone(quorum), 1, 2)}
	if err := l.Inject(ctx, both); err != nil {
		return err
	}
	if err := l.Promote(); err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	answers, err := l.Elect(asked, kadm.ElectPreferredReplica, l.Plan.Topic, l.partitions()...)
	cancel()
	text := fmt.Sprint(answers)
	if err != nil {
		text = "error: " + err.Error()
	}
	l.Rec.Mark(electionAnswer, 0, text)
	if err := l.Stays(ctx, 10*time.Second); err != nil {
		return err
	}
	if err := l.Demote(Observer); err != nil {
		return err
	}
	back := fault.Kill{Nodes: quorum[:1]}
	if err := l.Heal(ctx, back); err != nil {
		return err
	}
	if err := l.UntilEach(ctx, 90*time.Second, "3 leads everything", third); err != nil {
		return err
	}
	if err := l.Heal(ctx, fault.Kill{Nodes: append(slices.Clone(quorum[1:]), 1, 2)}); err != nil {
		return err
	}
	return l.UntilWhole(ctx, 90*time.Second, Observer)
}

func judgeS19(h history.History, p Plan, o *Outcome) {
	kills, heals, edits := h.Faults("kill -9", history.Inject), h.Faults("kill -9", history.Heal), changes(h)
	if len(kills) < 2 || len(heals) < 2 || len(edits) < 1 {
		o.require(check.That("two zones were lost twice", false, "%d kills, %d edits", len(kills), len(edits)))
		return
	}
	at, ok := h.AllParts(p.Topic, kills[0].At, func(s history.Sample) bool { return s.Leader == 3 })
	o.measure(Measure{Name: "controllers elsewhere: failover", MS: at - kills[0].At, From: "kill -9 of two zones", To: "the sync replica of the third leads all partitions"}, ok)
	lost, back := kills[1].At, heals[1].Fault.Began
	led := before(h, p.Topic, kills[1].Fault.Began)
	// The processes die one after the other: what the last one did before is not of this time.
	const settled = 1000
	changed, in, n := 0, 0, 0
	for _, s := range h.Samples(p.Topic) {
		if s.From < lost+settled || s.At > back {
			continue
		}
		n++
		// Whose registration is known to be gone is shown as no leader at all; that elects nobody.
		if s.Leader != led[s.ID].Leader && s.Leader != -1 {
			changed++
		}
		if s.InISR(Observer) || s.Leader == Observer {
			in++
		}
	}
	o.require(check.That("the time without quorum was looked at", n > 0, "%d samples over %.1f s", n, (back-lost)/1000))
	o.find(check.That("without quorum nobody is elected", changed == 0, "%d of %d samples have another leader than before", changed, n))
	o.find(check.That("without quorum a promotion has no effect", in == 0, "%d of %d samples have the observer in the ISR or as leader", in, n))
	done := 0
	for _, op := range h.Ops() {
		if op.Outcome == history.Acked && op.Start > lost && op.End < back {
			done++
		}
	}
	o.find(check.That("without quorum no record is acknowledged", done == 0, "%d records sent and acknowledged", done))
	at, ok = h.AllParts(p.Topic, heals[1].At, func(s history.Sample) bool { return s.Leader == 3 })
	o.measure(Measure{Name: "quorum back: failover", MS: at - back, From: "start of one controller's process", To: "the sync replica that is left leads all partitions"}, ok)
	if e, ok := h.Mark(electionAnswer); ok {
		o.Notes = append(o.Notes, fmt.Sprintf("the election without quorum was answered: %.160s", e.Mark.Text))
	}
}
