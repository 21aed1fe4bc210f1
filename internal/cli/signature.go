package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"observer-patch/internal/bundle"
	"observer-patch/internal/exit"
)

// signatureFlags are the flags that ask for a signed bundle.
type signatureFlags struct {
	signer, allowed string
}

func (s *signatureFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&s.signer, "signer", "", "identity that must have signed, as in the allowed signers file")
	f.StringVar(&s.allowed, "allowed-signers", "", "allowed signers file of ssh-keygen; with --signer")
}

// complete refuses one flag without the other.
func (s *signatureFlags) complete() error {
	if (s.signer == "") != (s.allowed == "") {
		return exit.With(exit.Usage, errors.New("--signer and --allowed-signers go together"))
	}
	return nil
}

// check checks the signature of a bundle, when that was asked for.
func (s *signatureFlags) check(ctx context.Context, dir string) error {
	if s.signer == "" {
		return nil
	}
	return bundle.CheckSignature(ctx, dir, s.allowed, s.signer)
}
