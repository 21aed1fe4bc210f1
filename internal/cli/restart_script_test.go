package cli_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
)

// fakeCluster starts three brokers, 0 to 2, with the topic orders on all of them and the given
// min.insync.replicas: fake-cluster FOLDER 2. The folder gets an inventory, by which 2 is an
// observer, and $BROKERS names a broker.
func fakeCluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fake-cluster FOLDER MIN-ISR")
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(1, "orders"), kfake.ClusterID("abc"), kfake.BrokerConfigs(map[string]string{"min.insync.replicas": args[1]}))
	ts.Check(err)
	ts.Defer(c.Close)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	var b strings.Builder
	b.WriteString("cluster: abc\ndefaults: {roles: [broker, controller], transport: {kind: local}}\nnodes:\n")
	for id := range 3 {
		file := fmt.Sprintf("%s/ids-%d", dir, id)
		ts.Check(os.WriteFile(file, []byte("2\n"), 0o644))
		fmt.Fprintf(&b, "- {id: %d, file: %s}\n", id, file)
	}
	ts.Check(os.WriteFile(dir+"/nodes.yaml", []byte(b.String()), 0o644))
	ts.Setenv("BROKERS", c.ListenAddrs()[0])
}
