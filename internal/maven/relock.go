package maven

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"observer-patch/internal/cache"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// PinnedJavac is the major version of the JDK that every release is compiled with: the
// newest that runs each pinned scalac.
const PinnedJavac = 17

// Relock asks mvn for everything that the releases need and adds it to the lock. It changes
// nothing that is known: other content or another list is an error of exit code 4.
func (r *Resolver) Relock(ctx context.Context, releases []release.Release, lock *release.Lock) error {
	return r.Cache.Stage(ctx, func(dir string) error {
		closures, err := r.closures(ctx, dir, releases)
		if err != nil {
			return err
		}
		files := map[Coordinates]bool{}
		lists := map[string]map[string][]Coordinates{}
		for _, rel := range releases {
			lists[rel.String()] = uses(rel, closures)
			for _, list := range lists[rel.String()] {
				for _, c := range list {
					files[c] = true
				}
			}
		}
		if err := r.digests(ctx, dir, slices.SortedFunc(maps.Keys(files), byName), lock); err != nil {
			return err
		}
		for _, rel := range releases {
			if err := r.relockRelease(rel, lists[rel.String()], lock); err != nil {
				return err
			}
		}
		return nil
	})
}

func byName(a, b Coordinates) int { return strings.Compare(a.String(), b.String()) }

func (r *Resolver) closures(ctx context.Context, dir string, releases []release.Release) (map[string][]Coordinates, error) {
	var projects []Project
	for _, rel := range releases {
		projects = append(projects, first(rel)...)
	}
	r.say("asking mvn for %d closures", len(projects))
	out, err := r.Client.Closures(ctx, filepath.Join(dir, "first"), projects, nil)
	if err != nil {
		return nil, err
	}
	projects = nil
	for _, rel := range releases {
		projects = append(projects, second(rel, out)...)
	}
	r.say("asking mvn for %d closures of compilers, logging and tests", len(projects))
	more, err := r.Client.Closures(ctx, filepath.Join(dir, "second"), projects, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, more)
	return out, nil
}

func (r *Resolver) say(format string, args ...any) {
	if r.Progress != nil {
		fmt.Fprintf(r.Progress, format+"\n", args...)
	}
}

// digests has mvn bring every file, hashes it, records it and keeps it in the cache.
func (r *Resolver) digests(ctx context.Context, dir string, files []Coordinates, lock *release.Lock) error {
	bar := startProgress(r.Progress, len(files), 0)
	paths, err := r.Client.Copy(ctx, filepath.Join(dir, "copy"), files, false, bar.line)
	bar.end(err == nil)
	if err != nil {
		return fmt.Errorf("fetch %d files: %w", len(files), err)
	}
	var differ []error
	for i, c := range files {
		d, err := digest(paths[i])
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		if err := lock.Add(c, d); err != nil {
			differ = append(differ, err)
			continue
		}
		if _, err := r.Cache.Put(key(c, d), paths[i]); err != nil {
			return err
		}
	}
	return exit.With(exit.Proof, errors.Join(differ...))
}

func key(c Coordinates, d release.Digest) cache.Key {
	return cache.Key{SHA256: d.SHA256, Size: d.Size, Name: c.File()}
}

// digest hashes a file after seeing that it is a whole zip archive, so that a download that
// was cut off is never locked.
func digest(path string) (release.Digest, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return release.Digest{}, fmt.Errorf("%s is no whole jar: %w", path, err)
	}
	if err := archive.Close(); err != nil {
		return release.Digest{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return release.Digest{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return release.Digest{}, err
	}
	return release.Digest{SHA256: hex.EncodeToString(h.Sum(nil)), Size: size}, nil
}

func (r *Resolver) relockRelease(rel release.Release, lists map[string][]Coordinates, lock *release.Lock) error {
	v := rel.String()
	entry := lock.Releases[v]
	if entry == nil {
		entry = &release.LockedRelease{Javac: PinnedJavac, Scalac: map[string]string{}, Uses: map[string][]Coordinates{}}
		lock.Releases[v] = entry
	}
	for _, use := range slices.Sorted(maps.Keys(lists)) {
		if err := lock.Put(v, use, lists[use]); err != nil {
			return err
		}
		if scala, ok := strings.CutPrefix(use, "scalac/"); ok {
			entry.Scalac[scala] = versionOf(lists[use], "scala-compiler")
		}
	}
	clients := jar(kafka, "kafka-clients", v)
	path, err := r.Cache.Get(key(clients, lock.Digests[clients]))
	if err != nil {
		return err
	}
	prefix, err := commitPrefix(path, v)
	if err != nil {
		return err
	}
	if entry.CommitPrefix != "" && entry.CommitPrefix != prefix || !strings.HasPrefix(entry.Commit, prefix) && entry.Commit != "" {
		return exit.With(exit.Proof, fmt.Errorf("release %s: the lock has commit %s%s, kafka-clients says %s", v, entry.CommitPrefix, entry.Commit, prefix))
	}
	entry.CommitPrefix = prefix
	return nil
}

// commitPrefix reads what kafka-clients says about the commit it was built from.
func commitPrefix(path, version string) (string, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	defer archive.Close()
	const name = "kafka/kafka-version.properties"
	text, err := fs.ReadFile(archive, name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[k] = v
		}
	}
	if values["version"] != version || len(values["commitId"]) < 7 {
		return "", fmt.Errorf("%s in %s: expected version %s and a commitId, found %q and %q", name, path, version, values["version"], values["commitId"])
	}
	return values["commitId"], nil
}
