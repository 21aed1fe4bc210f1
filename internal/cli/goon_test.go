package cli

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/promoter"
)

func TestWhatIsGoneOnWithIsWhatWasShown(t *testing.T) {
	store, err := promoter.OpenStore(t.TempDir(), "abc")
	require.NoError(t, err)
	o := &promoter.Operator{Store: store}
	env := &Env{Out: io.Discard, Err: &bytes.Buffer{}, Log: slog.New(slog.DiscardHandler)}
	shown := promoter.Pending{List: []int32{4}}
	for name, c := range map[string]struct {
		now  *promoter.Pending
		code int
	}{
		"the same":      {&promoter.Pending{List: []int32{4}}, exit.Done},
		"another one":   {&promoter.Pending{List: []int32{5}}, exit.Refused},
		"nothing there": {nil, exit.Refused},
	} {
		done := false
		err := goOn(&operating{yes: true}, env, o, "pending list", "Write it", &shown, func() (*promoter.Pending, error) { return c.now, nil }, func() error { done = true; return nil })
		require.Equal(t, c.code, exit.Code(err), name)
		require.Equal(t, c.code == exit.Done, done, name)
	}
}
