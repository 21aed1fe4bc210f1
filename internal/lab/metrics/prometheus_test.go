//go:build metrics

package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const ops = "../../../ops"

// toolsVariable names a folder with prometheus, promtool and jmx_prometheus_javaagent.jar (ci/prometheus makes one).
const toolsVariable = "OBSERVER_PATCH_TEST_PROMETHEUS"

// prometheus is a running server that scrapes every node.
type prometheus struct {
	*rig
	url string
}

// freePort gives a port of this machine that nobody listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// prometheus loads the exporter into every node, with ops/jmx-exporter.yml, and starts a server with ops/alerts.yml.
func (r *rig) prometheus() *prometheus {
	t := r.t
	tools := os.Getenv(toolsVariable)
	require.NotEmpty(t, tools, "%s is not set: 'make metrics-test' sets it", toolsVariable)
	exporter, err := filepath.Abs(filepath.Join(ops, "jmx-exporter.yml"))
	require.NoError(t, err)
	rules, err := filepath.Abs(filepath.Join(ops, "alerts.yml"))
	require.NoError(t, err)
	out, err := exec.CommandContext(r.ctx, filepath.Join(tools, "promtool"), "check", "rules", rules).CombinedOutput()
	require.NoError(t, err, "%s", out)

	var targets []string
	for _, n := range r.cluster.Nodes {
		port := freePort(t)
		_, err := r.java("agent", strconv.Itoa(n.PID()), filepath.Join(tools, "jmx_prometheus_javaagent.jar"), fmt.Sprintf("127.0.0.1:%d:%s", port, exporter))
		require.NoError(t, err)
		targets = append(targets, fmt.Sprintf("127.0.0.1:%d", port))
	}
	dir := t.TempDir()
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{rules},
		"scrape_configs": []any{map[string]any{"job_name": "kafka",
			"static_configs": []any{map[string]any{"targets": targets, "labels": map[string]string{"cluster": "lab"}}}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), config, 0o644))
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	p := &prometheus{rig: r, url: fmt.Sprintf("http://127.0.0.1:%d", freePort(t))}
	cmd := exec.Command(filepath.Join(tools, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+strings.TrimPrefix(p.url, "http://"))
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		require.NoError(t, log.Close())
	})
	r.await("every node is scraped", func() error {
		if have := len(p.query("up == 1")); have != len(targets) {
			return fmt.Errorf("%d of %d", have, len(targets))
		}
		return nil
	})
	return p
}

// series is one element of a query's result.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// ask gives the result of an instant query.
func (p *prometheus) ask(query string) ([]series, error) {
	resp, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status string                    `json:"status"`
		Data   struct{ Result []series } `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return nil, fmt.Errorf("query %s: %s", query, text)
	}
	return answer.Data.Result, nil
}

// query is ask while the server may still be starting: nothing then.
func (p *prometheus) query(query string) []series {
	result, err := p.ask(query)
	if err != nil {
		p.t.Log(err)
	}
	return result
}

// awaitSeries waits until a query has at least one series.
func (p *prometheus) awaitSeries(what, query string) []series {
	p.t.Helper()
	return p.awaitAny(what+" has series: "+query, func() string { return query })
}

// awaitAny waits until the query that next gives has at least one series.
func (p *prometheus) awaitAny(what string, next func() string) []series {
	p.t.Helper()
	var result []series
	p.await(what, func() error {
		var err error
		if result, err = p.ask(next()); err == nil && len(result) == 0 {
			err = fmt.Errorf("none")
		}
		return err
	})
	return result
}

func (p *prometheus) everyQueryOfTheDashboardHasSeries() {
	text, err := os.ReadFile(filepath.Join(ops, "dashboard.json"))
	require.NoError(p.t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(p.t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(p.t, dashboard.Panels)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(p.t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			result := p.awaitSeries("panel '"+panel.Title+"'", strings.ReplaceAll(target.Expr, "$cluster", "lab"))
			p.page.query(panel.Title, target.Expr, len(result))
		}
	}
}

// rule is an alert of ops/alerts.yml.
type rule struct{ Alert, Expr string }

func (p *prometheus) rules() map[string]string {
	text, err := os.ReadFile(filepath.Join(ops, "alerts.yml"))
	require.NoError(p.t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(p.t, yaml.Unmarshal(text, &file))
	rules := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules[r.Alert] = r.Expr
		}
	}
	require.NotEmpty(p.t, rules)
	return rules
}

var metric = regexp.MustCompile(`\b(kafka_[a-z_]+|up)\b`)

func (p *prometheus) everyMetricOfTheRulesHasSeries() {
	for alert, expr := range p.rules() {
		names := metric.FindAllString(expr, -1)
		require.NotEmpty(p.t, names, alert)
		for _, name := range names {
			p.awaitSeries(alert, name)
		}
	}
}

// everyAlertFires brings about what each alert is for and waits until its condition holds. The last steps
// break the cluster.
func (p *prometheus) everyAlertFires() {
	t, rules := p.t, p.rules()
	since := time.Now() // when what an alert is for was brought about
	fired := func(alert, because string) {
		t.Helper()
		expr, ok := rules[alert]
		require.True(t, ok, alert)
		// What held for a moment since then counts too: two alerts may come of one cause.
		result := p.awaitAny(alert+" fires, because "+because, func() string {
			return fmt.Sprintf("last_over_time((%s)[%ds:1s])", expr, int(time.Since(since).Seconds())+1)
		})
		p.page.alert(alert, because, len(result), time.Since(since))
		delete(rules, alert)
	}
	quiet := func(alerts ...string) {
		t.Helper()
		for _, alert := range alerts {
			result, err := p.ask(rules[alert])
			require.NoError(t, err)
			require.Empty(t, result, "%s fires in a healthy cluster", alert)
		}
	}
	healthy := slices.Sorted(maps.Keys(rules))
	healthy = slices.DeleteFunc(healthy, func(alert string) bool {
		// Two of two full members in the ISR are the minimum; ZooKeeper itself has no gauges of ours.
		return alert == "SyncIsrAtMinimum" || alert == "ObserverGaugeAbsent"
	})
	quiet(healthy...)
	fired("SyncIsrAtMinimum", "min.insync.replicas is the size of the ISR")
	if len(p.cluster.ControllerIDs()) == 0 {
		fired("ObserverGaugeAbsent", "ZooKeeper is scraped too, and has none")
	} else {
		p.page.alert("ObserverGaugeAbsent", "not brought about here; see the ZooKeeper leg", 0, 0)
		delete(rules, "ObserverGaugeAbsent")
	}

	broker := p.cluster.Node(2)
	since = time.Now()
	require.NoError(t, os.WriteFile(broker.IDsPath(), []byte("garbage\n"), 0o644))
	fired("ObserverIdsFileState", "broker 2 has a file without an id")
	since = time.Now()
	require.NoError(t, broker.WriteIDs([]int32{observer, 9}))
	fired("ObserverIdsDiffer", "broker 2 has one id more")

	// Nothing changes the ISR of the partition that broker 1 leads, so it leads on, in its own ISR.
	since = time.Now()
	require.NoError(t, p.cluster.WriteIDs([]int32{1, observer}, p.nodes()...))
	fired("ObserverLeads", "broker 1 is marked while it leads")
	fired("ObserverInIsr", "broker 1 is marked while it is in the ISR")
	since = time.Now()
	require.NoError(t, p.cluster.WriteIDs(nil, p.nodes()...))
	fired("ObserverPromotedForLong", "no id is in force")
	require.NoError(t, p.cluster.WriteIDs([]int32{observer}, p.nodes()...))
	p.await("nobody but the observer is out of the ISR", func() error {
		if have := p.query("sum(kafka_observer_replicas_in_isr) == 0 and sum(kafka_observer_replicas) == 2"); len(have) == 0 {
			return fmt.Errorf("%v", p.query("kafka_observer_replicas_in_isr"))
		}
		return nil
	})

	p.create("alone", []int32{2})
	since = time.Now()
	require.NoError(t, p.cluster.Node(observer).Kill())
	p.produce("orders", 10)
	fired("ObserverNotCaughtUp", "the observer was killed")
	rules["ObserverLagNearRetention"] = regexp.MustCompile(`> .*`).ReplaceAllString(rules["ObserverLagNearRetention"], "> 0")
	fired("ObserverLagNearRetention", "the observer was killed; the bound was taken down to 0 for the test")
	since = time.Now()
	require.NoError(t, broker.Kill())
	fired("OfflinePartitions", "broker 2, the only replica of a topic, was killed")
	require.Empty(t, rules, "alerts that nothing was tried for")
}
