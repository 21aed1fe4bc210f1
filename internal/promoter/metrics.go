package promoter

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"observer-patch/internal/observer"
)

// Metrics are the figures of automatic promotion, in Prometheus' text format. Its zero value is
// ready for use.
type Metrics struct {
	mu       sync.Mutex
	scans    map[bool]int64
	last     time.Time
	locked   bool
	majority bool
	pending  int
	asking   int
	promoted []int32
	skips    map[string]int64
	actions  map[string]int64
}

func (m *Metrics) scanned(at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scans == nil {
		m.scans, m.skips, m.actions = map[bool]int64{}, map[string]int64{}, map[string]int64{}
	}
	m.scans[ok]++
	if ok {
		m.last = at
	}
}

func (m *Metrics) state(scan Scan, s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked, m.majority, m.asking, m.promoted = scan.Locked, scan.View.Majority, len(s.Since), slices.Sorted(maps.Keys(s.Promoted))
	m.pending = 0
	if scan.Pending != nil {
		m.pending = len(scan.Pending.Nodes)
	}
}

func (m *Metrics) skipped(rule string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.skips == nil {
		m.scans, m.skips, m.actions = map[bool]int64{}, map[string]int64{}, map[string]int64{}
	}
	m.skips[rule]++
}

func (m *Metrics) acted(c observer.Change, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcome := "failed"
	if ok {
		outcome = "ok"
	}
	m.actions[fmt.Sprintf(`change="%s",outcome="%s"`, c, outcome)]++
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = m.write(w) // who scrapes has gone away
}

func (m *Metrics) write(w io.Writer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	family := func(name, kind, help string) {
		line("# HELP observer_patch_auto_%s %s", name, help)
		line("# TYPE observer_patch_auto_%s %s", name, kind)
	}
	gauge := func(name, help string, value any) {
		family(name, "gauge", help)
		line("observer_patch_auto_%s %v", name, value)
	}
	family("scans_total", "counter", "Scans, by whether the cluster could be looked at.")
	line(`observer_patch_auto_scans_total{outcome="ok"} %d`, m.scans[true])
	line(`observer_patch_auto_scans_total{outcome="failed"} %d`, m.scans[false])
	last := 0.0
	if !m.last.IsZero() {
		last = float64(m.last.UnixMilli()) / 1000
	}
	gauge("last_scan_timestamp_seconds", "When the cluster was looked at last, 0 for never.", last)
	gauge("lock_held", "1 when this instance holds the lock on the cluster.", number(m.locked))
	gauge("controller_majority", "1 when a controller with a majority behind it answered.", number(m.majority))
	gauge("pending_nodes", "Nodes that do not have the list yet.", m.pending)
	gauge("partitions_asking", "Partitions whose policy asks for a promotion.", m.asking)
	family("promoted", "gauge", "Brokers that are promoted by automatic promotion, 1 each.")
	for _, b := range m.promoted {
		line(`observer_patch_auto_promoted{broker="%d"} 1`, b)
	}
	family("actions_total", "counter", "Promotions and demotions, by outcome.")
	for _, k := range slices.Sorted(maps.Keys(m.actions)) {
		line("observer_patch_auto_actions_total{%s} %d", k, m.actions[k])
	}
	family("skips_total", "counter", "Scans that skipped something, by rule.")
	for _, k := range slices.Sorted(maps.Keys(m.skips)) {
		line(`observer_patch_auto_skips_total{rule="%s"} %d`, k, m.skips[k])
	}
	return err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
