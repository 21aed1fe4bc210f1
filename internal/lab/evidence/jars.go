package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Jar is one file of a class path. Its folder is not recorded: it says nothing about its content.
type Jar struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Digests hashes a class path, in order.
func Digests(classpath []string) ([]Jar, error) {
	var out []Jar
	for _, p := range classpath {
		sum, err := digest(p)
		if err != nil {
			return nil, err
		}
		out = append(out, Jar{Name: filepath.Base(p), SHA256: sum})
	}
	return out, nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("digest of a jar: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("digest of %s: %w", filepath.Base(path), err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// WriteJars stores a list of a leg and gives its SHA-256. The name is empty for the leg's own jars.
func WriteJars(dir, name string, jars []Jar) (string, error) {
	data, err := json.MarshalIndent(jars, "", " ")
	if err != nil {
		return "", fmt.Errorf("%s: %w", JarsFile, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), write(filepath.Join(dir, jarsFile(name)), data)
}

func jarsFile(name string) string {
	if name == "" {
		return JarsFile
	}
	return "jars-" + name + ".json"
}
