package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"observer-patch/internal/cluster"
)

func FuzzContextsAreReadOrRefused(f *testing.F) {
	f.Add([]byte("current: a\ncontexts: {a: {bootstrap-servers: [k:9092]}}"))
	f.Add([]byte("contexts: {a: {bootstrap-servers: !tag 0}}"))
	f.Add([]byte("contexts: !tag 0"))
	name := filepath.Join(f.TempDir(), "contexts.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := cluster.ReadContexts(name)
		if (err == nil) != (c != nil) {
			t.Fatalf("%q: contexts %v, error %v", text, c, err)
		}
	})
}
