//go:build cluster

package smoke

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
	"observer-patch/internal/lab/cluster"
	"observer-patch/internal/maven/maventest"
	"observer-patch/internal/release"
)

// patchedLine begins the line that a patched node writes when it starts.
const patchedLine = "observer-patch generation"

// A home made of published jars: its broker runs on the release's own jars, on the bundle's after install, and on
// the release's own again after rollback, each time on the same data. The broker has no partition and a controller
// elsewhere, so that nothing asks for observers: it has to read its list because it starts.
func TestARealBrokersHomeIsInstalledAndRolledBack(t *testing.T) {
	const version = "4.1.0"
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	dist, home := t.TempDir(), filepath.Join(t.TempDir(), "kafka")
	command(t, ctx, "build", "--version", version, "--out", dist)
	bundle := filepath.Join(dist, version+"-kraft")
	libs := filepath.Join(home, "libs")
	published, classpath := kafkaHome(ctx, t, version, libs)
	own := digests(t, libs)

	c, err := cluster.Start(ctx, cluster.Spec{Mode: release.KRaft, Brokers: 1, Controllers: 1, Classpath: classpath, Java: "java",
		Jars: map[string][]string{"elsewhere": published}, NodeJars: map[int32]string{cluster.FirstController: "elsewhere"}}, filepath.Join(t.TempDir(), "cluster"),
		slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	node := c.Node(1)
	says := func() error { _, err := node.FindLine(node.LogStart(), patchedLine); return err }
	require.ErrorIs(t, says(), cluster.ErrNoLine, "the release's own jars")
	require.False(t, doctor(t, ctx, home, node.IDsPath()).Patched)

	code, errs := refused(ctx, t, "install", bundle, "--kafka-home", home)
	require.Equal(t, exit.Refused, code, errs)
	require.Contains(t, errs, "runs from")
	require.Equal(t, own, digests(t, libs), "nothing was changed below a running broker")

	require.NoError(t, node.Stop(ctx))
	command(t, ctx, "install", bundle, "--kafka-home", home)
	installed := digests(t, libs)
	require.NotEqual(t, own, installed)
	require.Len(t, installed, len(own), "no second copy of a jar")
	require.NoError(t, c.Restart(ctx, 1))
	require.NoError(t, says(), "the bundle's jars")
	seen := doctor(t, ctx, home, node.IDsPath())
	require.True(t, seen.Patched)
	require.Equal(t, "installed", seen.Installation)

	code, errs = refused(ctx, t, "rollback", "--kafka-home", home)
	require.Equal(t, exit.Refused, code, errs)
	require.NoError(t, node.Stop(ctx))
	command(t, ctx, "rollback", "--kafka-home", home)
	require.Equal(t, own, digests(t, libs), "the release's own jars, byte for byte")
	require.NoError(t, c.Restart(ctx, 1))
	require.ErrorIs(t, says(), cluster.ErrNoLine, "the release's own jars again")
}

// kafkaHome fills libs with copies of the published jars that a node runs on and gives both.
func kafkaHome(ctx context.Context, t *testing.T, version, libs string) (published, classpath []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(libs, 0o755))
	for _, a := range maventest.Resolve(ctx, t, version, "lab/2.13", nil) {
		content, err := os.ReadFile(a.Path)
		require.NoError(t, err)
		to := filepath.Join(libs, a.Coordinates.File())
		require.NoError(t, os.WriteFile(to, content, 0o644))
		published, classpath = append(published, a.Path), append(classpath, to)
	}
	return published, classpath
}

func digests(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	sums := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		sums[e.Name()] = hex.EncodeToString(sum[:])
	}
	return sums
}

// seen is what doctor says of a home, as far as it is looked at here.
type seen struct {
	Patched      bool
	Installation string
}

// doctor wants a healthy home.
func doctor(t *testing.T, ctx context.Context, home, ids string) seen {
	t.Helper()
	var s seen
	require.NoError(t, json.Unmarshal(command(t, ctx, "doctor", "--kafka-home", home, "--ids-file", ids, "-o", "json"), &s))
	return s
}

// refused runs a command that is to fail and gives its exit code and what it said.
func refused(ctx context.Context, t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Run(ctx, &cli.Env{Out: &out, Err: &errs, Data: observerpatch.Data(), Version: "smoke test"}, args)
	return code, errs.String()
}
