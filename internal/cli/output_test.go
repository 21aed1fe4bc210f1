package cli_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	observerpatch "observer-patch"
	"observer-patch/internal/cache"
	"observer-patch/internal/cli"
	"observer-patch/internal/exit"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAResultThatCannotBePrintedIsAFailure(t *testing.T) {
	t.Setenv(cache.Variable, t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, args := range [][]string{{"versions"}, {"versions", "-o", "json"}, {"lab", "list", "-o", "yaml"}, {"lock", "--check"}} {
		var errs bytes.Buffer
		code := cli.Run(t.Context(), &cli.Env{Out: fullDisk{}, Err: &errs, Data: observerpatch.Data(), Version: "test"}, args)
		assert.Equal(t, exit.Failed, code, args)
		assert.Contains(t, errs.String(), "no space left on device", args)
	}
}
