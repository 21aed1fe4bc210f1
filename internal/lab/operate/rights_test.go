//go:build cluster

package operate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/lab/probe"
	"observer-patch/internal/promoter"
)

// ops is the user whose rights are tried.
const ops = "ops"

// rights are a row of the documentation: operations on the cluster, on all topics, on one topic
// or group by name.
type rights struct {
	cluster, topics, one []string
	group                bool
	name                 string
}

// documented reads the rows of 'Rights in Kafka', by command.
func documented(t *testing.T) map[string]rights {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operate.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "## Rights in Kafka\n")
	require.True(t, found)
	quoted := regexp.MustCompile("`([^`]+)`")
	words := func(cell string) []string {
		return regexp.MustCompile(`[A-Z_]{4,}`).FindAllString(cell, -1)
	}
	out := map[string]rights{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[2], "DESCRIBE") {
			continue
		}
		r := rights{cluster: words(cells[2]), topics: words(cells[3]), one: words(cells[4]), group: strings.Contains(cells[4], "group")}
		if m := quoted.FindStringSubmatch(cells[4]); m != nil {
			r.name = m[1]
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			out[m[1]] = r
		}
	}
	require.Len(t, out, 17, "commands in the table")
	return out
}

func (r rights) without(cluster string, topics ...string) rights {
	r.cluster = slices.DeleteFunc(slices.Clone(r.cluster), func(o string) bool { return o == cluster })
	r.topics = slices.DeleteFunc(slices.Clone(r.topics), func(o string) bool { return slices.Contains(topics, o) })
	return r
}

func operations(t *testing.T, names []string) []kmsg.ACLOperation {
	t.Helper()
	var out []kmsg.ACLOperation
	for _, name := range names {
		o, err := kmsg.ParseACLOperation(name)
		require.NoError(t, err)
		out = append(out, o)
	}
	return out
}

// guard is a cluster with an authorizer and the user ops.
type guard struct {
	*rig
	admin *kadm.Client
	ops   *kgo.Client
	rows  map[string]rights
}

// grant gives ops these rights and no other, and waits until every broker and the controller know.
func (g *guard) grant(r rights) {
	g.t.Helper()
	_, err := g.admin.DeleteACLs(g.ctx, kadm.NewACLs().AnyResource().Allow("User:"+ops).AllowHosts().Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny))
	require.NoError(g.t, err)
	create := func(b *kadm.ACLBuilder) {
		results, err := g.admin.CreateACLs(g.ctx, b.Allow("User:"+ops).AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral))
		require.NoError(g.t, err)
		for _, res := range results {
			require.NoError(g.t, res.Err)
		}
	}
	if len(r.one) > 0 {
		b := kadm.NewACLs().Topics(r.name)
		if r.group {
			b = kadm.NewACLs().Groups(r.name)
		}
		create(b.Operations(operations(g.t, r.one)...))
	}
	create(kadm.NewACLs().Topics("*").Operations(operations(g.t, r.topics)...))
	if len(r.cluster) > 0 {
		create(kadm.NewACLs().Clusters().Operations(operations(g.t, r.cluster)...))
	}
	require.NoError(g.t, g.cluster.Await(g.ctx, time.Minute, "the rights are in force", func(ctx context.Context) error { return g.inForce(ctx, r) }))
}

// inForce asks every broker for what ops may, and the controller whether it may alter.
func (g *guard) inForce(ctx context.Context, r rights) error {
	bits := func(names []string) (n int32) {
		for _, o := range operations(g.t, names) {
			n |= 1 << o
		}
		return n
	}
	for _, b := range g.cluster.AnsweringBrokers() {
		ask := kmsg.NewPtrDescribeClusterRequest()
		ask.IncludeClusterAuthorizedOperations = true
		got, err := g.ops.Broker(int(b)).Request(ctx, ask)
		if err != nil {
			return err
		}
		if have := got.(*kmsg.DescribeClusterResponse).ClusterAuthorizedOperations; have != bits(r.cluster) {
			return fmt.Errorf("broker %d: %b on the cluster, expected %b", b, have, bits(r.cluster))
		}
		meta := kmsg.NewPtrMetadataRequest()
		meta.IncludeTopicAuthorizedOperations = true
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("t")
		meta.Topics = append(meta.Topics, topic)
		if got, err = g.ops.Broker(int(b)).Request(ctx, meta); err != nil {
			return err
		}
		if have := got.(*kmsg.MetadataResponse).Topics[0].AuthorizedOperations; have != bits(r.topics) {
			return fmt.Errorf("broker %d: %b on the topic, expected %b", b, have, bits(r.topics))
		}
	}
	// An election of a partition that is led by its first replica changes nothing.
	elect := kmsg.NewPtrElectLeadersRequest()
	topic := kmsg.NewElectLeadersRequestTopic()
	topic.Topic, topic.Partitions = "still", []int32{0}
	elect.Topics, elect.TimeoutMillis = append(elect.Topics, topic), 5000
	got, err := g.ops.Request(ctx, elect)
	if err != nil {
		return err
	}
	refused := got.(*kmsg.ElectLeadersResponse).ErrorCode == kerr.ClusterAuthorizationFailed.Code
	if refused == slices.Contains(r.cluster, "ALTER") {
		return fmt.Errorf("the controller: refused %v", refused)
	}
	return nil
}

// has grants the row of a command.
func (g *guard) has(command string) {
	g.t.Helper()
	row, ok := g.rows[command]
	require.True(g.t, ok, command)
	g.grant(row)
}

// TestTheRightsThatChangingCommandsNeedAreThoseOfTheDocumentation has every command of the table
// work with exactly its row.
func TestTheRightsThatChangingCommandsNeedAreThoseOfTheDocumentation(t *testing.T) {
	r := start(t, cluster.Spec{Brokers: 3, Controllers: 1, Observers: []int32{3}, Users: map[string]string{cluster.Admin: "a", ops: "o"}})
	r.topic("t", []int32{1, 2, 3}, []int32{2, 1, 3})
	r.topic("still", []int32{2})
	producer, err := kgo.NewClient(append(r.cluster.Login(), kgo.SeedBrokers(r.cluster.Addrs()...), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))...)
	require.NoError(t, err)
	t.Cleanup(producer.Close)
	for range 10 {
		require.NoError(t, producer.ProduceSync(r.ctx, kgo.StringRecord("x")).FirstErr())
	}
	properties := filepath.Join(t.TempDir(), "client.properties")
	require.NoError(t, os.WriteFile(properties, []byte("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"+
		"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"ops\" password=\"o\";\n"), 0o600))
	r.args = append([]string{"--command-config", properties}, r.args...)
	admin, err := r.cluster.Admin()
	require.NoError(t, err)
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.Addrs()...), kgo.SASL(plain.Auth{User: ops, Pass: "o"}.AsMechanism()))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	g := &guard{rig: r, admin: admin, ops: cl, rows: documented(t)}

	g.lists()
	g.leaders()
	g.drills()
	g.placements()
	g.automatic()
	g.unclean()
}

// lists are the commands that look, and that write files.
func (g *guard) lists() {
	t := g.t
	for _, command := range []string{"status", "record", "demote", "pending", "plan"} {
		require.Equal(t, g.rows["promote"], g.rows[command])
	}
	g.has("promote")
	out, _ := g.run(exit.Done, "status")
	require.NotContains(t, out, "not known:")
	g.run(exit.Done, "record")
	g.rows1(exit.Done, "promote", "3", "--yes")
	g.rows1(exit.Done, "demote", "3", "--yes")
	g.run(exit.Done, "pending", "--finish", "--yes")
	_, said := g.run(exit.Failed, "plan", "--placement", "still="+g.threes(3))
	require.Contains(t, said, "1 partitions differ")
	g.has("lag")
	code, out, errs := tool(t, g.ctx, append([]string{"lag", "--topic", "t", "-o", "json"}, g.args[:len(g.args)-2]...)...) // it has no state folder
	require.Equal(t, exit.Done, code, errs)
	require.NotContains(t, out, `"lastEpoch": null`)
	g.saw("status, record, promote, demote, pending, plan and lag with the rights of the documentation", "each does its work, with an authorizer on")

	g.grant(g.rows["promote"].without("DESCRIBE"))
	_, errs = g.run(exit.Failed, "demote", "3", "--yes")
	require.Contains(t, errs, "it needs DESCRIBE on the cluster")
	g.grant(g.rows["promote"].without("", "DESCRIBE_CONFIGS"))
	_, errs = g.run(exit.Refused, "restart", "1", "--yes")
	require.Contains(t, errs, "min.insync.replicas is not known")
	require.Contains(t, errs, "ALTER on the cluster")
	require.Equal(t, []string{"3"}, g.ids(101))
	g.saw("demote without DESCRIBE on the cluster, restart without DESCRIBE_CONFIGS on the topics", "exit codes 1 and 5, the right is named, nothing written")
}

// rows1 runs a command whose one row says what has come of it.
func (g *guard) rows1(code int, args ...string) map[string]any {
	g.t.Helper()
	return g.rig.rows(code, args...)[0]
}

// reorder puts a partition's replicas into another order, as its administrator.
func (g *guard) reorder(topic string, partition int32, replicas ...int32) {
	g.t.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, replicas)
	got, err := g.admin.AlterPartitionAssignments(g.ctx, req)
	require.NoError(g.t, err)
	require.NoError(g.t, got.Error())
	require.NoError(g.t, g.cluster.Await(g.ctx, time.Minute, "the order is the new one", func(ctx context.Context) error {
		v, err := probe.Metadata(ctx, g.cluster, topic)
		if err == nil && !slices.Equal(v.Partitions[partition].Replicas, replicas) {
			err = fmt.Errorf("replicas %v", v.Partitions[partition].Replicas)
		}
		return err
	}))
}

// leaders are the commands that move leaderships.
func (g *guard) leaders() {
	t := g.t
	for _, command := range []string{"elect preferred", "failback", "restart"} {
		require.Equal(t, g.rows["demote --move-leaders"], g.rows[command])
	}
	g.has("promote")
	g.rows1(exit.Done, "promote", "3", "--yes")
	g.topic("w", []int32{3, 1, 2})
	less := []struct{ args []string }{{[]string{"demote", "3", "--move-leaders"}}, {[]string{"failback", "3"}}, {[]string{"restart", "1"}}}
	for _, l := range less {
		_, errs := g.run(exit.Refused, append(l.args, "--yes")...)
		require.Contains(t, errs, "not-allowed: this needs ALTER on the cluster", "%v", l.args)
		require.Empty(t, g.ids(101), "%v wrote a file", l.args)
	}
	g.until("nobody has moved it", "w", func(leader int32, _ []int32) bool { return leader == 3 })
	g.saw("demote --move-leaders, failback and restart without ALTER on the cluster", "exit code 5, 'not-allowed: this needs ALTER on the cluster', no file written, no leadership moved")
	g.has("demote --move-leaders")
	g.rows1(exit.Done, "demote", "3", "--move-leaders", "--yes")
	g.until("moved", "w", func(leader int32, _ []int32) bool { return leader == 1 })
	g.reorder("w", 0, 2, 1, 3)
	g.run(exit.Done, "elect", "preferred", "--home", "--topic", "w", "--yes")
	g.until("home", "w", func(leader int32, _ []int32) bool { return leader == 2 })
	g.rows1(exit.Done, "promote", "3", "--yes")
	g.run(exit.Done, "failback", "3", "--yes")
	tool := g.spawn(nil, "restart", "1", "--yes")
	g.says(tool, "restart broker 1 now")
	require.NoError(t, g.cluster.Node(1).Stop(g.ctx))
	require.NoError(t, g.cluster.Restart(g.ctx, 1))
	tool.ends(t)
	require.Equal(t, []string{"3"}, g.ids(101))
	g.saw("demote --move-leaders, elect preferred, failback and restart with the rights of the documentation", "each does its work")
}

func (g *guard) drills() {
	t := g.t
	row := g.rows["drill"]
	require.Equal(t, []string{"CREATE", "DELETE"}, row.one)
	less := row
	less.one = []string{"DELETE"}
	g.grant(less)
	_, errs := g.run(exit.Failed, "drill", "3", "--yes")
	require.Contains(t, errs, "it needs CREATE on the topic")
	require.Equal(t, []string{"3"}, g.ids(101))
	g.grant(row)
	g.run(exit.Done, "drill", "3", "--yes")
	require.Equal(t, []string{"3"}, g.ids(101))
	g.saw("drill without CREATE on its topic, and with the rights of the documentation", "fails with 'it needs CREATE on the topic' before any file; does its work")
}

// threes writes a placement: a sync replica in the zones of 1 and 2, the observer in that of 3.
func (g *guard) threes(observer int32) string {
	g.t.Helper()
	name := filepath.Join(g.t.TempDir(), "layout.json")
	in := func(b int32) string { return fmt.Sprintf(`{"count":1,"constraints":{"rack":%q}}`, cluster.Rack(b)) }
	require.NoError(g.t, os.WriteFile(name, fmt.Appendf(nil, `{"version":1,"replicas":[%s,%s],"observers":[%s]}`, in(1), in(2), in(observer)), 0o644))
	return name
}

func (g *guard) placements() {
	t := g.t
	require.Equal(t, g.rows["plan --execute"], g.rows["plan --finish"])
	layout := "moved=" + g.threes(3)
	g.topic("moved", []int32{1, 2})
	row := g.rows["plan --execute"]
	for _, l := range []struct {
		has  rights
		said string
	}{{row.without("ALTER"), "ALTER on the cluster"}, {row.without("ALTER_CONFIGS"), "ALTER_CONFIGS on the cluster"}, {row.without("", "ALTER_CONFIGS"), "ALTER_CONFIGS on topic moved"}} {
		g.grant(l.has)
		_, errs := g.run(exit.Refused, "plan", "--placement", layout, "--execute", "--yes")
		require.Contains(t, errs, "not-allowed: this needs "+l.said)
		begun, err := filepath.Glob(filepath.Join(g.state, "*", "move.json"))
		require.NoError(t, err)
		require.Empty(t, begun)
	}
	g.grant(row)
	g.run(exit.Done, "plan", "--placement", layout, "--execute", "--yes")
	g.until("3 is an observer of it", "moved", func(_ int32, isr []int32) bool { return !has(isr, 3) })
	g.saw("plan --execute, without one right each and with those of the documentation", "exit code 5 naming ALTER or ALTER_CONFIGS, no throttle and no move begun; moves")

	create := g.rows["plan --create"]
	create.name = "made"
	less := create
	less.one = nil
	g.grant(less)
	args := []string{"plan", "--placement", "made=" + g.threes(3), "--create", "made", "--yes"}
	_, errs := g.run(exit.Failed, args...)
	require.Contains(t, errs, "it needs CREATE on the topic")
	g.grant(create)
	g.run(exit.Done, args...)
	g.saw("plan --create without CREATE, and with it", "fails naming it; makes the topic")
}

func (g *guard) automatic() {
	g.has("auto")
	state := g.t.TempDir()
	i := g.auto(state, nil)
	g.locked(i)
	killed := time.Now()
	require.NoError(g.t, g.cluster.Node(1).Kill())
	promoted := g.event(i.audit, promoter.AuditPromote, killed)
	g.until("3 is a member", "t", func(_ int32, isr []int32) bool { return has(isr, 3) })
	require.NoError(g.t, g.cluster.Restart(g.ctx, 1))
	g.event(i.audit, promoter.AuditDemote, promoted.Time)
	g.until("3 is an observer again", "t", func(_ int32, isr []int32) bool { return has(isr, 1) && !has(isr, 3) })
	i.kill(g.t)
	g.saw("auto with the rights of the documentation", "it holds the lock, promotes when a sync broker is killed, demotes when it is back")
}

// unclean comes last: it leaves nothing but the observer.
func (g *guard) unclean() {
	t := g.t
	g.has("elect unclean")
	g.run(exit.Done, "record")
	for _, id := range []int32{1, 2} {
		require.NoError(t, g.cluster.Node(id).Kill())
	}
	g.until("no leader", "t", func(leader int32, _ []int32) bool { return leader < 0 })
	g.run(exit.Failed, "promote", "3", "--yes")
	elect := []string{"elect", "unclean", "--topic", "t", "--accept-data-loss", "--yes"}
	g.grant(g.rows["elect unclean"].without("", "READ"))
	_, errs := g.run(exit.Refused, elect...)
	require.Contains(t, errs, "READ on the topic")
	g.until("nobody was elected", "t", func(leader int32, _ []int32) bool { return leader < 0 })
	g.has("elect unclean")
	g.run(exit.Done, elect...)
	g.until("3 leads", "t", func(leader int32, _ []int32) bool { return leader == 3 })
	g.saw("elect unclean without READ on the topics, and with the rights of the documentation", "exit code 5 naming it, nobody elected; 3 leads")
}
