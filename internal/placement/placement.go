// Package placement reads where a topic's replicas and observers shall lie, says where a cluster
// differs from that, and finds the assignment with the least data moved. The JSON form is the one
// that multi-region clusters use (confluent.placement.constraints).
package placement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Limits of what is read: no cluster has more.
const (
	maxBytes    = 64 << 10
	maxReplicas = 1000
	maxName     = 255
)

// Constraint asks for a number of replicas in a rack.
type Constraint struct {
	Count int
	// Rack is broker.rack; empty for any.
	Rack string
}

// Placement is where the replicas of a topic shall lie.
type Placement struct {
	Version   int
	Replicas  []Constraint
	Observers []Constraint
	// Policy is observerPromotionPolicy, empty when there is none: version 1 has none.
	Policy string
}

// document is the JSON form.
type document struct {
	Version   int          `json:"version"`
	Replicas  []constraint `json:"replicas"`
	Observers []constraint `json:"observers"`
	Policy    *string      `json:"observerPromotionPolicy"`
}

type constraint struct {
	Count       int               `json:"count"`
	Constraints map[string]string `json:"constraints"`
}

// Parse reads a placement. Every mistake in it is named; a field that is not known is one, since a
// misspelt constraint would not hold.
func Parse(text []byte) (Placement, error) {
	if len(text) > maxBytes {
		return Placement{}, fmt.Errorf("placement of %d bytes: expected at most %d", len(text), maxBytes)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return Placement{}, fmt.Errorf("placement: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Placement{}, errors.New("placement: there is something after its end")
	}
	p := Placement{Version: d.Version}
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if d.Version != 1 && d.Version != 2 {
		say("version %d: expected 1 or 2", d.Version)
	}
	if d.Policy != nil {
		p.Policy = *d.Policy
		switch p.Policy {
		case "under-min-isr", "under-replicated", "leader-is-observer":
		default:
			say("observerPromotionPolicy %q: expected under-min-isr, under-replicated or leader-is-observer", p.Policy)
		}
		if d.Version == 1 {
			say("observerPromotionPolicy needs version 2")
		}
		if len(d.Observers) == 0 {
			say("observerPromotionPolicy without observers")
		}
	}
	p.Replicas = constraints("replicas", d.Replicas, say)
	p.Observers = constraints("observers", d.Observers, say)
	if len(p.Replicas) == 0 {
		say("replicas: expected at least one")
	}
	if n := p.Sync() + p.Observing(); n > maxReplicas {
		say("%d replicas: expected at most %d", n, maxReplicas)
	}
	if err := errors.Join(errs...); err != nil {
		return Placement{}, fmt.Errorf("placement: %w", err)
	}
	return p, nil
}

func constraints(what string, list []constraint, say func(string, ...any)) []Constraint {
	var out []Constraint
	seen := map[string]bool{}
	for i, c := range list {
		where := fmt.Sprintf("%s, entry %d", what, i+1)
		if c.Count < 1 || c.Count > maxReplicas {
			say("%s: count %d: expected 1 to %d", where, c.Count, maxReplicas)
			continue
		}
		rack := ""
		for name, value := range c.Constraints {
			if name != "rack" {
				say("%s: constraint %q: expected rack, the only one there is", where, name)
				continue
			}
			if value == "" || len(value) > maxName || strings.ContainsFunc(value, unicode.IsControl) {
				say("%s: rack %q: expected 1 to %d printable characters", where, value, maxName)
			}
			rack = value
		}
		if seen[rack] {
			say("%s: rack %q stands there twice", where, rack)
		}
		seen[rack] = true
		out = append(out, Constraint{Count: c.Count, Rack: rack})
	}
	return out
}

// Sync is how many sync replicas are asked for.
func (p Placement) Sync() int { return sum(p.Replicas) }

// Observing is how many observers are asked for.
func (p Placement) Observing() int { return sum(p.Observers) }

func sum(list []Constraint) int {
	n := 0
	for _, c := range list {
		n += c.Count
	}
	return n
}

// String gives the placement in its JSON form.
func (p Placement) String() string {
	d := document{Version: p.Version, Replicas: back(p.Replicas), Observers: back(p.Observers)}
	if p.Policy != "" {
		d.Policy = &p.Policy
	}
	text, _ := json.Marshal(d) // numbers and strings only
	return string(text)
}

func back(list []Constraint) []constraint {
	out := []constraint{}
	for _, c := range list {
		b := constraint{Count: c.Count}
		if c.Rack != "" {
			b.Constraints = map[string]string{"rack": c.Rack}
		}
		out = append(out, b)
	}
	return out
}

// MarshalJSON leaves a policy out that is not there.
func (d document) MarshalJSON() ([]byte, error) {
	type plain struct {
		Version   int          `json:"version"`
		Replicas  []constraint `json:"replicas"`
		Observers []constraint `json:"observers,omitempty"`
		Policy    *string      `json:"observerPromotionPolicy,omitempty"`
	}
	return json.Marshal(plain(d))
}

// MarshalJSON leaves constraints out that are not there.
func (c constraint) MarshalJSON() ([]byte, error) {
	type plain struct {
		Count       int               `json:"count"`
		Constraints map[string]string `json:"constraints,omitempty"`
	}
	return json.Marshal(plain(c))
}
