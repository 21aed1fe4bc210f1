package hosts

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"observer-patch/internal/observer"
)

// Serve answers one request of the protocol for one file and one Kafka home (which may be empty),
// and for no other: what an account that is bound to it by a forced command can do is that and
// nothing else.
func Serve(in io.Reader, out io.Writer, file, home string) error {
	r := bufio.NewReader(io.LimitReader(in, maxAnswer))
	var lines [4]string
	for i := range lines {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the request is cut short: %w", err)
		}
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	answer, err := serve(lines, r, file, home)
	if errors.Is(err, ErrChanged) {
		answer, err = []byte("changed\n"), nil
	}
	if err != nil {
		answer = fmt.Appendf(nil, "unfit\n%s\n", shorten(err.Error()))
	}
	_, err = out.Write(answer)
	return err
}

func serve(lines [4]string, rest io.Reader, file, home string) ([]byte, error) {
	op, path, expect := lines[0], lines[1], lines[2]
	allowed := file
	if op == "jars" {
		allowed = home
	}
	if path != allowed || allowed == "" {
		return nil, fmt.Errorf("this account is for %s only", file)
	}
	switch op {
	case "read":
		f, err := readLocal(path)
		if err != nil || !f.Exists {
			return []byte("absent\n"), err
		}
		link := 0
		if f.Link {
			link = 1
		}
		return append(fmt.Appendf(nil, "file %o %d %d %d %d %d\n", f.Mode, f.UID, f.GID, f.ModTime.Unix(), len(f.Content), link), f.Content...), nil
	case "write":
		size, err := strconv.Atoi(lines[3])
		if err != nil || size < 0 || size > observer.MaxBytes {
			return nil, fmt.Errorf("size %q: expected at most %d", lines[3], observer.MaxBytes)
		}
		content, err := io.ReadAll(rest)
		if err != nil {
			return nil, err
		}
		if len(content) != size {
			return nil, errors.New("the content was cut short on its way")
		}
		return []byte("written\n"), writeLocal(path, content, expect)
	case "jars":
		sums, err := jarsLocal(path)
		if err != nil {
			return nil, err
		}
		b := []byte("jars\n")
		for name, sum := range sums {
			b = fmt.Appendf(b, "%s %s\n", sum, name)
		}
		return b, nil
	}
	return nil, errors.New("no such request")
}

// jarsLocal gives the SHA-256 of the Kafka jars of a home on this machine.
func jarsLocal(home string) (map[string]string, error) {
	libs := filepath.Join(home, "libs")
	entries, err := os.ReadDir(libs)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "kafka") || filepath.Ext(e.Name()) != ".jar" {
			continue
		}
		name := filepath.Join(libs, e.Name())
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out[filepath.Base(name)] = hex.EncodeToString(h.Sum(nil))
	}
	return out, nil
}
