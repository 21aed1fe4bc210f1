package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"observer-patch/internal/release"
)

// properties gives the node's server properties.
func (c *Cluster) properties(n *Node) map[string]string {
	if n.role == roleZooKeeper {
		return map[string]string{
			"dataDir": n.DataDir(), "clientPort": fmt.Sprint(n.Port), "clientPortAddress": n.host,
			"maxClientCnxns": "0", "admin.enableServer": "false",
		}
	}
	p := Settings()
	maps.Copy(p, upkeep(c.Spec.Brokers))
	p["log.dirs"] = n.DataDir()
	client := "PLAINTEXT://" + n.Addr()
	if n.IsBroker() {
		p["broker.rack"] = Rack(n.ID)
	}
	switch {
	case c.Spec.Mode == release.ZK:
		p["broker.id"] = fmt.Sprint(n.ID)
		p["zookeeper.connect"] = c.byID[ZooKeeperID].Addr()
		p["listeners"] = client
	default:
		p["node.id"] = fmt.Sprint(n.ID)
		p["process.roles"] = string(n.role)
		p["controller.listener.names"] = "CONTROLLER"
		p["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
		p["controller.quorum.voters"] = c.voters()
		switch n.role {
		case roleController:
			p["listeners"] = "CONTROLLER://" + n.Addr()
		case roleCombined:
			p["listeners"] = fmt.Sprintf("%s,CONTROLLER://%s:%d", client, n.host, n.quorumPort)
			p["advertised.listeners"] = client
		default:
			p["listeners"] = client
		}
	}
	maps.Copy(p, c.guard(n))
	maps.Copy(p, c.Spec.Properties)
	return p
}

// guard gives what makes clients log in and the authorizer ask for their rights. Controllers are
// reached by brokers only, without a login.
func (c *Cluster) guard(n *Node) map[string]string {
	if len(c.Spec.Users) == 0 {
		return nil
	}
	p := map[string]string{
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
		"authorizer.class.name":          "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                    "User:" + Admin + ";User:ANONYMOUS",
	}
	if !n.IsBroker() {
		return p
	}
	p["inter.broker.listener.name"] = "PLAINTEXT"
	p["sasl.enabled.mechanisms"], p["sasl.mechanism.inter.broker.protocol"] = "PLAIN", "PLAIN"
	login := fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required username=%q password=%q", Admin, c.Spec.Users[Admin])
	for _, user := range sortedKeys(c.Spec.Users) {
		login += fmt.Sprintf(" user_%s=%q", user, c.Spec.Users[user])
	}
	p["listener.name.plaintext.plain.sasl.jaas.config"] = login + ";"
	return p
}

// voters is the static quorum, id@host:port.
func (c *Cluster) voters() string {
	var v []string
	for _, n := range c.Nodes {
		switch n.role {
		case roleController:
			v = append(v, fmt.Sprintf("%d@%s", n.ID, n.Addr()))
		case roleCombined:
			v = append(v, fmt.Sprintf("%d@%s:%d", n.ID, n.host, n.quorumPort))
		}
	}
	return strings.Join(v, ",")
}

const log4j1 = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d{ISO8601}] %p %m (%c)%n
log4j.logger.org.apache.zookeeper=WARN
`

const log4j2 = `status=warn
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
`

// writeFiles makes the node's folder with properties, logging and, where there is to be one, identity file.
func (c *Cluster) writeFiles(n *Node) error {
	if err := os.MkdirAll(n.DataDir(), 0o755); err != nil {
		return fmt.Errorf("folder of node %d: %w", n.ID, err)
	}
	p := c.properties(n)
	var b strings.Builder
	for _, k := range sortedKeys(p) {
		fmt.Fprintf(&b, "%s=%s\n", k, p[k])
	}
	for name, text := range map[string]string{"node.properties": b.String(), "log4j.properties": log4j1, "log4j2.properties": log4j2} {
		if err := os.WriteFile(filepath.Join(n.Dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("files of node %d: %w", n.ID, err)
		}
	}
	if n.role == roleZooKeeper || c.Spec.NoFile {
		return nil
	}
	return n.WriteIDs(c.Spec.Observers)
}
