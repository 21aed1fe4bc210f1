package jar_test

import (
	"archive/zip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
)

var updateNatives = flag.Bool("update-natives", false, "write the table of docs/natives.md instead of comparing it")

// carrier is a published jar with native libraries, and the releases that have it in their closure.
type carrier struct {
	path     string
	natives  []jar.Native
	releases []string
}

func TestNativesOfEveryReleaseRunOnARM64(t *testing.T) {
	lock := maventest.Lock(t)
	seen := map[string]*carrier{} // by file name; the lock has one digest for each
	var versions []string
	for v := range lock.Releases {
		versions = append(versions, v)
	}
	slices.SortFunc(versions, func(a, b string) int { return semver.MustParse(a).Compare(semver.MustParse(b)) })
	require.Len(t, versions, 19)
	for _, v := range versions {
		closures := 0
		for _, scala := range []string{"2.12", "2.13"} {
			if _, err := lock.Artifacts(v, "classpath/"+scala); err != nil {
				continue // 4.x has no Scala 2.12
			}
			closures++
			for _, a := range maventest.Resolve(t.Context(), t, v, "classpath/"+scala, func(c maven.Coordinates) bool {
				return seen[c.File()] == nil || !slices.Contains(seen[c.File()].releases, v)
			}) {
				c := seen[a.Coordinates.File()]
				if c == nil {
					c = inspect(t, a.Path)
					seen[a.Coordinates.File()] = c
				}
				c.releases = append(c.releases, v)
			}
		}
		require.Positive(t, closures, v)
		for _, codec := range []string{"lz4-java-", "snappy-java-", "zstd-jni-"} {
			n := 0
			for file, c := range seen {
				if strings.HasPrefix(file, codec) && slices.Contains(c.releases, v) && len(c.natives) > 0 {
					n++
				}
			}
			require.Equal(t, 1, n, "%s has one %s", v, codec)
		}
	}
	var table strings.Builder
	table.WriteString("| jar | releases | Linux on aarch64 | C library | highest GLIBC | LOAD alignment | for Linux in all | not for Linux |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, file := range slices.Sorted(maps.Keys(seen)) {
		c := seen[file]
		if len(c.natives) == 0 {
			continue
		}
		require.NoError(t, jar.CheckARM64(c.natives, "2.26"), file)
		table.WriteString(row(file, c))
	}
	page := filepath.Join("..", "..", "docs", "natives.md")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	const begin, end = "<!-- natives -->\n", "<!-- end of natives -->"
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no %q", page, begin)
	have, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no %q", page, end)
	if *updateNatives {
		require.NoError(t, os.WriteFile(page, []byte(head+begin+table.String()+end+tail), 0o644))
		return
	}
	require.Equal(t, table.String(), have, "go test ./internal/jar -run Natives -update-natives writes it")
}

// inspect finds the libraries by their names, and makes sure that none hides under another name.
func inspect(t *testing.T, file string) *carrier {
	t.Helper()
	c := &carrier{path: file}
	var err error
	c.natives, err = jar.Natives(file)
	require.NoError(t, err)
	z, err := zip.OpenReader(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, z.Close()) }()
	for _, e := range z.File {
		if e.UncompressedSize64 < 4 || strings.HasSuffix(e.Name, ".class") || slices.ContainsFunc(c.natives, func(n jar.Native) bool { return n.Path == e.Name }) {
			continue
		}
		in, err := e.Open()
		require.NoError(t, err)
		magic := make([]byte, 4)
		_, err = io.ReadFull(in, magic)
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.NotEqual(t, "\x7fELF", string(magic), "%s in %s is ELF and was not found by its name", e.Name, file)
	}
	return c
}

func row(file string, c *carrier) string {
	linux := 0
	var arm []jar.Native
	traps := map[string]int{}
	for _, n := range c.natives {
		switch {
		case n.ARM64():
			arm = append(arm, n)
			linux++
		case n.Linux():
			linux++
		case n.Libc == "android":
			traps[fmt.Sprintf("elf in %s, aligned to %#x", path.Base(path.Dir(n.Path)), n.Align)]++
		default:
			traps[n.Format]++
		}
	}
	column := func(of func(jar.Native) string) string {
		var out []string
		for _, n := range arm {
			out = append(out, of(n))
		}
		return strings.Join(out, "<br>")
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(traps)) {
		others = append(others, fmt.Sprintf("%d %s", traps[name], name))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d | %s |\n", file, strings.Join(c.releases, " "), column(func(n jar.Native) string { return "`" + n.Path + "`" }),
		column(func(n jar.Native) string { return n.Libc }), column(func(n jar.Native) string { return n.Glibc }),
		column(func(n jar.Native) string { return fmt.Sprintf("%#x", n.Align) }), linux, strings.Join(others, ", "))
}
