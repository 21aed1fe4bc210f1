package maven

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"observer-patch/internal/cache"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Resolver finds locked files: in the cache, then in the local Maven repository, then
// through the mvn client.
type Resolver struct {
	// Cache is where checked files are kept.
	Cache *cache.Cache
	// Client fetches what is missing.
	Client Client
	// Repositories are folders to look in before mvn is started; nil stands for
	// LocalRepositories of the environment, an empty list for none.
	Repositories []string
	// Offline forbids mvn to be started.
	Offline bool
	// Progress takes lines, or bars when it is a terminal; nil for silence.
	Progress io.Writer
	// Log takes what is unusual (damaged copies); nil for silence.
	Log *slog.Logger
}

// need is one file still to be found.
type need struct {
	index int // into the result
	key   cache.Key
	of    release.LockedArtifact
	// damaged is set when a local repository has the file with other content.
	damaged bool
}

// Resolve gives the files in the order asked for, each with the locked SHA-256, computed
// anew in this call. A digest that stays different after a fresh download is an error of
// exit code 4.
func (r *Resolver) Resolve(ctx context.Context, locked []release.LockedArtifact) ([]Artifact, error) {
	r = r.withRepositories()
	out := make([]Artifact, len(locked))
	var missing []need
	for i, l := range locked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := need{index: i, of: l, key: cache.Key{SHA256: l.SHA256, Size: l.Size, Name: l.Coordinates.File()}}
		out[i] = Artifact{Coordinates: l.Coordinates, SHA256: l.SHA256}
		path, err := r.local(&n)
		switch {
		case err == nil:
			out[i].Path = path
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, n)
		default:
			return nil, err
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	if r.Offline {
		return nil, r.offline(missing)
	}
	err := r.Cache.Stage(ctx, func(dir string) error { return r.fetch(ctx, dir, missing, out) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *Resolver) withRepositories() *Resolver {
	if r.Repositories != nil {
		return r
	}
	copied := *r
	copied.Repositories = LocalRepositories(os.Getenv)
	return &copied
}

// local looks in the cache and in the local repositories; fs.ErrNotExist means that mvn
// has to be asked.
func (r *Resolver) local(n *need) (string, error) {
	path, err := r.Cache.Get(n.key)
	if err == nil {
		return path, nil
	}
	if err := r.explain(err, "the cached copy is damaged and will be replaced"); err != nil {
		return "", err
	}
	for _, repository := range r.Repositories {
		path, err := r.Cache.Put(n.key, filepath.Join(repository, filepath.FromSlash(n.of.Coordinates.Path())))
		if err == nil {
			return path, nil
		}
		var m *cache.Mismatch
		n.damaged = n.damaged || errors.As(err, &m)
		if err := r.explain(err, "the copy in the local Maven repository is not the locked file and is not used"); err != nil {
			return "", err
		}
	}
	return "", fs.ErrNotExist
}

// explain logs a mismatch and gives back only errors that are neither that nor absence.
func (r *Resolver) explain(err error, what string) error {
	var m *cache.Mismatch
	switch {
	case errors.As(err, &m):
		if r.Log != nil {
			r.Log.Warn(what, "detail", m.Error())
		}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// fetch runs mvn for what another process has not brought meanwhile. What comes with a
// wrong digest, or was seen damaged in the local repository, is fetched once more into an
// empty one.
func (r *Resolver) fetch(ctx context.Context, dir string, missing []need, out []Artifact) error {
	var plain, again []need
	for _, n := range missing {
		path, err := r.Cache.Get(n.key)
		switch {
		case err == nil:
			out[n.index].Path = path
		case n.damaged:
			again = append(again, n)
		default:
			plain = append(plain, n)
		}
	}
	if len(plain) > 0 {
		bad, err := r.copy(ctx, filepath.Join(dir, "plain"), plain, out, false)
		if err != nil {
			return err
		}
		for _, m := range bad {
			if err := r.explain(m.mismatch, "mvn gave a file that is not the locked one; fetching it once more, past the local repository"); err != nil {
				return err
			}
			again = append(again, m.need)
		}
	}
	if len(again) == 0 {
		return nil
	}
	bad, err := r.copy(ctx, filepath.Join(dir, "again"), again, out, true)
	if err != nil || len(bad) == 0 {
		return err
	}
	var all []error
	for _, m := range bad {
		all = append(all, fmt.Errorf("%s differs from versions.lock, also after a fresh download: %w", m.need.of.Coordinates, m.mismatch))
	}
	return exit.With(exit.Proof, fmt.Errorf("%w; find out who changed it, a mirror or upstream: the lock is never adapted silently", errors.Join(all...)))
}

// wrong is a file that came with other content than locked.
type wrong struct {
	need     need
	mismatch error
}

func (r *Resolver) copy(ctx context.Context, dir string, needs []need, out []Artifact, fresh bool) ([]wrong, error) {
	files := make([]Coordinates, len(needs))
	var bytes int64
	for i, n := range needs {
		files[i], bytes = n.of.Coordinates, bytes+n.of.Size
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	bar := startProgress(r.Progress, len(needs), bytes)
	paths, err := r.Client.Copy(ctx, dir, files, fresh, bar.line)
	bar.end(err == nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %d files, beginning with %s: %w", len(files), files[0], err)
	}
	var bad []wrong
	for i, n := range needs {
		path, err := r.Cache.Put(n.key, paths[i])
		var m *cache.Mismatch
		switch {
		case err == nil:
			out[n.index].Path = path
		case errors.As(err, &m):
			bad = append(bad, wrong{n, m})
		default:
			return nil, fmt.Errorf("%s: mvn ended well, but its file is not there: %w", n.of.Coordinates, err)
		}
	}
	return bad, nil
}

func (r *Resolver) offline(missing []need) error {
	var names []string
	for _, n := range missing[:min(3, len(missing))] {
		names = append(names, n.of.Coordinates.String())
	}
	if len(missing) > len(names) {
		names = append(names, fmt.Sprintf("and %d more", len(missing)-len(names)))
	}
	return fmt.Errorf("--offline: %d files are neither in the cache %s nor in the local Maven repository (%s): %s; run once without --offline",
		len(missing), r.Cache.Root(), strings.Join(r.Repositories, ", "), strings.Join(names, ", "))
}
