// Package arm64 runs brokers on an arm64 JVM that is emulated on this machine, has them decompress and
// compress records, and tells which native libraries they did it with. Emulation shows that the code
// loads and works; it says nothing about speed or memory ordering.
package arm64

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"observer-patch/internal/toolchain"
)

// Emulator is the program that runs arm64 programs, of Debian's package qemu-user-static.
const Emulator = "qemu-aarch64-static"

// JVM is a JDK for arm64 in a folder, run by the emulator.
type JVM struct {
	// Home is the JDK, Root the folder with the system that it was unpacked into.
	Home, Root string
	// PageSize is that of the emulated kernel in bytes; the emulator accepts 4096, 16384 and 65536.
	PageSize int
}

// NewJVM takes the home that ci/debian-jdk prints.
func NewJVM(home string, pageSize int) (JVM, error) {
	root, _, ok := strings.Cut(home, "/usr/lib/jvm/")
	if !ok {
		return JVM{}, fmt.Errorf("JDK %s: expected a folder below usr/lib/jvm, as ci/debian-jdk unpacks it", home)
	}
	if _, err := os.Stat(filepath.Join(home, "bin", "java")); err != nil {
		return JVM{}, fmt.Errorf("JDK for arm64: %w", err)
	}
	return JVM{Home: home, Root: root, PageSize: pageSize}, nil
}

// Script writes a program that takes the arguments of java. The libraries that a jar unpacks lie in temp.
func (j JVM) Script(path, temp string) error {
	text := fmt.Sprintf("#!/bin/sh\nexec %s -p %d -L '%s' '%s/bin/java' '-Djava.io.tmpdir=%s' \"$@\"\n", Emulator, j.PageSize, j.Root, j.Home, temp)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		return fmt.Errorf("program for the emulated JVM: %w", err)
	}
	return nil
}

// About is what a JVM says of itself.
type About struct {
	Arch     string `json:"arch"`     // os.arch: aarch64
	Version  string `json:"version"`  // java.version
	PageSize string `json:"pageSize"` // as the JVM was told it by the kernel: 4K, 64K
}

// Ask starts a script's JVM and asks it.
func Ask(ctx context.Context, script string) (About, error) {
	r, err := toolchain.Run(ctx, toolchain.Command{Path: script, Args: []string{"-Xlog:pagesize=info", "-XX:+UseSerialGC", "-XshowSettings:properties", "-version"}})
	if err != nil {
		return About{}, fmt.Errorf("emulated JVM: %w", err)
	}
	text := string(r.Stdout) + string(r.Stderr)
	var a About
	for _, f := range []struct {
		into    *string
		pattern string
	}{{&a.Arch, `(?m)^\s*os\.arch = (\S+)`}, {&a.Version, `(?m)^\s*java\.version = (\S+)`}, {&a.PageSize, `(?m)\bHeap: .*page_size=(\S+)`}} {
		m := regexp.MustCompile(f.pattern).FindStringSubmatch(text)
		if m == nil {
			return About{}, fmt.Errorf("emulated JVM: nothing like %s in what it says of itself:\n%s", f.pattern, text)
		}
		*f.into = m[1]
	}
	return a, nil
}
