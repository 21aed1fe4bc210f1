package bundle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"observer-patch/internal/exit"
	"observer-patch/internal/toolchain"
)

// namespace keeps these signatures apart from those for other purposes (PROTOCOL.sshsig).
const namespace = "observer-patch"

// Sign signs a bundle's SHA256SUMS with an ssh key: a private key file, or a public one
// whose private half an agent holds.
func Sign(ctx context.Context, dir, key string) error {
	sums := filepath.Join(dir, SumsFile)
	if _, err := toolchain.Run(ctx, toolchain.Command{Path: "ssh-keygen", Args: []string{"-Y", "sign", "-q", "-f", key, "-n", namespace, sums}}); err != nil {
		return fmt.Errorf("sign %s: %w", SumsFile, err)
	}
	return nil
}

// CheckSignature verifies the signature for a signer of an allowed-signers file
// (ssh-keygen(1), ALLOWED SIGNERS). A missing or bad one is exit code 4.
func CheckSignature(ctx context.Context, dir, allowed, signer string) error {
	text, err := os.ReadFile(filepath.Join(dir, SumsFile))
	if err != nil {
		return err
	}
	signature := filepath.Join(dir, SignatureFile)
	if _, err := os.Stat(signature); err != nil {
		return exit.With(exit.Proof, fmt.Errorf("the bundle is not signed: %w", err))
	}
	_, err = toolchain.Run(ctx, toolchain.Command{Path: "ssh-keygen", Stdin: bytes.NewReader(text),
		Args: []string{"-Y", "verify", "-f", allowed, "-I", signer, "-n", namespace, "-s", signature}})
	if err != nil {
		return exit.With(exit.Proof, fmt.Errorf("signature of %s by %s: %w", SumsFile, signer, err))
	}
	return nil
}
