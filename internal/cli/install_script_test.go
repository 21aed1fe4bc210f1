package cli_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"observer-patch/internal/install/installtest"
)

// kafkaHome makes a small Kafka home and a bundle that fits it: kafka-home HOME BUNDLE. It
// sets HOME_DIR to the home's path and OWNER to uid:gid of whoever runs the script.
func kafkaHome(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kafka-home HOME BUNDLE")
	}
	home := ts.MkAbs(args[0])
	ts.Check(installtest.MakeHome(home))
	ts.Check(installtest.MakeBundle(ts.MkAbs(args[1]), "1", "full", true))
	real, err := filepath.EvalSymlinks(home)
	ts.Check(err)
	ts.Setenv("HOME_DIR", real)
	ts.Setenv("OWNER", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
}
