package observer

import (
	"errors"
	"fmt"
	"strings"
)

// Refusal says which safety rule forbids a step, for what, and what would help.
type Refusal struct {
	// Rule is a short name that scripts can rely on.
	Rule string `json:"rule"`
	// Partition is topic-partition, empty when the rule is about the cluster or a node.
	Partition string `json:"partition,omitempty"`
	Reason    string `json:"reason"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// The rules that can refuse.
const (
	RuleUnknown        = "unknown"          // something that decides could not be learnt
	RuleDiffer         = "lists-differ"     // the identity files say different things
	RuleNoMajority     = "no-majority"      // no active controller with a majority behind it
	RuleDead           = "broker-dead"      // the broker is not registered, or fenced
	RuleLeads          = "leads"            // the broker leads a partition
	RuleAdding         = "being-added"      // a reassignment adds the broker (R6)
	RuleReassigning    = "reassigning"      // a reassignment is in the way
	RuleMinISR         = "min-isr"          // the ISR would fall below min.insync.replicas
	RuleNoTaker        = "no-new-leader"    // nobody could take the leadership over
	RuleBehind         = "behind"           // another live replica has more
	RuleNobody         = "nobody"           // no live replica may be elected
	RuleDataLoss       = "data-loss"        // records may be lost and nobody has said that they may
	RuleChanged        = "changed"          // what was checked is no longer so
	RuleLastUnmarked   = "last-unmarked"    // no unmarked replica would be left
	RuleNotAllowed     = "not-allowed"      // the cluster does not grant a right that the step needs
	RuleNotInInventory = "not-in-inventory" // a node has no entry, so its file cannot be written
)

// String gives the refusal for people.
func (r Refusal) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Rule)
	if r.Partition != "" {
		fmt.Fprintf(&b, "%s: ", r.Partition)
	}
	b.WriteString(r.Reason)
	if r.Do != "" {
		fmt.Fprintf(&b, "; %s", r.Do)
	}
	return b.String()
}

// Refused gives the refusals as one error, nil when there is none.
func Refused(refusals []Refusal) error {
	var errs []error
	for _, r := range refusals {
		errs = append(errs, errors.New(r.String()))
	}
	return errors.Join(errs...)
}
