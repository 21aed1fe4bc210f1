package cli_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

// TestMain lets scripts run the command line as a program of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"observer-patch": func() {
			env := &cli.Env{Out: os.Stdout, Err: os.Stderr, Data: observerpatch.Data(), Version: "test"}
			os.Exit(cli.Run(context.Background(), env, os.Args[1:]))
		},
	})
}

// TestScripts runs testdata/script: what users see.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"code": exitCode, "kafka-home": kafkaHome, "kafka-base": kafkaBase, "fake-cluster": fakeCluster,
	}})
}

// exitCode runs a command and wants its exit code: code 3 observer-patch check ...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if e, ok := err.(interface{ ExitCode() int }); ok {
		got = strconv.Itoa(e.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, expected %s\n%s", got, args[0], ts.ReadFile("stderr"))
	}
}
