//go:build cluster

package operate

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"observer-patch/internal/lab/check"
	"observer-patch/internal/lab/witness"
	"observer-patch/internal/observer"
)

// cyclePage is what is kept of a run.
type cyclePage struct {
	Release  string           `json:"release"`
	CPUs     int              `json:"cpus"`
	Seed     uint64           `json:"seed"`
	Asked    int              `json:"asked"`
	Cycles   int              `json:"cycles"`
	Ended    time.Time        `json:"ended"`
	Minutes  float64          `json:"minutes"`
	Passed   bool             `json:"passed"`
	Settings witness.Settings `json:"settings"`
	Kinds    map[string]int   `json:"kinds"`
	// Changes counts the changes of marks by who made them.
	Changes    map[string]int  `json:"changes"`
	Samples    int             `json:"samples"`
	Records    int             `json:"records"`
	Promotions []witness.Took  `json:"promotions"`
	Demotions  []witness.Took  `json:"demotions"`
	Findings   []check.Finding `json:"findings"`
}

func newCyclePage(s witness.Story, played []course, findings []check.Finding, promotions, demotions []witness.Took) cyclePage {
	p := cyclePage{Release: version, CPUs: runtime.NumCPU(), Seed: *cycleSeed, Asked: *cycles, Cycles: len(played), Ended: time.Now().UTC().Truncate(time.Second), Settings: s.Settings,
		Kinds: kinds(played), Changes: map[string]int{}, Promotions: promotions, Demotions: demotions, Findings: findings}
	if n := len(played); n > 0 {
		p.Minutes = (played[n-1].To - played[0].From) / 60000
	}
	for _, c := range s.Changes() {
		what := map[observer.Change]string{observer.Promote: "promotion", observer.Demote: "demotion"}[c.Kind] + " by " + c.By
		if c.Undone {
			what += ", taken back"
		}
		p.Changes[what]++
	}
	for _, e := range s.History {
		if e.View != nil {
			p.Samples++
		}
		if e.Op != nil {
			p.Records++
		}
	}
	return p
}

func (p cyclePage) write(dir string) error {
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(dir, "auto-cycles.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, "auto-cycles.md"), []byte(p.page()), 0o644)
}

func (p cyclePage) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Automatic promotion through random cycles\n\nMade by `make auto-cycles`: set `full` of %s, KRaft, sync brokers 1 and 2, observers 3 and 4, three controllers, all on one machine with %d processors; "+
		"`replica.lag.time.max.ms=2000`, `broker.session.timeout.ms=4000`, `controller.socket.timeout.ms=3000`; `auto` in a process of its own with a scan every %v, checks %v apart, a cooldown of %v. A producer writes with acks=all all the time. "+
		"What is judged are samples of the brokers' metadata, the files of all nodes and the audit log, by the rules of `internal/lab/witness`.\n\n", p.Release, p.CPUs, cycleScan, cycleGap, cycleCooldown)
	fmt.Fprintf(&b, "**%d cycles** of %d asked for, seed %d, %.0f minutes, ended %s. Verdict: **%s**. %d samples, %d records.\n", p.Cycles, p.Asked, p.Seed, p.Minutes, p.Ended.Format("2006-01-02 15:04 UTC"), p.verdict(), p.Samples, p.Records)
	counts(&b, "cycle", p.Kinds)
	counts(&b, "change of a mark", p.Changes)
	b.WriteString("\n| from being due to the log's line | times | median | longest | bound |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range []struct {
		what  string
		took  []witness.Took
		bound time.Duration
	}{{"PROMOTE-OK", p.Promotions, cyclePromote}, {"DEMOTE-OK", p.Demotions, cycleDemote}} {
		mid, most := middle(row.took)
		fmt.Fprintf(&b, "| %s | %d | %.1f s | %.1f s | %.0f s, %.0f s beside a frozen node |\n", row.what, len(row.took), mid, most, row.bound.Seconds(), (row.bound + cycleSilent).Seconds())
	}
	b.WriteString("\n| rule | holds | counted, or the first violations |\n| --- | --- | --- |\n")
	for _, f := range p.Findings {
		fmt.Fprintf(&b, "| %s | %v | %s |\n", cell(f.Rule), f.OK, cell(f.Detail))
	}
	return b.String()
}

// verdict is computed from what is stored.
func (p cyclePage) verdict() string {
	if !p.Passed || len(p.Promotions) == 0 || len(p.Demotions) == 0 || slices.ContainsFunc(p.Findings, func(f check.Finding) bool { return !f.OK }) {
		return "fail"
	}
	return "pass"
}

func counts(b *strings.Builder, what string, n map[string]int) {
	fmt.Fprintf(b, "\n| %s | times |\n| --- | --- |\n", what)
	for _, k := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(b, "| %s | %d |\n", k, n[k])
	}
}
