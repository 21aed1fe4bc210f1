package maven

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"observer-patch/internal/cache"
	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

// Checked counts what CheckLock looked at.
type Checked struct {
	// Checked files are here with the locked digest, Absent ones are neither in the cache
	// nor in the local Maven repository.
	Checked, Absent int
}

// CheckLock sees that the lock has every list that the releases need and that every file of
// them that is on this machine has its locked digest; one that has not is an error of exit
// code 4. It starts no process.
func (r *Resolver) CheckLock(releases []release.Release, lock *release.Lock) (Checked, error) {
	r = r.withRepositories()
	files := map[Coordinates]cache.Key{}
	var incomplete []error
	for _, rel := range releases {
		for _, use := range neededUses(rel) {
			list, err := lock.Artifacts(rel.String(), use)
			if err != nil {
				incomplete = append(incomplete, err)
			}
			for _, l := range list {
				files[l.Coordinates] = cache.Key{SHA256: l.SHA256, Size: l.Size, Name: l.Coordinates.File()}
			}
		}
	}
	if err := errors.Join(incomplete...); err != nil {
		return Checked{}, err
	}
	var out Checked
	var differ []error
	for _, c := range slices.SortedFunc(maps.Keys(files), byName) {
		here, err := r.verifyCopies(c, files[c])
		switch {
		case err != nil:
			differ = append(differ, fmt.Errorf("%s: %w", c, err))
		case here:
			out.Checked++
		default:
			out.Absent++
		}
	}
	return out, exit.With(exit.Proof, errors.Join(differ...))
}

// neededUses are the lists that a build of the release may ask for.
func neededUses(r release.Release) []string {
	out := []string{"source"}
	for _, scala := range r.Scala {
		out = append(out, "module/"+scala, "classpath/"+scala, "scalac/"+scala, "lab/"+scala)
	}
	if tested(r.String()) {
		out = append(out, "test")
	}
	return out
}

// verifyCopies hashes the file wherever it lies and tells whether it lies anywhere.
func (r *Resolver) verifyCopies(c Coordinates, k cache.Key) (bool, error) {
	_, err := r.Cache.Get(k)
	errs := []error{err}
	for _, repository := range r.Repositories {
		errs = append(errs, cache.Verify(filepath.Join(repository, filepath.FromSlash(c.Path())), k))
	}
	here := false
	var differ []error
	for _, err := range errs {
		switch {
		case err == nil:
			here = true
		case !errors.Is(err, fs.ErrNotExist):
			differ = append(differ, err)
		}
	}
	return here, errors.Join(differ...)
}
