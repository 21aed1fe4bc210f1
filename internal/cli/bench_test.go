package cli_test

import (
	"io"
	"testing"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
)

// BenchmarkCheckOfAllReleasesCached is the bound that the README names: at most one second.
func BenchmarkCheckOfAllReleasesCached(b *testing.B) {
	for b.Loop() {
		env := &cli.Env{Out: io.Discard, Err: io.Discard, Data: observerpatch.Data(), Version: "bench"}
		if code := cli.Run(b.Context(), env, []string{"check", "--version", "all", "--set", "full"}); code != exit.Done {
			b.Fatalf("exit code %d", code)
		}
	}
}
