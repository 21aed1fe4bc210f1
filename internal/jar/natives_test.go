package jar

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// library makes a 64-bit ELF file with one LOAD segment and no dynamic section.
func library(machine elf.Machine, align uint64) string {
	var out bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	_ = binary.Write(&out, binary.LittleEndian, header) // a buffer takes everything
	_ = binary.Write(&out, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Align: align})
	return out.String()
}

func TestNativesLooksAtPathAndContent(t *testing.T) {
	src := makeJar(t, false,
		content{"linux/aarch64/libx.so", library(elf.EM_AARCH64, 0x10000)},
		content{"Linux/android-aarch64/libx.so", library(elf.EM_AARCH64, 0x1000)},
		content{"win/libx.dll", "MZ..."}, content{"mac/libx.jnilib", "\xca\xfe\xba\xbe"}, content{"AIX/libx.a", "<bigaf>\n"},
		content{"a/B.class", "\xca\xfe\xba\xbe"}, content{"so.properties", "x"})
	natives, err := Natives(src)
	require.NoError(t, err)
	assert.Equal(t, []Native{
		{Path: "linux/aarch64/libx.so", Format: "elf", Bits: 64, Machine: "EM_AARCH64", Align: 0x10000, Libc: "none"},
		{Path: "Linux/android-aarch64/libx.so", Format: "elf", Bits: 64, Machine: "EM_AARCH64", Align: 0x1000, Libc: "android"},
		{Path: "win/libx.dll", Format: "pe"},
		{Path: "mac/libx.jnilib", Format: "mach-o"},
		{Path: "AIX/libx.a", Format: "archive"},
	}, natives)
	assert.NoError(t, CheckARM64(natives, "2.17"))
}

func TestNativesRefusesWhatIsNoLibrary(t *testing.T) {
	_, err := Natives(makeJar(t, false, content{"linux/libx.so", "version https://…"}))
	assert.ErrorContains(t, err, "neither ELF")
	_, err = Natives(makeJar(t, false, content{"linux/libx.so", library(elf.EM_AARCH64, 1)[:70]}))
	assert.ErrorContains(t, err, "malformed ELF")
}

func TestCheckARM64(t *testing.T) {
	good := Native{Path: "linux/aarch64/libx.so", Format: "elf", Bits: 64, Machine: "EM_AARCH64", Align: 0x10000, Libc: "glibc", Glibc: "2.17"}
	with := func(edit func(*Native)) []Native {
		n := good
		edit(&n)
		return []Native{n}
	}
	amd64 := Native{Path: "linux/amd64/libx.so", Format: "elf", Bits: 64, Machine: "EM_X86_64", Align: 0x1000, Libc: "glibc", Glibc: "2.14"}
	for _, c := range []struct {
		name    string
		natives []Native
		want    string
	}{
		{"good", []Native{amd64, good}, ""},
		{"no native library at all", nil, ""},
		{"Windows only", []Native{{Path: "win/x.dll", Format: "pe"}}, ""},
		{"aarch64 is missing", []Native{amd64}, "none of them for aarch64"},
		{"only Android has aarch64", append([]Native{amd64}, with(func(n *Native) { n.Path, n.Libc = "Linux/android-aarch64/libx.so", "android" })...), "none of them for aarch64"},
		{"only musl has aarch64", with(func(n *Native) { n.Path, n.Libc = "librocksdbjni-linux-aarch64-musl.so", "musl" }), "none of them for aarch64"},
		{"4 KiB pages", with(func(n *Native) { n.Align = 0x1000 }), "aligned to 0x1000"},
		{"too new", with(func(n *Native) { n.Glibc = "2.34" }), "needs GLIBC_2.34, the image has 2.26"},
		{"2.9 is older than 2.26", with(func(n *Native) { n.Glibc = "2.9" }), ""},
		{"another machine below aarch64", with(func(n *Native) { n.Machine = "EM_X86_64" }), "expected a 64-bit EM_AARCH64"},
		{"no ELF below aarch64", with(func(n *Native) { n.Format, n.Machine, n.Bits = "pe", "", 0 }), "expected a 64-bit EM_AARCH64"},
	} {
		err := CheckARM64(c.natives, "2.26")
		if c.want == "" {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorContains(t, err, c.want, c.name)
		}
	}
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte(library(elf.EM_AARCH64, 0x10000)))
	f.Add([]byte("MZ"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = inspect("linux/aarch64/libx.so", b) })
}
