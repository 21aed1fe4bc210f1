package promoter

import (
	"fmt"
	"slices"

	"observer-patch/internal/observer"
)

// Policy says when an observer of a partition is promoted. The names are those that Confluent's
// observerPromotionPolicy uses.
type Policy string

const (
	// Never promotes nobody.
	Never Policy = "never"
	// UnderMinISR: the sync members of the ISR are fewer than min.insync.replicas.
	UnderMinISR Policy = "under-min-isr"
	// UnderReplicated: a sync replica is missing from the ISR.
	UnderReplicated Policy = "under-replicated"
	// LeaderIsObserver: a marked broker leads.
	LeaderIsObserver Policy = "leader-is-observer"
)

// ParsePolicy reads the name of a policy.
func ParsePolicy(text string) (Policy, error) {
	p := Policy(text)
	if !slices.Contains([]Policy{Never, UnderMinISR, UnderReplicated, LeaderIsObserver}, p) {
		return "", fmt.Errorf("policy %q: expected %s, %s, %s or %s", text, UnderMinISR, UnderReplicated, LeaderIsObserver, Never)
	}
	return p, nil
}

// triggered tells whether the partition asks for a promotion under the ids in force.
func (p Policy) triggered(q observer.Partition, ids []int32) bool {
	switch p {
	case UnderMinISR:
		return q.UnderMinISR(ids)
	case UnderReplicated:
		return q.UnderReplicated(ids)
	case LeaderIsObserver:
		return slices.Contains(q.Observers(ids), q.Leader)
	}
	return false
}

// candidates gives the live observers whose promotion would help the partition.
func (p Policy) candidates(v observer.View, q observer.Partition, ids []int32) []int32 {
	var out []int32
	for _, b := range q.Observers(ids) {
		if v.IsLive(b) && slices.Contains(q.Target(), b) && (p != LeaderIsObserver || b == q.Leader) {
			out = append(out, b)
		}
	}
	return out
}
