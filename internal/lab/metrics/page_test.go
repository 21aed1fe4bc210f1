//go:build metrics

package metrics

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// page collects what a leg saw.
type page struct {
	title                           string
	nodes, queries, alerts, leaking []string
}

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }

func (p *page) gauges(id int32, broker bool, g map[string]int64) {
	row := fmt.Sprintf("| %d, %s |", id, map[bool]string{true: "broker", false: "controller"}[broker])
	for _, name := range brokerGauges {
		value, ok := g[name]
		if !ok {
			row += " |"
			continue
		}
		row += fmt.Sprintf(" %d |", value)
	}
	p.nodes = append(p.nodes, row)
}

func (p *page) leak(topics int, took time.Duration) {
	p.leaking = append(p.leaking, fmt.Sprintf("%d topics created and deleted in %s, one partition of one full replica and one observer each: afterwards no gauge of theirs was left on either broker, and %d of `kafka.observer` as before.",
		topics, took.Round(time.Second), len(brokerGauges)))
}

func (p *page) query(panel, expr string, n int) {
	p.queries = append(p.queries, fmt.Sprintf("| %s | `%s` | %d |", panel, expr, n))
}

func (p *page) alert(alert, because string, n int, took time.Duration) {
	p.alerts = append(p.alerts, fmt.Sprintf("| %s | %s | %d | %.0f s |", alert, because, n, took.Seconds()))
}

// write writes the page, if there is a folder and the test has not failed.
func (p *page) write(t *testing.T, dir string) {
	if dir == "" || t.Failed() {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s, %s\n\n", p.title, time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(&b, "Over JMX from live nodes:\n\n| node | %s |\n|%s\n%s\n\n", strings.Join(brokerGauges, " | "), strings.Repeat(" --- |", len(brokerGauges)+1), strings.Join(p.nodes, "\n"))
	fmt.Fprintf(&b, "%s\n\n", strings.Join(p.leaking, "\n"))
	fmt.Fprintf(&b, "Every query of `ops/dashboard.json` on a real scrape:\n\n| panel | query | series |\n| --- | --- | --- |\n%s\n\n", strings.Join(p.queries, "\n"))
	fmt.Fprintf(&b, "Every alert's condition, brought about:\n\n| alert | because | series | after |\n| --- | --- | --- | --- |\n%s\n\n", strings.Join(p.alerts, "\n"))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(p.title, " ", "-")+".part"), []byte(b.String()), 0o644))
}
