// Command observer-patch builds, proves and runs upstream Kafka with observer replicas.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := &cli.Env{Out: os.Stdout, Err: os.Stderr, Data: observerpatch.Data(), Version: version()}
	return cli.Run(ctx, env, os.Args[1:])
}

// version gives the commit that the go command stamped into the binary, or "devel".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
