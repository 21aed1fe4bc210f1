package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/google/renameio/v2"

	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// OutputsFile is the name of the lock of results, beside versions.lock.
const OutputsFile = "outputs.lock"

// Outputs is outputs.lock: what each target gave when it was last locked.
type Outputs struct {
	Targets map[string]LockedOutput `yaml:"targets"`
}

// LockedOutput is one target's result.
type LockedOutput struct {
	Generation int `yaml:"generation"`
	// Diff is the SHA-256 of the diff without its header, which names the tool.
	Diff string `yaml:"diff"`
	// Jars has the SHA-256 of each changed jar by file name.
	Jars map[string]string `yaml:"jars"`
}

const outputsHead = "# Results by target: SHA-256 of the diff (without header) and of each changed jar. Written by\n# \"observer-patch build --update-outputs-lock\"; a build with the pinned compilers that gives other jars from the same diff fails.\n"

// ReadOutputs parses outputs.lock; no file is an empty lock.
func ReadOutputs(fsys fs.FS) (Outputs, error) {
	o := Outputs{Targets: map[string]LockedOutput{}}
	text, err := fs.ReadFile(fsys, OutputsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if err := yaml.UnmarshalWithOptions(text, &o, yaml.Strict()); err != nil {
		return o, fmt.Errorf("%s: %w", OutputsFile, err)
	}
	if o.Targets == nil {
		o.Targets = map[string]LockedOutput{}
	}
	return o, nil
}

// Write writes the lock to a file, whole or not at all; targets are sorted.
func (o Outputs) Write(path string) error {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append([]byte(outputsHead), text...), os.FileMode(0o644))
}

// locked gives the entry for what was built.
func (c Contents) locked() LockedOutput {
	l := LockedOutput{Generation: release.Generation, Diff: c.HookDigest, Jars: map[string]string{}}
	for _, j := range c.Jars {
		l.Jars[j.Name] = j.SHA256
	}
	return l
}

// Check compares a result with what is locked for its target. Another diff or generation
// means other inputs, and nothing to compare; the same with other jars is exit code 4.
func (o Outputs) Check(target string, got LockedOutput) error {
	want, ok := o.Targets[target]
	if !ok || want.Generation != got.Generation || want.Diff != got.Diff {
		return nil
	}
	if bad := differences(want.Jars, got.Jars); len(bad) > 0 {
		return exit.With(exit.Proof, fmt.Errorf("%s: the same diff gave other jars than %s has: %v; find out which compiler or dependency differs, or lock the new ones with --update-outputs-lock", target, OutputsFile, bad))
	}
	return nil
}
