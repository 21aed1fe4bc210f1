//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"observer-patch/internal/cluster"
	"observer-patch/internal/maven/maventest"
)

// guarded runs one node of upstream's jars that asks everybody for a login and has an authorizer. It
// gives its address and a client of its administrator.
func guarded(t *testing.T, ctx context.Context, version string) (string, *kgo.Client) {
	t.Helper()
	dir := t.TempDir()
	var jars []string
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		jars = append(jars, a.Path)
	}
	client, quorum := freeAddress(t), freeAddress(t)
	const users = `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin" user_admin="admin" user_ops="ops" user_guest="guest";`
	properties := filepath.Join(dir, "node.properties")
	require.NoError(t, os.WriteFile(properties, []byte(strings.Join([]string{
		"node.id=1", "process.roles=broker,controller", "listeners=CLIENT://" + client + ",CONTROLLER://" + quorum, "controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT", "inter.broker.listener.name=CLIENT", "controller.quorum.voters=1@" + quorum,
		"sasl.enabled.mechanisms=PLAIN,OAUTHBEARER", "sasl.mechanism.inter.broker.protocol=PLAIN", "listener.name.client.plain.sasl.jaas.config=" + users,
		`listener.name.client.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin";`,
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users=User:admin;User:ANONYMOUS",
		"log.dirs=" + filepath.Join(dir, "data"), "min.insync.replicas=1", "offsets.topic.replication.factor=1",
	}, "\n")), 0o600))
	logging := filepath.Join(dir, "log4j2.properties")
	require.NoError(t, os.WriteFile(logging, []byte("rootLogger.level=warn\nrootLogger.appenderRef.out.ref=out\nappender.out.type=Console\nappender.out.name=out\n"), 0o644))
	java := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx320m", "-Dlog4j2.configurationFile=" + logging, "-cp", strings.Join(jars, ":")}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	out, err := java("kafka.tools.StorageTool", "format", "--cluster-id", "5L6g3nShT-eMCtK--X86sw", "--config", properties).CombinedOutput()
	require.NoError(t, err, "%s", out)
	node := java("kafka.Kafka", properties)
	node.Stdout, node.Stderr = t.Output(), t.Output()
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
	})
	admin, err := kgo.NewClient(kgo.SeedBrokers(client), kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism()), kgo.RetryTimeout(2*time.Minute), kgo.RequestRetries(1000))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	require.Eventually(t, func() bool { return admin.Ping(ctx) == nil }, 2*time.Minute, 200*time.Millisecond, "the node answers")
	return client, admin
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestTheRightsThatLookingNeedsAreThoseOfTheDocumentation(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	address, client := guarded(t, ctx, "4.1.0")
	admin := kadm.NewClient(client)
	_, err := admin.CreateTopic(ctx, 1, 1, nil, "orders")
	require.NoError(t, err)
	require.NoError(t, client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}).FirstErr())
	allow := func(b *kadm.ACLBuilder) {
		t.Helper()
		results, err := admin.CreateACLs(ctx, b.Allow("User:ops").AllowHosts("*"))
		require.NoError(t, err)
		for _, r := range results {
			require.NoError(t, r.Err)
		}
	}
	as := func(user, mechanism string) cluster.Settings {
		path := filepath.Join(t.TempDir(), "client.properties")
		text := "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=" + mechanism + "\nsasl.jaas.config="
		if mechanism == "PLAIN" {
			text += fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required username=%q password=%q;", user, user)
		} else {
			text += fmt.Sprintf("org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=%q;", user)
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return cluster.Settings{Bootstrap: []string{address}, CommandConfig: path}
	}
	look := func(s cluster.Settings) *cluster.Snapshot {
		t.Helper()
		c, err := cluster.Connect(s, quiet())
		require.NoError(t, err)
		defer c.Close()
		snapshot, err := c.Look(ctx, cluster.Scope{}, time.Now())
		require.NoError(t, err)
		require.NoError(t, c.Positions(ctx, snapshot, cluster.Epochs, func(*cluster.Topic, *cluster.Partition, int32) bool { return true }))
		return snapshot
	}

	guest := look(as("guest", "PLAIN"))
	assert.Nil(t, guest.Topic("orders"), "a topic that may not be described is not seen")
	assert.False(t, guest.Reassignments.Known)
	assert.Contains(t, strings.Join(guest.Missing, "\n"), "it needs DESCRIBE on the cluster")

	allow(kadm.NewACLs().Topics("*").ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpDescribe, kadm.OpDescribeConfigs))
	allow(kadm.NewACLs().Clusters().Operations(kadm.OpDescribe))
	for _, mechanism := range []string{"PLAIN", "OAUTHBEARER"} {
		// The authorizer has heard of new rules when they work; nothing else tells.
		var ops *cluster.Snapshot
		require.Eventually(t, func() bool {
			ops = look(as("ops", mechanism))
			return len(ops.Missing) == 0 && ops.Topic("orders") != nil
		}, time.Minute, 200*time.Millisecond, mechanism)
		assert.Equal(t, cluster.Known[int32](1), ops.Controller)
		assert.True(t, ops.Reassignments.Known)
		orders := ops.Topic("orders")
		assert.Equal(t, cluster.Known[int32](1), orders.MinISR)
		position := orders.Partitions[0].Position(1)
		assert.Equal(t, cluster.Known[int64](1), position.LogEnd)
		assert.False(t, position.LastEpoch.Known)
		assert.Contains(t, position.Problem, "it needs READ on the topic")
	}
	allow(kadm.NewACLs().Topics("orders").ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead))
	require.Eventually(t, func() bool {
		return look(as("ops", "PLAIN")).Topic("orders").Partitions[0].Position(1).LastEpoch.Known
	}, time.Minute, 200*time.Millisecond, "with READ the epoch of the last batch is known")
}
