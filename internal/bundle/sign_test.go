package bundle

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/toolchain"
)

func TestSignaturesAreThoseOfTheSignerAndOfTheSums(t *testing.T) {
	ctx, keys, dir := context.Background(), t.TempDir(), t.TempDir()
	allowed := ""
	for _, who := range []string{"alice", "bob"} {
		_, err := toolchain.Run(ctx, toolchain.Command{Path: "ssh-keygen", Args: []string{"-q", "-t", "ed25519", "-N", "", "-C", who, "-f", filepath.Join(keys, who)}})
		require.NoError(t, err)
		pub, err := os.ReadFile(filepath.Join(keys, who+".pub"))
		require.NoError(t, err)
		allowed += who + " " + string(pub)
	}
	list := filepath.Join(keys, "allowed")
	require.NoError(t, os.WriteFile(list, []byte(allowed), 0o644))
	sums := filepath.Join(dir, SumsFile)
	require.NoError(t, os.WriteFile(sums, []byte("sums\n"), 0o644))
	assert.Equal(t, exit.Proof, exit.Code(CheckSignature(ctx, dir, list, "alice")), "not signed yet")

	require.NoError(t, Sign(ctx, dir, filepath.Join(keys, "alice")))
	assert.NoError(t, CheckSignature(ctx, dir, list, "alice"))
	assert.Equal(t, exit.Proof, exit.Code(CheckSignature(ctx, dir, list, "bob")), "another's signature")
	require.NoError(t, os.WriteFile(sums, []byte("changed\n"), 0o644))
	assert.Equal(t, exit.Proof, exit.Code(CheckSignature(ctx, dir, list, "alice")), "sums that changed")
}
