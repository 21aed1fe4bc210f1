package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"observer-patch/internal/exit"
)

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func digestFile(path string) (_ string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sumUp gives the digests of all files of a folder but the sums and their signature.
func sumUp(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if name == SumsFile || name == SignatureFile {
			return nil
		}
		if !d.Type().IsRegular() {
			return exit.With(exit.Proof, fmt.Errorf("%s: expected a regular file, found %s; a bundle has nothing else", name, d.Type()))
		}
		sums[name], err = digestFile(path)
		return err
	})
	return sums, err
}

// formatSums writes the form that sha256sum -c reads, sorted by name.
func formatSums(sums map[string]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return []byte(b.String())
}

var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  (\S.*)$`)

func readSums(text []byte) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		m := sumLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || !filepath.IsLocal(m[2]) {
			return nil, exit.With(exit.Proof, fmt.Errorf("%s: line %q is no digest and file name", SumsFile, line))
		}
		sums[m[2]] = m[1]
	}
	return sums, nil
}

// CheckSums compares every file of a bundle with its SHA256SUMS; files that are missing,
// changed or not listed are an error of exit code 4.
func CheckSums(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, SumsFile))
	if err != nil {
		return nil, fmt.Errorf("%s is no bundle: %w", dir, err)
	}
	want, err := readSums(text)
	if err != nil {
		return nil, err
	}
	have, err := sumUp(dir)
	if err != nil {
		return nil, err
	}
	if bad := differences(want, have); len(bad) > 0 {
		return nil, exit.With(exit.Proof, fmt.Errorf("%s does not match its %s: %s", dir, SumsFile, strings.Join(bad, "; ")))
	}
	return have, nil
}

// differences says for people how two sets of digests differ, sorted.
func differences(want, have map[string]string) []string {
	var bad []string
	for name, sum := range want {
		switch other, ok := have[name]; {
		case !ok:
			bad = append(bad, name+" is missing")
		case other != sum:
			bad = append(bad, fmt.Sprintf("%s: expected SHA-256 %s, found %s", name, sum, other))
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			bad = append(bad, name+" is not expected")
		}
	}
	slices.Sort(bad)
	return bad
}
