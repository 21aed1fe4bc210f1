package cli_test

import (
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"observer-patch/internal/image"
	"observer-patch/internal/install/installtest"
)

// kafkaBase makes a base image for amd64 and arm64 with the jars of the release that kafka-home's
// bundle is for: kafka-base LAYOUT.
func kafkaBase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kafka-base LAYOUT")
	}
	home := ts.MkAbs(args[0] + ".home")
	ts.Check(installtest.MakeHome(home))
	jars, err := filepath.Glob(filepath.Join(home, "libs", "*.jar"))
	ts.Check(err)
	r, err := image.MakeBase(image.Published{Release: "4.1.0", Jars: jars, Home: "/opt/kafka", Platforms: []string{"linux/amd64", "linux/arm64"}, Temp: home})
	ts.Check(err)
	ts.Check(r.Write(ts.MkAbs(args[0]), ""))
}
