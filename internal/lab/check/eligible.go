package check

import (
	"slices"

	"observer-patch/internal/lab/history"
)

// Eligible asks of every sampled ELR what KIP-966 promises: its members are replicas, none of them
// is in the ISR, and there are none while the ISR has minISR members.
func Eligible(h history.History, topic string, minISR int) Finding {
	t := tally{rule: "the ELR has replicas only, none of them in the ISR, and nobody while the ISR is large enough"}
	n, filled := 0, 0
	for _, s := range h.Samples(topic) {
		if !s.Eligible {
			continue
		}
		n++
		if len(s.ELR) == 0 {
			continue
		}
		filled++
		for _, id := range s.ELR {
			if !slices.Contains(s.Replicas, id) || s.InISR(id) {
				t.add("%s-%d: ELR %v, ISR %v, replicas %v at %.0f ms", s.Topic, s.ID, s.ELR, s.ISR, s.Replicas, s.At)
				break
			}
		}
		if len(s.ISR) >= minISR {
			t.add("%s-%d: ELR %v beside ISR %v at %.0f ms", s.Topic, s.ID, s.ELR, s.ISR, s.At)
		}
	}
	if n == 0 {
		t.add("no ELR was sampled")
	}
	return t.finding("%d samples, %d of them with somebody in the ELR", n, filled)
}
