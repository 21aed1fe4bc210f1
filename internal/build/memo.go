package build

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Memo keeps the results of compiling unpatched files by a digest of everything that
// decides them. Patched files are compiled anew each time.
type Memo struct {
	// Dir is a folder that is made when it is missing; empty switches the memo off.
	Dir string
}

// Compile is like the function, but looks into the memo first. kept tells that the result
// came from there.
func (m Memo) Compile(ctx context.Context, t Tools, u Unit) (out Output, kept bool, err error) {
	if m.Dir == "" {
		out, err = Compile(ctx, t, u)
		return out, false, err
	}
	path := filepath.Join(m.Dir, u.digest(t.JDK.Version+" "+t.JDK.Vendor)+".json.gz")
	out, err = readOutput(path)
	if err == nil {
		return out, true, nil
	}
	// A damaged file is as good as none: it is written again.
	out, err = Compile(ctx, t, u)
	if err != nil {
		return Output{}, false, err
	}
	return out, false, writeOutput(path, out)
}

// readOutput reads a file that begins with the SHA-256 of what follows.
func readOutput(path string) (Output, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Output{}, err
	}
	const size = sha256.Size * 2
	if len(data) < size {
		return Output{}, fmt.Errorf("%s: truncated", path)
	}
	if sum := sha256.Sum256(data[size:]); hex.EncodeToString(sum[:]) != string(data[:size]) {
		return Output{}, fmt.Errorf("%s: damaged", path)
	}
	z, err := gzip.NewReader(bytes.NewReader(data[size:]))
	if err != nil {
		return Output{}, fmt.Errorf("%s: %w", path, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return Output{}, fmt.Errorf("%s: %w", path, err)
	}
	var out Output
	if err := json.Unmarshal(text, &out); err != nil {
		return Output{}, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func writeOutput(path string, out Output) error {
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, werr := z.Write(text)
	if err := errors.Join(werr, z.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	sum := sha256.Sum256(b.Bytes())
	return renameio.WriteFile(path, append([]byte(hex.EncodeToString(sum[:])), b.Bytes()...), 0o644)
}
