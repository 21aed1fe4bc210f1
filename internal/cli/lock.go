package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"observer-patch/internal/cache"
	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/release"
)

func newLockCommand(env *Env) *cobra.Command {
	var exprs []string
	var check bool
	cmd := &cobra.Command{
		Use:   "lock --data DIR",
		Short: "Add what releases are built from to versions.lock, or check it",
		Long: `Ask mvn for everything the releases are built from and add it to versions.lock in the
folder of --data. Nothing known is changed: a published file whose digest differs from the
locked one, or a list that differs, is exit code 4.

With --check nothing is written and mvn is not started: every list that the matrix needs
must be there, and every file that is in the cache or in the local Maven repository must
have its locked digest.`,
		Example: `  observer-patch lock --data .
  observer-patch lock --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			m, err := readMatrix(env)
			if err != nil {
				return err
			}
			releases, err := m.Select(exprs...)
			if err != nil {
				return err
			}
			if env.DataDir == "" && !check {
				return exit.With(exit.Usage, fmt.Errorf("lock writes versions.lock into a folder: name it with --data (the repository: --data .)"))
			}
			lock, err := readLock(env)
			if err != nil {
				return err
			}
			resolver, err := newResolver(env, false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, resolver.Cache.Close()) }()
			if check {
				return checkLock(env.Out, resolver, releases, lock)
			}
			before := len(lock.Digests)
			if err := resolver.Relock(cmd.Context(), releases, lock); err != nil {
				return err
			}
			return writeLock(env, lock, before)
		},
	}
	cmd.Flags().StringArrayVar(&exprs, "version", []string{release.All}, "release (4.1.0), semver range (\">=3.6.2 <4.2\") or all; may be given several times")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, start nothing: check the lists and the digests of what is here")
	return cmd
}

// newResolver opens the user's cache; the caller closes it.
func newResolver(env *Env, offline bool) (*maven.Resolver, error) {
	root, err := cache.Dir(os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := cache.Open(root)
	if err != nil {
		return nil, err
	}
	return &maven.Resolver{Cache: c, Offline: offline, Progress: env.Err, Log: env.Log}, nil
}

func writeLock(env *Env, lock *release.Lock, before int) error {
	path := filepath.Join(env.DataDir, "versions.lock")
	text := lock.Format()
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.Equal(old, text) {
		_, err := fmt.Fprintf(env.Out, "%s is complete: %d files\n", path, before)
		return err
	}
	if err := renameio.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = fmt.Fprintf(env.Out, "%s: %d files, %d of them new\n", path, len(lock.Digests), len(lock.Digests)-before)
	return err
}

func checkLock(out io.Writer, resolver *maven.Resolver, releases []release.Release, lock *release.Lock) error {
	found, err := resolver.CheckLock(releases, lock)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "versions.lock has all lists of %d releases; %d files checked, %d not on this machine\n", len(releases), found.Checked, found.Absent)
	return err
}
