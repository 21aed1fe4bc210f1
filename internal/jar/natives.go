package jar

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Native is one native library of a jar.
type Native struct {
	Path string `json:"path"`
	// Format is elf, pe, mach-o or archive (AIX ships its libraries as .a), by the content.
	Format string `json:"format"`
	// The rest is for elf only.
	Bits    int    `json:"bits,omitempty"`    // 32 or 64
	Machine string `json:"machine,omitempty"` // as debug/elf has it: EM_AARCH64, EM_X86_64, …
	// Align is the smallest alignment of a LOAD segment in bytes: a kernel with larger pages
	// cannot map the library.
	Align uint64 `json:"align,omitempty"`
	// Libc is glibc, musl, android, none (it needs no library) or other (BSD, Solaris, unknown).
	Libc string `json:"libc,omitempty"`
	// Glibc and Glibcxx are the highest symbol versions needed, 2.17 and 3.4.19; empty when
	// there are none, and for musl and Android, where such versions say nothing.
	Glibc   string `json:"glibc,omitempty"`
	Glibcxx string `json:"glibcxx,omitempty"`
}

// PageSize64K is the page size of some arm64 kernels; a library aligned to it loads everywhere.
const PageSize64K = 0x10000

// Natives finds the native libraries of a jar, in its order.
func Natives(jarPath string) ([]Native, error) {
	j, err := Open(jarPath)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	var natives []Native
	for _, name := range j.Names() {
		if !libraryName(name) {
			continue
		}
		content, err := j.Read(name)
		if err != nil {
			return nil, err
		}
		native, err := inspect(name, content)
		if err != nil {
			return nil, fmt.Errorf("native library %s of %s: %w", name, jarPath, err)
		}
		natives = append(natives, native)
	}
	return natives, nil
}

// libraryName tells libraries by their ending, as loaders do: lib.so and lib.so.1 are both.
func libraryName(name string) bool {
	base := strings.ToLower(path.Base(name))
	if strings.Contains(base, ".so.") && !strings.HasSuffix(base, ".properties") {
		return true
	}
	return slices.Contains([]string{".so", ".dll", ".dylib", ".jnilib", ".a"}, path.Ext(base))
}

// inspect describes one library by its content.
func inspect(name string, content []byte) (Native, error) {
	n := Native{Path: name}
	has := func(magics ...string) bool {
		return slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(content, []byte(m)) })
	}
	switch {
	case has("\x7fELF"):
		n.Format = "elf"
		return n, n.readELF(content)
	case has("MZ"):
		n.Format = "pe"
	case has("\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"):
		n.Format = "mach-o"
	case has("!<arch>\n", "<bigaf>\n", "<aiaff>\n", "\x01\xdf", "\x01\xf7"):
		n.Format = "archive"
	default:
		return n, errors.New("neither ELF, PE, Mach-O nor an archive")
	}
	return n, nil
}

// readELF fills in what the loader of Linux looks at. debug/elf is not made for hostile input,
// so its panics become errors.
func (n *Native) readELF(content []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed ELF: %v", p)
		}
	}()
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("malformed ELF: %w", err)
	}
	n.Machine = f.Machine.String()
	n.Bits = 32
	if f.Class == elf.ELFCLASS64 {
		n.Bits = 64
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && (n.Align == 0 || p.Align < n.Align) {
			n.Align = p.Align
		}
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("libraries needed: %w", err)
	}
	n.Libc = libc(f, needed, n.Path)
	if n.Libc != "glibc" {
		return nil
	}
	versions, err := f.DynamicVersionNeeds()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("symbol versions needed: %w", err)
	}
	for _, library := range versions {
		for _, need := range library.Needs {
			n.Glibc = later(n.Glibc, need.Dep, "GLIBC_")
			n.Glibcxx = later(n.Glibcxx, need.Dep, "GLIBCXX_")
		}
	}
	return nil
}

// libc tells the C library apart. musl's soname is libc.musl-<arch>.so.1, or libc.so like
// Android's, which has a note of its own, or needs libraries that only Android has.
func libc(f *elf.File, needed []string, name string) string {
	android := f.Section(".note.android.ident") != nil || strings.Contains(strings.ToLower(name), "android")
	musl := false
	for _, library := range needed {
		switch {
		case library == "libc.so.6", strings.HasPrefix(library, "ld-linux"):
			return "glibc"
		case strings.HasPrefix(library, "libc.musl"), strings.HasPrefix(library, "ld-musl"), library == "libc.so":
			musl = true
		case library == "liblog.so", library == "libandroid.so":
			android = true
		}
	}
	switch {
	case android:
		return "android"
	case musl:
		return "musl"
	case len(needed) == 0:
		return "none"
	}
	return "other"
}

// later gives the higher of a version and one that a symbol version names.
func later(have, symbol, prefix string) string {
	version, ok := strings.CutPrefix(symbol, prefix)
	if !ok || numbers(version) == nil || have != "" && slices.Compare(numbers(version), numbers(have)) <= 0 {
		return have
	}
	return version
}

// numbers splits 2.17 into its parts; nil for names such as PRIVATE.
func numbers(version string) []int {
	var parts []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		parts = append(parts, n)
	}
	return parts
}

// Linux says whether a Linux loader would take the library by its path: Android's, which some
// jars keep below Linux, is not, and neither are FreeBSD's and SunOS's ELF files.
func (n Native) Linux() bool {
	p := strings.ToLower(n.Path)
	return n.Format == "elf" && strings.Contains(p, "linux") && n.Libc != "android"
}

// ARM64 says whether the library is Linux's for aarch64, by path and by machine.
func (n Native) ARM64() bool {
	return n.Linux() && armPath(n.Path) && n.Machine == "EM_AARCH64" && n.Bits == 64
}

// CheckARM64 says why the libraries of one jar would fail on an arm64 Linux with glibc up to
// the version (such as 2.26), with pages of 4 to 64 KiB; nil when nothing does, which includes
// jars that have no Linux library at all. It asks for one library per jar, as Kafka's
// dependencies carry one each.
func CheckARM64(natives []Native, glibc string) error {
	linux, found := 0, false
	var problems []error
	for _, n := range natives {
		if n.Linux() {
			linux++
		}
		if strings.Contains(strings.ToLower(n.Path), "linux") && !n.ARM64() && n.Libc != "android" && armPath(n.Path) {
			problems = append(problems, fmt.Errorf("%s: expected a 64-bit EM_AARCH64 ELF file, found %s %d-bit %s", n.Path, n.Format, n.Bits, n.Machine))
		}
		if !n.ARM64() {
			continue
		}
		if n.Libc != "musl" {
			found = true
		}
		if n.Align < PageSize64K || n.Align%PageSize64K != 0 {
			problems = append(problems, fmt.Errorf("%s: LOAD segments are aligned to %#x; a kernel with 64 KiB pages needs %#x", n.Path, n.Align, PageSize64K))
		}
		if n.Glibc != "" && slices.Compare(numbers(n.Glibc), numbers(glibc)) > 0 {
			problems = append(problems, fmt.Errorf("%s: needs GLIBC_%s, the image has %s", n.Path, n.Glibc, glibc))
		}
	}
	if linux > 0 && !found {
		problems = append(problems, fmt.Errorf("%d Linux libraries, none of them for aarch64 with glibc", linux))
	}
	return errors.Join(problems...)
}

// armPath says whether a path is where a loader looks on aarch64.
func armPath(name string) bool {
	p := strings.ToLower(name)
	return strings.Contains(p, "aarch64") || strings.Contains(p, "aarch_64") || strings.Contains(p, "arm64")
}
