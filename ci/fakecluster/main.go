// Fakecluster answers like a cluster with many partitions, until its standard input ends: what
// ci/bench measures status against. It prints host:port of one of its five brokers.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	topics := flag.Int("topics", 1000, "topics")
	partitions := flag.Int("partitions", 100, "partitions of each")
	flag.Parse()
	opts := []kfake.Opt{kfake.NumBrokers(5)}
	for i := range *topics {
		opts = append(opts, kfake.SeedTopics(int32(*partitions), fmt.Sprintf("topic-%04d", i)))
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakecluster:", err)
		os.Exit(1)
	}
	defer c.Close()
	fmt.Println(c.ListenAddrs()[0])
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "fakecluster:", err)
	}
}
