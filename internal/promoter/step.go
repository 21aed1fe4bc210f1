package promoter

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"observer-patch/internal/observer"
)

// Rules are the settings of automatic promotion.
type Rules struct {
	// Enabled has to be set: it is off otherwise.
	Enabled bool `json:"enabled"`
	// Policy is that of topics that have none of their own in Topics.
	Policy Policy            `json:"policy"`
	Topics map[string]Policy `json:"topics,omitempty"`
	// Placed are policies of placements, for topics that are not in Topics; the first pattern that
	// matches counts (path.Match).
	Placed []Placed `json:"placed,omitempty"`
	// MaxLagRecords is how many committed records an observer may lack; negative: not looked at.
	MaxLagRecords int64 `json:"max_lag_records"`
	// MaxLag is for how long it may lack what was committed; negative: not looked at.
	MaxLag time.Duration `json:"max_lag_ns"`
	// Cooldown is how long a broker is not promoted again after a promotion.
	Cooldown time.Duration `json:"cooldown_ns"`
	// Gap is between the two checks that a demotion needs.
	Gap time.Duration `json:"gap_ns"`
	// Hold is how long a broker is left alone after a person has changed its mark.
	Hold time.Duration `json:"hold_ns"`
}

// Placed is the promotion policy that a placement asks for.
type Placed struct {
	Pattern string `json:"pattern"`
	Policy  Policy `json:"policy"`
}

// DefaultRules are off, with a lag gate of 0 records.
func DefaultRules() Rules {
	return Rules{Policy: UnderMinISR, MaxLagRecords: 0, MaxLag: -1, Cooldown: 300 * time.Second, Gap: 5 * time.Second, Hold: time.Hour}
}

// State is what automatic promotion has to remember over a crash.
type State struct {
	// Promoted are the brokers that it has promoted and not demoted since, with the time.
	Promoted map[int32]time.Time `json:"promoted"`
	// Last is when it promoted each broker last.
	Last map[int32]time.Time `json:"last"`
	// Held are the brokers that a person has changed, with the time until which they are left alone.
	Held map[int32]time.Time `json:"held"`
	// Checked is when the first of the two checks before a demotion was passed.
	Checked map[int32]time.Time `json:"checked"`
	// List is the list as it was left, when Seen.
	List []int32 `json:"list"`
	Seen bool    `json:"seen"`
	// Doing is the action that was begun and not known to have ended.
	Doing *Action `json:"doing,omitempty"`
	// Since is when each partition was first seen to ask for a promotion.
	Since map[string]time.Time `json:"since"`
}

// Scan is what one look of automatic promotion knows.
type Scan struct {
	At        time.Time
	View      observer.View
	Positions Positions
	// Lags is for how long each observer lacks what was committed, by topic-partition and broker;
	// missing is unknown.
	Lags map[string]map[int32]time.Duration
	// Locked tells whether this instance holds the lock on the cluster.
	Locked bool
	// Pending is a distribution that is not complete.
	Pending *Pending
}

// Action is the one thing that is done after a scan.
type Action struct {
	Change     observer.Change `json:"change"`
	Broker     int32           `json:"broker"`
	Reason     string          `json:"reason"`
	Partitions []string        `json:"partitions"`
	Topics     []string        `json:"topics"`
	At         time.Time       `json:"at"`
	// Since is when the first of the partitions was seen to ask for it.
	Since time.Time `json:"since,omitzero"`
	// Writing is set right before its first file: an action that came less far has changed nothing.
	Writing bool `json:"writing,omitempty"`
}

// Skip says why something that was asked for is not done.
type Skip struct {
	// Broker is -1 when it is about the whole cluster.
	Broker int32  `json:"broker"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// The rules that automatic promotion skips by; those of package observer come beside them.
const (
	SkipDisabled   = "disabled"
	SkipNoLock     = "no-lock"
	SkipPending    = "pending"
	SkipPerson     = "person"
	SkipCooldown   = "cooldown"
	SkipLag        = "lag"
	SkipOtherTopic = "other-topics"
	SkipLeaderless = "leaderless"
	SkipNoObserver = "no-observer"
	SkipWaiting    = "one-action"
	SkipNotYet     = "not-demotable"
)

func (s State) clone() State {
	s.Promoted, s.Last, s.Held, s.Checked, s.Since = copied(s.Promoted), copied(s.Last), copied(s.Held), copied(s.Checked), copied(s.Since)
	s.List = slices.Clone(s.List)
	return s
}

func copied[K comparable, V any](m map[K]V) map[K]V {
	out := map[K]V{}
	maps.Copy(out, m)
	return out
}

// policy gives the policy of a topic.
func (r Rules) policy(topic string) Policy {
	if p, ok := r.Topics[topic]; ok {
		return p
	}
	for _, p := range r.Placed {
		if ok, _ := path.Match(p.Pattern, topic); ok { // the pattern was checked
			return p.Policy
		}
	}
	return r.Policy
}

// Step decides what to do after a scan: at most one action, and why not more. It changes nothing;
// the state that it gives is the next one's. Whoever acts calls Began before and Ended after.
func (r Rules) Step(s State, scan Scan) (State, *Action, []Skip) {
	s = s.clone()
	whole := func(rule, reason string) (State, *Action, []Skip) {
		clear(s.Checked)
		return s, nil, []Skip{{Broker: -1, Rule: rule, Reason: reason}}
	}
	switch {
	case !r.Enabled:
		return whole(SkipDisabled, "automatic promotion is not enabled")
	case !scan.Locked:
		return whole(SkipNoLock, "another instance, or nobody, holds the lock on the cluster")
	case !scan.View.Majority:
		return whole(observer.RuleNoMajority, "no active controller with a majority of the quorum answers")
	case scan.Pending != nil && !scan.Pending.Complete:
		return whole(SkipPending, "a distribution is not finished: "+scan.Pending.String())
	}
	ids, refusals := scan.View.InForce()
	if len(refusals) > 0 {
		return whole(refusals[0].Rule, refusals[0].String())
	}
	ids = observer.With(ids)
	s = s.settled(ids)
	skips := r.notice(&s, scan.At, ids)
	action, more := r.promotion(&s, scan, ids)
	skips = append(skips, more...)
	demotion, more := r.demotion(&s, scan, ids)
	skips = append(skips, more...)
	if action == nil {
		action = demotion
	} else if demotion != nil {
		skips = append(skips, Skip{Broker: demotion.Broker, Rule: SkipWaiting, Reason: "one action a scan"})
	}
	return s, action, skips
}

// settled finds out how an action ended that was begun before a crash: the list in force tells, but
// for an action that wrote nothing: then the list is somebody else's.
func (s State) settled(ids []int32) State {
	if s.Doing == nil {
		return s
	}
	a := *s.Doing
	return s.Ended(a, a.Writing && slices.Contains(ids, a.Broker) == (a.Change == observer.Demote))
}

// notice finds what a person has changed since the last scan: such a broker is left alone for a
// while, and is nobody's promotion but the person's.
func (r Rules) notice(s *State, at time.Time, ids []int32) []Skip {
	var out []Skip
	if s.Seen {
		for _, b := range append(observer.Without(ids, s.List...), observer.Without(s.List, ids...)...) {
			s.Held[b] = at.Add(r.Hold)
			delete(s.Promoted, b)
			delete(s.Checked, b)
			out = append(out, Skip{Broker: b, Rule: SkipPerson, Reason: fmt.Sprintf("somebody changed the list from %v to %v: broker %d is left alone until %s", s.List, ids, b, s.Held[b].UTC().Format(time.RFC3339))})
		}
	}
	s.List, s.Seen = ids, true
	for b, until := range s.Held {
		if !at.Before(until) {
			delete(s.Held, b)
		}
	}
	return out
}

// candidate is an observer that could be promoted, with the partitions that ask for it.
type candidate struct {
	broker     int32
	partitions []observer.Partition
	policies   []Policy
	lag        int64
}

// promotion finds the observer to promote: of those that pass every gate the one with the least
// lag.
func (r Rules) promotion(s *State, scan Scan, ids []int32) (*Action, []Skip) {
	var skips []Skip
	found := map[int32]*candidate{}
	asking := map[string]time.Time{}
	for _, p := range scan.View.Partitions {
		policy := r.policy(p.Topic)
		if p.Error != "" || !policy.triggered(p, ids) {
			continue
		}
		asking[p.String()] = scan.At
		if since, ok := s.Since[p.String()]; ok {
			asking[p.String()] = since
		}
		candidates := policy.candidates(scan.View, p, ids)
		switch {
		case len(p.Observers(ids)) == 0:
			continue // nothing that this could do anything about
		case p.Leader == observer.NoLeader:
			skips = append(skips, Skip{Broker: -1, Rule: SkipLeaderless, Reason: p.String() + " has no leader: that is a person's decision (observer-patch elect)"})
			continue
		case len(candidates) == 0:
			skips = append(skips, Skip{Broker: -1, Rule: SkipNoObserver, Reason: fmt.Sprintf("%s: none of its observers %v is alive", p, p.Observers(ids))})
		}
		for _, b := range candidates {
			if found[b] == nil {
				found[b] = &candidate{broker: b}
			}
			found[b].partitions = append(found[b].partitions, p)
			found[b].policies = append(found[b].policies, policy)
		}
	}
	s.Since = asking
	var fit []candidate
	for _, b := range slices.Sorted(maps.Keys(found)) {
		c := found[b]
		if skip := r.bars(*s, scan, c); skip != nil {
			skips = append(skips, *skip)
			continue
		}
		fit = append(fit, *c)
	}
	if len(fit) == 0 {
		return nil, skips
	}
	slices.SortStableFunc(fit, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.lag, b.lag), cmp.Compare(len(b.partitions), len(a.partitions)), cmp.Compare(a.broker, b.broker))
	})
	c := fit[0]
	for _, other := range fit[1:] {
		skips = append(skips, Skip{Broker: other.broker, Rule: SkipWaiting, Reason: fmt.Sprintf("broker %d has less lag or more to help; one action a scan", c.broker)})
	}
	a := &Action{Change: observer.Promote, Broker: c.broker, Topics: scan.View.Touched(c.broker), At: scan.At, Since: scan.At,
		Reason: fmt.Sprintf("%s: %s and %d more", c.policies[0], c.partitions[0], len(c.partitions)-1)}
	for _, p := range c.partitions {
		a.Partitions = append(a.Partitions, p.String())
		if since := asking[p.String()]; since.Before(a.Since) {
			a.Since = since
		}
	}
	return a, skips
}

// bars gives why a candidate may not be promoted now, nil when it may, and fills in its lag.
func (r Rules) bars(s State, scan Scan, c *candidate) *Skip {
	skip := func(rule, format string, args ...any) *Skip {
		return &Skip{Broker: c.broker, Rule: rule, Reason: fmt.Sprintf(format, args...)}
	}
	if until, ok := s.Held[c.broker]; ok {
		return skip(SkipPerson, "a person has changed broker %d, it is left alone until %s", c.broker, until.UTC().Format(time.RFC3339))
	}
	if last, ok := s.Last[c.broker]; ok && scan.At.Sub(last) < r.Cooldown {
		return skip(SkipCooldown, "broker %d was promoted %.0f s ago, the cooldown is %.0f s", c.broker, scan.At.Sub(last).Seconds(), r.Cooldown.Seconds())
	}
	for _, topic := range scan.View.Touched(c.broker) {
		if got := r.policy(topic); got != c.policies[0] {
			return skip(SkipOtherTopic, "broker %d is promoted whole, and carries topic %s with the policy %s instead of %s", c.broker, topic, got, c.policies[0])
		}
	}
	if refusals := scan.View.CheckPromotion(c.broker); len(refusals) > 0 {
		return skip(refusals[0].Rule, "%s", refusals[0])
	}
	for _, p := range c.partitions {
		// A leader lags behind nobody.
		if p.Leader == c.broker {
			continue
		}
		hw, ok := scan.Positions.Committed(p.String())
		pos, have := scan.Positions.Replicas[p.String()][c.broker]
		if !ok || !have || !pos.Known() {
			return skip(SkipLag, "%s: the lag of broker %d is not known", p, c.broker)
		}
		lag := max(0, hw-pos.End)
		if r.MaxLagRecords >= 0 && lag > r.MaxLagRecords {
			return skip(SkipLag, "%s: broker %d lacks %d committed records, at most %d are allowed", p, c.broker, lag, r.MaxLagRecords)
		}
		if r.MaxLag >= 0 {
			behind, known := scan.Lags[p.String()][c.broker]
			if !known {
				return skip(SkipLag, "%s: for how long broker %d lags is not known", p, c.broker)
			}
			if behind > r.MaxLag {
				return skip(SkipLag, "%s: broker %d lags by %v, at most %v are allowed", p, c.broker, behind, r.MaxLag)
			}
		}
		c.lag = max(c.lag, lag)
	}
	return nil
}

// demotion finds a broker of its own promotions that is no longer needed: everything on it would
// be well without it, seen by two checks that are Gap apart.
func (r Rules) demotion(s *State, scan Scan, ids []int32) (*Action, []Skip) {
	var skips []Skip
	var action *Action
	for _, b := range slices.Sorted(maps.Keys(s.Promoted)) {
		if reason := r.stillNeeded(scan.View, b, ids); reason != "" {
			delete(s.Checked, b)
			skips = append(skips, Skip{Broker: b, Rule: SkipNotYet, Reason: reason})
			continue
		}
		first, ok := s.Checked[b]
		if !ok {
			s.Checked[b] = scan.At
			continue
		}
		if scan.At.Sub(first) >= r.Gap && action == nil {
			action = &Action{Change: observer.Demote, Broker: b, Topics: scan.View.Touched(b), At: scan.At, Since: first, Reason: "no longer needed, by two checks"}
		}
	}
	return action, skips
}

func (r Rules) stillNeeded(v observer.View, broker int32, ids []int32) string {
	after := observer.With(ids, broker)
	for _, p := range v.Partitions {
		if !slices.Contains(p.Replicas, broker) {
			continue
		}
		switch policy := r.policy(p.Topic); {
		case p.Error != "":
			return p.String() + ": " + p.Error
		case p.Leader == observer.NoLeader:
			return p.String() + " has no leader"
		// Leadership is moved by the demotion itself, where somebody can take it.
		case policy != LeaderIsObserver && policy.triggered(p, after):
			return fmt.Sprintf("%s: ISR %v, without broker %d it would be %s again", p, p.ISR, broker, policy)
		}
	}
	if refusals := v.CheckDemotion(broker, ids, true); len(refusals) > 0 {
		return refusals[0].String()
	}
	return ""
}

// Began gives the state to store before an action is begun.
func (s State) Began(a Action) State {
	s = s.clone()
	s.Doing = &a
	return s
}

// Ended gives the state after an action has ended; done says whether the list in force is the one
// that it wanted.
func (s State) Ended(a Action, done bool) State {
	s = s.clone()
	s.Doing = nil
	delete(s.Checked, a.Broker)
	if !done {
		return s
	}
	if a.Change == observer.Promote {
		s.Promoted[a.Broker], s.Last[a.Broker] = a.At, a.At
		s.List = observer.Without(s.List, a.Broker)
	} else {
		delete(s.Promoted, a.Broker)
		s.List = observer.With(s.List, a.Broker)
	}
	return s
}

// Next gives when to scan again: sooner than every when a check waits for its second.
func (r Rules) Next(s State, every time.Duration) time.Duration {
	if len(s.Checked) > 0 {
		return min(every, r.Gap)
	}
	return every
}
