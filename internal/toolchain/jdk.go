// Package toolchain finds the compilers and runs every process the tool starts: in a
// process group of its own, with a time limit, bounded output and a fixed environment.
package toolchain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"observer-patch/internal/exit"
)

// JDK is an installed Java development kit.
type JDK struct {
	// Home is the folder with bin/javac and the release file.
	Home string
	// Version is JAVA_VERSION of the release file, e.g. 17.0.15.
	Version string
	// Major is its first number, e.g. 17 (8 for 1.8).
	Major int
	// Vendor is IMPLEMENTOR of the release file, may be empty.
	Vendor string
	// Pinned tells whether Major is the one that was asked for.
	Pinned bool
}

// Tool gives the path of a program of the JDK, e.g. javac.
func (j JDK) Tool(name string) string { return filepath.Join(j.Home, "bin", name) }

// String gives version, vendor and place for people.
func (j JDK) String() string {
	return strings.TrimSpace(fmt.Sprintf("JDK %s %s", j.Version, j.Vendor)) + " in " + j.Home
}

// Want says which JDK FindJDK looks for.
type Want struct {
	// Major is the pinned major version (release.LockedRelease.Javac).
	Major int
	// Home is the folder given by --jdk; when set, only it is looked at.
	Home string
	// AnyVersion accepts a Home of another major version; the JDK then is not Pinned.
	AnyVersion bool
}

// FindJDK looks at want.Home, or else at JAVA_HOME, the javac on PATH and the usual
// folders, and gives the first JDK of the wanted major version. getenv is os.Getenv. A Home
// of another version without AnyVersion is a usage error.
func FindJDK(want Want, getenv func(string) string) (JDK, error) {
	return findJDK(want, getenv, []string{
		"/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/jdk*",
		"/Library/Java/JavaVirtualMachines/*/Contents/Home",
		filepath.Join(getenv("HOME"), ".sdkman/candidates/java/*"),
		filepath.Join(getenv("HOME"), ".jdks/*"),
	})
}

func findJDK(want Want, getenv func(string) string, patterns []string) (JDK, error) {
	if want.Home != "" {
		return givenJDK(want)
	}
	var looked []string
	for _, home := range candidates(getenv, patterns) {
		jdk, err := readJDK(home)
		if err != nil {
			looked = append(looked, err.Error())
			continue
		}
		if jdk.Pinned = jdk.Major == want.Major; jdk.Pinned {
			return jdk, nil
		}
		looked = append(looked, jdk.String())
	}
	found := "found none at all"
	if len(looked) > 0 {
		found = "found " + strings.Join(looked, "; ")
	}
	return JDK{}, fmt.Errorf("no JDK %d in JAVA_HOME, on PATH or in the usual folders: %s; install one (on Debian: apt-get install openjdk-%d-jdk-headless) or name it with --jdk DIR",
		want.Major, found, want.Major)
}

func givenJDK(want Want) (JDK, error) {
	home, err := filepath.Abs(want.Home)
	if err != nil {
		return JDK{}, err
	}
	jdk, err := readJDK(home)
	if err != nil {
		return JDK{}, exit.With(exit.Usage, fmt.Errorf("--jdk: %w", err))
	}
	jdk.Pinned = jdk.Major == want.Major
	if !jdk.Pinned && !want.AnyVersion {
		return JDK{}, exit.With(exit.Usage, fmt.Errorf("--jdk %s: expected JDK %d, which the lock pins, found %s; --any-jdk builds with it all the same and records it",
			want.Home, want.Major, jdk.Version))
	}
	return jdk, nil
}

// candidates gives existing folders in the order they are tried, each once.
func candidates(getenv func(string) string, patterns []string) []string {
	var out []string
	add := func(home string) {
		real, err := filepath.EvalSymlinks(home)
		if err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	if home := getenv("JAVA_HOME"); home != "" {
		add(home)
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if javac, err := filepath.EvalSymlinks(filepath.Join(dir, "javac")); err == nil {
			add(filepath.Dir(filepath.Dir(javac)))
		}
	}
	for _, p := range patterns {
		// The patterns are fixed and well formed; no match is no error.
		homes, _ := filepath.Glob(p)
		for _, home := range homes {
			if _, err := os.Stat(filepath.Join(home, "bin", "javac")); err == nil {
				add(home)
			}
		}
	}
	return out
}

// readJDK reads the release file that every JDK since 7 has (JEP 223 for the version).
func readJDK(home string) (JDK, error) {
	if _, err := os.Stat(filepath.Join(home, "bin", "javac")); err != nil {
		return JDK{}, fmt.Errorf("%s is no JDK: expected bin/javac: %w", home, err)
	}
	text, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return JDK{}, fmt.Errorf("%s is no JDK: expected its release file: %w", home, err)
	}
	jdk := JDK{Home: home, Version: property(string(text), "JAVA_VERSION"), Vendor: property(string(text), "IMPLEMENTOR")}
	number := strings.TrimPrefix(jdk.Version, "1.")
	if i := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		number = number[:i]
	}
	if jdk.Major, err = strconv.Atoi(number); err != nil {
		return JDK{}, fmt.Errorf("%s: JAVA_VERSION %q in its release file: expected a version such as 17.0.15", home, jdk.Version)
	}
	return jdk, nil
}

func property(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
