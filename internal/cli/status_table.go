package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"observer-patch/internal/cluster"
	"observer-patch/internal/overview"
)

// statusTables writes a report for people: the summary, then a table for everything that there is.
func statusTables(b *strings.Builder, r *overview.Report) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line("cluster %s (%s), controller %s, %s, %s", r.ClusterID, r.Mode, orUnknown(r.Controller), majorityText(r), r.Time.UTC().Format(time.RFC3339))
	line("observers %v (from %s%s)", r.Observers.IDs, r.Observers.Source, map[bool]string{false: ", NOT CERTAIN"}[r.Observers.Certain])
	for _, d := range r.Observers.Doubts {
		line("  doubt: %s", d)
	}
	c := r.Partitions
	line("partitions %d, with observers %d: offline %d, under min.insync.replicas %d, at it %d, under-replicated %d, led by an observer %d, observer in the ISR %d, all marked %d, reassigning %s, unknown %d",
		c.Total, c.WithObservers, c.Offline, c.UnderMinISR, c.AtMinISR, c.UnderReplicated, c.ObserverLeads, c.ObserverInISR, c.AllMarked, orUnknown(r.Moving), c.Unknown)
	section(b, r.Nodes, func(t table.Writer, rows []overview.Node) {
		t.AppendHeader(table.Row{"node", "roles", "zone", "alive", "observer", "file", "ids", "mode", "owner", "leads", "replicas", "jars"})
		for _, n := range rows {
			t.AppendRow(table.Row{n.ID, nodeRoles(n), n.Zone, yesNo(n.Alive), yesNo(cluster.Known(n.Observer)), n.File, orUnknown(n.IDs), n.Mode, n.Owner, n.Leads, n.Replicas, jarsText(n.Jars)})
		}
	})
	section(b, r.Lags, func(t table.Writer, rows []overview.Lag) {
		t.AppendHeader(table.Row{"observer", "replicas", "caught up", "lag unknown", "largest lag", "sum", "largest at"})
		for _, l := range rows {
			t.AppendRow(table.Row{l.Broker, l.Replicas, l.CaughtUp, l.Unknown, orUnknown(l.Max), orUnknown(l.Total), l.Worst})
		}
	})
	losses := func(what string, rows []overview.Loss, name func(overview.Loss) string) {
		section(b, rows, func(t table.Writer, rows []overview.Loss) {
			t.AppendHeader(table.Row{what, "stops writes of", "no leader for", "loses the controllers' majority", "for example"})
			for _, l := range rows {
				t.AppendRow(table.Row{name(l), l.Stops, l.Offline, yesNo(l.Quorum), l.Example})
			}
		})
	}
	if len(r.Zones) == 0 {
		line("\nno zones are known: set broker.rack, or name them in the inventory")
	}
	losses("loss of zone", r.Zones, func(l overview.Loss) string { return fmt.Sprintf("%s %v", l.Zone, l.Brokers) })
	losses("restart of broker", r.Restarts, func(l overview.Loss) string { return fmt.Sprint(l.Brokers[0]) })
	for _, l := range r.Restarts {
		if len(l.StandIns) > 0 {
			line("  to restart broker %d without that: observer-patch restart %d --stand-in %d", l.Brokers[0], l.Brokers[0], l.StandIns[0])
		}
	}
	section(b, r.Trouble, func(t table.Writer, rows []overview.Trouble) {
		t.AppendHeader(table.Row{"partition", "trouble", "leader", "replicas", "isr", "observers", "needs in sync"})
		for _, p := range rows {
			t.AppendRow(table.Row{p.Partition, p.State, p.Leader, fmt.Sprint(p.Replicas), fmt.Sprint(p.ISR), fmt.Sprint(p.Observers), orUnknown(p.MinISR)})
		}
	})
	if len(r.Findings)+len(r.Missing) > 0 || r.Pending != "" {
		line("")
	}
	if r.Pending != "" {
		line("pending: %s", r.Pending)
	}
	for _, f := range r.Findings {
		line("node %d %s: %s\n  to do: %s", f.Node, f.Code, f.Text, f.Do)
	}
	for _, m := range r.Missing {
		line("not known: %s", m)
	}
}

// section writes a table after an empty line; nothing when there are no rows.
func section[T any](b *strings.Builder, rows []T, fill func(table.Writer, []T)) {
	if len(rows) == 0 {
		return
	}
	b.WriteByte('\n')
	_ = printRows(b, "table", rows, fill) // a strings.Builder takes everything
}

func majorityText(r *overview.Report) string {
	switch {
	case !r.Majority.Known:
		return "whether with a majority is not known"
	case r.Majority.V:
		return "with a majority"
	}
	return "WITHOUT A MAJORITY"
}

func nodeRoles(n overview.Node) string {
	var words []string
	if n.Broker {
		words = append(words, "broker")
	}
	if n.Controller {
		words = append(words, "controller")
	}
	return strings.Join(words, " ")
}

// jarsText gives the beginning of the digests of the jars that a bundle replaces on every release.
func jarsText(jars map[string]string) string {
	var words []string
	for name, sum := range jars {
		if strings.HasPrefix(name, "kafka_") || strings.HasPrefix(name, "kafka-metadata") {
			words = append(words, strings.TrimSuffix(name, ".jar")+" "+sum[:12])
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
