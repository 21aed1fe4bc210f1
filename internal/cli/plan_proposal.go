package cli

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"observer-patch/internal/exit"
	"observer-patch/internal/observer"
	"observer-patch/internal/placement"
)

// proposal is what a plan would change, made from one view.
type proposal struct {
	ids     []int32 // those of the observers
	brokers []placement.Broker
	changes []placement.Change
	parts   []observer.Partition
	rows    []planned
}

func (p *proposal) isObserver(b int32) bool { return slices.Contains(p.ids, b) }

// add adds a change with why it is made.
func (p *proposal) add(part observer.Partition, c placement.Change, why []string) {
	p.changes, p.parts = append(p.changes, c), append(p.parts, part)
	p.rows = append(p.rows, planned{Partition: part.String(), Problems: why, From: c.From, To: c.To, Added: c.Added, Removed: c.Removed, Bytes: -1})
}

// present gives what a change of the partition begins from. It is refused while that is changing or
// not known.
func present(p observer.Partition) (placement.Partition, error) {
	if p.Error != "" || len(p.Adding)+len(p.Removing) > 0 {
		return placement.Partition{}, exit.With(exit.Refused, fmt.Errorf("%s: it is being reassigned, or not known: %s", p, p.Error))
	}
	return placement.Partition{Topic: p.Topic, ID: p.ID, Replicas: p.Replicas, Leader: p.Leader}, nil
}

// place compares with placements; each has to match a topic.
func (p *proposal) place(v observer.View, layouts []layout) error {
	for _, l := range layouts {
		if !slices.ContainsFunc(v.Partitions, func(p observer.Partition) bool { ok, _ := path.Match(l.pattern, p.Topic); return ok }) {
			return fmt.Errorf("--placement %s: no topic matches that the cluster shows, so nothing was compared: it is misspelt, or DESCRIBE on the topic is not granted", l.pattern)
		}
	}
	for _, q := range v.Partitions {
		want, ok := of(layouts, q.Topic)
		if !ok {
			continue
		}
		part, err := present(q)
		if err != nil {
			return err
		}
		c, err := placement.Assign(want, part, p.brokers)
		if err != nil {
			return err
		}
		if c.Differs() {
			p.add(q, c, placement.Check(want, part, p.brokers))
		}
	}
	return nil
}

// assign compares with assignments. What is wrong with them is said of all, the first few by name.
func (p *proposal) assign(v observer.View, targets []placement.Partition) error {
	at := map[string]observer.Partition{}
	for _, q := range v.Partitions {
		at[q.String()] = q
	}
	var wrong []error
	code := exit.Refused
	for _, want := range targets {
		q, ok := at[observer.Partition{Topic: want.Topic, ID: want.ID}.String()]
		if !ok {
			code = exit.Failed
			wrong = append(wrong, fmt.Errorf("topic %q, partition %d: the cluster does not show it: it is deleted or misspelt, or DESCRIBE on its topic is not granted", want.Topic, want.ID))
			continue
		}
		part, err := present(q)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		c := part.To(want.Replicas, p.isObserver)
		if why := p.impossible(v, c); why != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", q, why))
			continue
		}
		if c.Differs() {
			p.add(q, c, []string{difference(c)})
		}
	}
	const most = 10
	if n := len(wrong); n > most {
		wrong = append(wrong[:most], fmt.Errorf("and %d more", n-most))
	}
	if len(wrong) > 0 {
		wrong = append(wrong, errors.New("nothing was moved: correct it, or take these partitions out of a copy of the file"))
		return exit.With(code, fmt.Errorf("--assignment: %w", errors.Join(wrong...)))
	}
	return nil
}

// impossible says why a change would not come to an end: a copy on a broker that is not alive, or nobody
// who could lead.
func (p *proposal) impossible(v observer.View, c placement.Change) string {
	for _, b := range c.Added {
		if !v.IsLive(b) {
			return fmt.Sprintf("broker %d of the assignment %v is not alive, so that a copy on it would not come to an end; start it", b, c.To)
		}
	}
	electable := observer.Without(c.To, observer.Partition{Replicas: c.To}.Observers(p.ids)...)
	if !slices.ContainsFunc(electable, v.IsLive) {
		return fmt.Sprintf("of the assignment %v nobody who may lead, %v, is alive; start one", c.To, electable)
	}
	return ""
}

// difference says how the present assignment differs from the one in the file.
func difference(c placement.Change) string {
	var out []string
	if len(c.Added) > 0 {
		out = append(out, fmt.Sprintf("lacks %v", c.Added))
	}
	if len(c.Removed) > 0 {
		out = append(out, fmt.Sprintf("has %v beside", c.Removed))
	}
	if out == nil {
		return "another order"
	}
	return strings.Join(out, ", ")
}
