// Command observer-patch builds, proves and runs upstream Kafka with observer replicas.
package main

import (
	"context"
	"os"
	"os/signal"
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

// stamp is the commit, set by the Makefile with -ldflags.
var stamp string

// version names this build: the stamped commit, or devel.
func version() string {
	if stamp == "" {
		return "devel"
	}
	return stamp
}
