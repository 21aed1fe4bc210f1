//go:build emulated

package arm64

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
	"observer-patch/internal/toolchain"
)

func TestAPatchedBrokerOnARM64LoadsItsNativeLibraries(t *testing.T) {
	ctx := t.Context()
	small, large := machine(ctx, t, 4096), machine(ctx, t, 65536)
	classpath, sums := patched(ctx, t, bundleDir(ctx, t))
	whole, err := Libraries(classpath)
	require.NoError(t, err)
	gone := altered(t, classpath, whole, nil)
	narrow := altered(t, classpath, whole, narrowed)
	narrowLibraries, err := Libraries(narrow)
	require.NoError(t, err)

	r, err := toolchain.Run(ctx, toolchain.Command{Path: Emulator, Args: []string{"--version"}})
	require.NoError(t, err)
	emulator, _, _ := strings.Cut(string(r.Stdout), "\n")
	report := Report{Release: *version, Emulator: emulator, Jars: sums}
	for _, c := range []struct {
		name      string
		jvm       JVM
		classpath []string
		libraries []Library
		control   string
		missing   bool
	}{
		{"4 KiB pages", small, classpath, whole, "", false},
		{"64 KiB pages", large, classpath, whole, "", false},
		{"without aarch64", small, gone, whole, "The aarch64 library of each codec is taken out of its jar.", true},
		{"narrow, 4 KiB pages", small, narrow, narrowLibraries, "The libraries' LOAD segments say that they are aligned to 4 KiB. With 4 KiB pages that makes no difference: they are sound.", false},
		{"narrow, 64 KiB pages", large, narrow, narrowLibraries, "The same libraries with 64 KiB pages: the loader has to refuse them. So the pages of the second run really were of 64 KiB.", true},
	} {
		pairs := Pairs()
		if c.control != "" {
			// One codec each, so that what fails is that codec's: the producers' is Java's own.
			pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return p.From != "gzip" })
		}
		run := boot(ctx, t, c.name, c.jvm, c.classpath, c.libraries, pairs)
		run.Control = c.control
		report.Runs = append(report.Runs, run)
		require.Equal(t, "aarch64", run.JVM.Arch)
		require.Equal(t, map[int]string{4096: "4K", 65536: "64K"}[c.jvm.PageSize], run.JVM.PageSize, c.name)
		if !c.missing {
			require.Empty(t, run.Failed(), c.name)
			require.Empty(t, Missing(run.Libraries), c.name)
			continue
		}
		require.Equal(t, []string{"lz4", "snappy", "zstd"}, Missing(run.Libraries), "%s: the check sees it", c.name)
		for _, p := range run.Pairs {
			if p.Uses("snappy") || p.Uses("zstd") {
				require.NotEmpty(t, p.Error, "%s: %s fails loudly", c.name, p.Topic())
			} else {
				require.Empty(t, p.Error, "%s: %s falls back to Java silently", c.name, p.Topic())
			}
		}
	}
	if *evidence != "" {
		require.NoError(t, report.Write(*evidence, "arm64-boot"))
	}
}

// altered gives a class path whose codec jars have another aarch64 library, or none when edit is nil.
func altered(t *testing.T, classpath []string, libraries []Library, edit func(*testing.T, []byte) []byte) []string {
	t.Helper()
	out, dir := slices.Clone(classpath), t.TempDir()
	for _, l := range libraries {
		i := slices.IndexFunc(out, func(p string) bool { return filepath.Base(p) == l.Jar })
		require.GreaterOrEqual(t, i, 0)
		changes := jar.Changes{Remove: []string{l.Entry}}
		if edit != nil {
			j, err := jar.Open(out[i])
			require.NoError(t, err)
			content, err := j.Read(l.Entry)
			require.NoError(t, err)
			require.NoError(t, j.Close())
			changes = jar.Changes{Put: map[string][]byte{l.Entry: edit(t, content)}}
		}
		to := filepath.Join(dir, l.Jar)
		_, err := jar.RewriteFile(to, out[i], changes)
		require.NoError(t, err)
		out[i] = to
	}
	return out
}

// narrowed lets the LOAD segments of a 64-bit little-endian ELF file say that they are aligned to 4 KiB.
func narrowed(t *testing.T, library []byte) []byte {
	t.Helper()
	const alignAt, size = 48, 56 // of p_align in, and of, an Elf64_Phdr (elf(5))
	out := bytes.Clone(library)
	at := binary.LittleEndian.Uint64(out[32:])    // e_phoff
	count := binary.LittleEndian.Uint16(out[56:]) // e_phnum
	changed := 0
	for i := range uint64(count) {
		header := out[at+i*size:]
		if elf.ProgType(binary.LittleEndian.Uint32(header)) == elf.PT_LOAD {
			require.Equal(t, uint64(jar.PageSize64K), binary.LittleEndian.Uint64(header[alignAt:]))
			binary.LittleEndian.PutUint64(header[alignAt:], 0x1000)
			changed++
		}
	}
	require.Positive(t, changed)
	return out
}

func digest(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
