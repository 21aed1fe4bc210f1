//go:build emulated

package arm64

import (
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
	cases := []struct {
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
		{"narrow libraries with 4 KiB pages", small, narrow, narrowLibraries, "The libraries' LOAD segments lie in their files as a linker for 4 KiB pages lays them. With 4 KiB pages that makes no difference: they are sound.", false},
		{"narrow libraries with 64 KiB pages", large, narrow, narrowLibraries, "The same libraries with 64 KiB pages: the loader has to refuse them. So the pages of the second run really were of 64 KiB.", true},
	}
	report.Runs = make([]Run, len(cases))
	t.Run("brokers", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				pairs := Pairs()
				if c.control != "" {
					// One codec each, so that what fails is that codec's: the producers' is Java's own.
					pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return p.From != "gzip" })
				}
				run := boot(ctx, t, c.name, c.jvm, c.classpath, c.libraries, pairs)
				run.Control = c.control
				report.Runs[i] = run
				require.Equal(t, "aarch64", run.JVM.Arch)
				require.Equal(t, map[int]string{4096: "4K", 65536: "64K"}[c.jvm.PageSize], run.JVM.PageSize)
				if c.missing {
					fallsBackSilentlyForLZ4Only(t, run)
					return
				}
				require.Empty(t, run.Failed())
				require.Empty(t, Missing(run.Libraries))
			})
		}
	})
	if *evidence != "" && !t.Failed() {
		require.NoError(t, report.Write(*evidence, "arm64-boot"))
	}
}

// fallsBackSilentlyForLZ4Only judges a broker that could load none of the libraries: the check sees all
// three; clients see two.
func fallsBackSilentlyForLZ4Only(t *testing.T, run Run) {
	t.Helper()
	require.Equal(t, []string{"lz4", "snappy", "zstd"}, Missing(run.Libraries))
	for _, p := range run.Pairs {
		if p.Uses("snappy") || p.Uses("zstd") {
			require.NotEmpty(t, p.Error, p.Topic())
		} else {
			require.Empty(t, p.Error, p.Topic())
		}
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

// narrowed lays the second LOAD segment of a 64-bit little-endian ELF file as a linker for 4 KiB pages may: its
// offset in the file and its address agree modulo 4 KiB, and no longer modulo 64 KiB. Older loaders refuse a
// library by p_align, glibc 2.35 and later by that difference, whatever p_align says.
func narrowed(t *testing.T, library []byte) []byte {
	t.Helper()
	const page = 0x1000
	// Offsets in Elf64_Ehdr, Elf64_Phdr and Elf64_Shdr (elf(5)).
	const phoff, shoff, phnum, shnum, phsize, shsize = 32, 40, 56, 60, 56, 64
	const pOffset, pFilesz, pAlign, shOffset = 8, 32, 48, 24
	le := binary.LittleEndian
	var loads []uint64 // where their headers are
	headers := func(b []byte) [][]byte {
		var out [][]byte
		for i := range uint64(le.Uint16(b[phnum:])) {
			out = append(out, b[le.Uint64(b[phoff:])+i*phsize:])
		}
		return out
	}
	end := uint64(0) // of the first LOAD segment in the file
	for _, h := range headers(library) {
		if elf.ProgType(le.Uint32(h)) == elf.PT_LOAD {
			require.Equal(t, uint64(jar.PageSize64K), le.Uint64(h[pAlign:]))
			loads = append(loads, le.Uint64(h[pOffset:]))
			if len(loads) == 1 {
				end = le.Uint64(h[pOffset:]) + le.Uint64(h[pFilesz:])
			}
		}
	}
	require.Len(t, loads, 2)
	require.LessOrEqual(t, end, loads[1])
	out := slices.Concat(library[:end], make([]byte, page), library[end:])
	move := func(field []byte) {
		if at := le.Uint64(field); at >= end {
			le.PutUint64(field, at+page)
		}
	}
	move(out[shoff:])
	for _, h := range headers(out) {
		move(h[pOffset:])
		if elf.ProgType(le.Uint32(h)) == elf.PT_LOAD {
			le.PutUint64(h[pAlign:], page)
		}
	}
	for i := range uint64(le.Uint16(out[shnum:])) {
		move(out[le.Uint64(out[shoff:])+i*shsize+shOffset:])
	}
	return out
}

func digest(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
