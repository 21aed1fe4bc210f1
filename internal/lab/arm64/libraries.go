package arm64

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/jar"
)

// Library is the native library of a codec, in the jar that carries it.
type Library struct {
	Codec  string `json:"codec"`
	Jar    string `json:"jar"`
	Entry  string `json:"entry"`
	SHA256 string `json:"sha256"` // of the library
	// Loaded tells whether the broker had exactly these bytes mapped.
	Loaded bool `json:"loaded"`
}

// codecJars are the artifacts that carry a codec's native library, by the beginning of the file name.
var codecJars = map[string]string{"lz4": "lz4-java-", "snappy": "snappy-java-", "zstd": "zstd-jni-"}

// Libraries finds the library that an arm64 Linux with glibc loads for each codec: one each, or an error.
func Libraries(classpath []string) ([]Library, error) {
	var out []Library
	for _, codec := range []string{"lz4", "snappy", "zstd"} {
		at := slices.IndexFunc(classpath, func(p string) bool { return strings.HasPrefix(filepath.Base(p), codecJars[codec]) })
		if at < 0 {
			return nil, fmt.Errorf("no jar %s* in the class path", codecJars[codec])
		}
		natives, err := jar.Natives(classpath[at])
		if err != nil {
			return nil, err
		}
		natives = slices.DeleteFunc(natives, func(n jar.Native) bool { return !n.ARM64() || n.Libc == "musl" })
		if len(natives) != 1 {
			return nil, fmt.Errorf("%s: expected one library for Linux on aarch64, found %d", classpath[at], len(natives))
		}
		sums, err := jar.Digests(classpath[at])
		if err != nil {
			return nil, err
		}
		out = append(out, Library{Codec: codec, Jar: filepath.Base(classpath[at]), Entry: natives[0].Path, SHA256: sums[natives[0].Path]})
	}
	return out, nil
}

// Mapping is a file that a process has mapped.
type Mapping struct {
	Name string
	// Range is the first mapped range of addresses, by which the kernel gives the file also when
	// its name is gone.
	Range string
}

// Mapped gives the files in the text of a /proc/PID/maps (proc(5)), each once. zstd-jni deletes its
// library as soon as it is loaded: such a file is mapped all the same.
func Mapped(maps string) []Mapping {
	var out []Mapping
	for line := range strings.Lines(maps) {
		// address perms offset dev inode pathname; the name may contain blanks.
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		name := strings.TrimSuffix(strings.TrimRight(line[strings.Index(line, fields[5]):], "\n"), " (deleted)")
		if !slices.ContainsFunc(out, func(m Mapping) bool { return m.Name == name }) {
			out = append(out, Mapping{Name: name, Range: fields[0]})
		}
	}
	return out
}

// Loaded says which of the libraries a process has mapped, by content, whatever they are called. A
// process that has no aarch64 libjvm.so mapped is an error: it is not what was meant to be looked at.
func Loaded(pid int, libraries []Library) ([]Library, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("mapped files: %w", err)
	}
	out := slices.Clone(libraries)
	jvm := false
	for _, file := range Mapped(string(maps)) {
		if !strings.HasSuffix(file.Name, ".so") {
			continue
		}
		// Root only: the name is not enough where the file is deleted.
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/map_files/%s", pid, file.Range))
		if err != nil {
			return nil, fmt.Errorf("mapped file %s: %w", file.Name, err)
		}
		sum := sha256.Sum256(content)
		for i := range out {
			out[i].Loaded = out[i].Loaded || out[i].SHA256 == hex.EncodeToString(sum[:])
		}
		if filepath.Base(file.Name) == "libjvm.so" {
			f, err := elf.NewFile(bytes.NewReader(content))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file.Name, err)
			}
			jvm = f.Machine == elf.EM_AARCH64
		}
	}
	if !jvm {
		return nil, fmt.Errorf("process %d has no libjvm.so for aarch64 mapped", pid)
	}
	return out, nil
}

// Missing gives the codecs whose library was not loaded.
func Missing(libraries []Library) []string {
	var out []string
	for _, l := range libraries {
		if !l.Loaded {
			out = append(out, l.Codec)
		}
	}
	return out
}
