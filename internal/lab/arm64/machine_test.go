//go:build emulated

package arm64

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
	"observer-patch/internal/toolchain"
)

var (
	version  = flag.String("release", "4.1.0", "the release whose patched broker is booted")
	evidence = flag.String("evidence", "", "folder for the report, for the repository's evidence; default: nowhere")
)

// limit bounds one broker's life on a busy machine.
const limit = 6 * time.Minute

// command runs the tool and gives what it printed.
func command(ctx context.Context, t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{Out: &out, Err: t.Output(), Data: observerpatch.Data(), Version: "test on arm64"}
	require.Equal(t, 0, cli.Run(ctx, env, args), "observer-patch %v", args)
	return out.Bytes()
}

// bundleDir builds the release's bundle for KRaft and gives its folder.
func bundleDir(ctx context.Context, t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	command(ctx, t, "build", "--version", *version, "--mode", "kraft", "--out", dist)
	found, err := filepath.Glob(filepath.Join(dist, "*", "SHA256SUMS"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return filepath.Dir(found[0])
}

// patched gives the release's class path with the bundle's jars in it, and the digests of those.
func patched(ctx context.Context, t *testing.T, bundle string) ([]string, map[string]string) {
	t.Helper()
	var paths []string
	for _, a := range maventest.Resolve(ctx, t, *version, "lab/2.13", nil) {
		paths = append(paths, a.Path)
	}
	paths, replaced, err := campaign.Overlay(paths, bundle)
	require.NoError(t, err)
	sums := map[string]string{}
	for _, p := range paths {
		for _, name := range replaced {
			if filepath.Base(p) == name {
				sums[name] = digest(t, p)
			}
		}
	}
	return paths, sums
}

// machine is Debian's JDK for arm64 with pages of that size.
func machine(ctx context.Context, t *testing.T, pageSize int) JVM {
	t.Helper()
	cacheDir, err := os.UserCacheDir()
	require.NoError(t, err)
	r, err := toolchain.Run(ctx, toolchain.Command{Path: "../../../ci/debian-jdk", Args: []string{"arm64", filepath.Join(cacheDir, "observer-patch-jdk", "arm64")}})
	require.NoError(t, err)
	j, err := NewJVM(strings.TrimSpace(string(r.Stdout)), pageSize)
	require.NoError(t, err)
	return j
}

// boot starts one combined node of those jars on the JVM, has it recompress the pairs, and says what it loaded.
func boot(ctx context.Context, t *testing.T, name string, j JVM, classpath []string, libraries []Library, pairs []Pair) Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir := t.TempDir()
	script, temp := filepath.Join(dir, "java"), filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(temp, 0o755))
	require.NoError(t, j.Script(script, temp))
	run := Run{Name: name, Pairs: pairs}
	var err error
	run.JVM, err = Ask(ctx, script)
	require.NoError(t, err)

	began := time.Now()
	c, err := cluster.Start(ctx, cluster.Spec{Mode: release.KRaft, Brokers: 1, Classpath: classpath, Java: script, Properties: map[string]string{"min.insync.replicas": "1"}},
		filepath.Join(dir, "cluster"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	run.Up = time.Since(began).Seconds()
	node := c.Node(1)
	_, err = node.FindLine(node.LogStart(), "observer-patch generation")
	require.NoError(t, err, "the broker says that it is patched")

	admin, err := c.Admin()
	require.NoError(t, err)
	for i := range run.Pairs {
		if err := run.Pairs[i].Recompress(ctx, admin, node.Addr(), node.DataDir()); err != nil {
			run.Pairs[i].Error = err.Error()
		}
	}
	run.Libraries, err = Loaded(node.PID(), libraries)
	require.NoError(t, err)
	t.Logf("%s: up after %.1f s, failed %v, not loaded %v", name, run.Up, run.Failed(), Missing(run.Libraries))
	return run
}
