package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/fault"
	"observer-patch/internal/lab/history"
)

const (
	unread    = "Failed to read observer ids"
	readAgain = "can be used again"
	// incomplete is the mark with the longest time that a rewritten file was not whole.
	incomplete = "longest-incomplete"
	// refresh is how often readers look, in milliseconds: what stays for two looks is an edit.
	refresh = 500
)

// lasting are the kinds of damage that stay until they are healed, so that every reader meets them.
func lasting() []string {
	return []string{fault.Unreadable, fault.Garbage, fault.Deleted, fault.Directory}
}

// s7 damages every node's identity file in every way.
func s7() Scenario {
	return Scenario{
		ID: "S7", Title: "damage the identity file on every node",
		Expect: "the ids stay in force, one warning each, all writes acknowledged; 1,000 rewrites in place promote nobody",
		Run: func(ctx context.Context, l *Lab) error {
			if _, err := l.Load(ctx); err != nil {
				return err
			}
			nodes := append(l.Cluster.ControllerIDs(), l.brokers()...)
			for _, kind := range append(lasting(), fault.Half, fault.Rewritten) {
				f := &fault.File{Kind: kind, Nodes: nodes, IDs: l.Plan.Observers}
				marks, err := l.loaded(nodes...)
				if err != nil {
					return err
				}
				if err := l.Inject(ctx, f); err != nil {
					return err
				}
				l.Rec.Mark(incomplete, f.Longest.Milliseconds(), kind)
				if kind != fault.Half && kind != fault.Rewritten {
					if err := l.UntilLine(ctx, 20*time.Second, marks, unread); err != nil {
						return err
					}
				}
				if err := l.untilWritten(ctx, 50); err != nil {
					return err
				}
				if err := l.Heal(ctx, f); err != nil {
					return err
				}
				if kind != fault.Half && kind != fault.Rewritten {
					if err := l.UntilLine(ctx, 20*time.Second, marks, readAgain); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Judge: judgeS7,
	}
}

func judgeS7(h history.History, p Plan, o *Outcome) {
	injected, warned := "", map[string]map[int32]bool{}
	for _, e := range h {
		switch {
		case e.Fault != nil && e.Fault.Phase == history.Inject:
			injected = e.Fault.Name
			warned[injected] = map[int32]bool{}
		case e.Line != nil && strings.Contains(e.Line.Text, unread):
			warned[injected][e.Line.Node] = true
		}
	}
	for _, kind := range lasting() {
		nodes := warned[(&fault.File{Kind: kind}).Name()]
		o.require(check.That("the readers met: "+kind, len(nodes) >= 2, "%d nodes warned", len(nodes)))
	}
	for _, kind := range []string{fault.Half, fault.Rewritten} {
		_, did := warned[(&fault.File{Kind: kind}).Name()]
		o.require(check.That("the files were written in place: "+kind, did, "on every node"))
	}
	for _, e := range h.Marks(incomplete) {
		if e.Mark.Value >= refresh {
			o.Void = fmt.Sprintf("%s: a file was not whole for %d ms, the readers look every %d ms: that is a deliberate edit, not the fault that was planned", e.Mark.Text, e.Mark.Value, refresh)
		}
	}
	lost := 0
	ops := h.Ops()
	for _, op := range ops {
		if op.Outcome != history.Acked {
			lost++
		}
	}
	o.find(check.That("all writes are acknowledged", lost == 0, "%d of %d are not", lost, len(ops)))
	in, n, from := 0, 0, inForce(h)
	for _, s := range h.Samples(p.Topic) {
		if s.From < from {
			continue
		}
		n++
		if s.InISR(Observer) {
			in++
		}
	}
	o.find(check.That("the ids stay in force: the observer is in no ISR at any time", in == 0 && n > 0, "%d of %d samples have it", in, n))
}
