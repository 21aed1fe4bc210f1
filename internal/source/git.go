package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"observer-patch/internal/exit"
)

// GitSpec names one tag or one state of a branch of a repository.
type GitSpec struct {
	// URL is any URL or path that git can clone.
	URL string
	Tag string
	// Branch is taken instead of a tag. A branch moves, so Commit must be what it is at now,
	// whole, as ListRefs gives it.
	Branch string
	// Commit is what the tag has to stand for, whole or its beginning; empty when not known.
	Commit string
	// Cache is the folder below which clones are kept.
	Cache string
	// Offline forbids to clone.
	Offline bool
	// Progress takes the server's lines; nil for silence.
	Progress io.Writer
}

// Git gives the tree of a tag. It is cloned once, shallow, with that tag and no other, into a
// temporary folder that is renamed when it is complete: a cancelled clone leaves nothing,
// and a complete one is used again. A commit other than the expected one is exit code 4.
func Git(ctx context.Context, s GitSpec) (*Tree, error) {
	name := sha256.Sum256([]byte(s.URL))
	ref, what := plumbing.NewTagReferenceName(s.Tag), "tag "+s.Tag
	key := filepath.Base(s.Tag)
	if s.Branch != "" {
		if len(s.Commit) != 40 {
			return nil, fmt.Errorf("branch %s of %s: expected the whole commit that it is at, found %q", s.Branch, redacted(s.URL), s.Commit)
		}
		ref, what, key = plumbing.NewBranchReferenceName(s.Branch), "branch "+s.Branch, s.Commit
	}
	dir := filepath.Join(s.Cache, "git", hex.EncodeToString(name[:8])+"-"+key)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if s.Offline {
			return nil, fmt.Errorf("%s of %s is not in the cache, and --offline forbids to clone it", what, redacted(s.URL))
		}
		if err := clone(ctx, s, ref, dir); err != nil {
			return nil, fmt.Errorf("clone %s of %s: %w", what, redacted(s.URL), err)
		}
	} else if err != nil {
		return nil, err
	}
	repo, err := git.PlainOpen(dir)
	if err != nil {
		return nil, fmt.Errorf("cached clone %s: %w; remove the folder to clone again", dir, err)
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(ref + "^{commit}"))
	if err != nil {
		return nil, fmt.Errorf("%s in the cached clone %s: %w; remove the folder to clone again", what, dir, err)
	}
	if !strings.HasPrefix(hash.String(), s.Commit) {
		if s.Branch != "" {
			return nil, errors.Join(fmt.Errorf("%s of %s moved to %s while it was fetched, expected %s; try again", what, redacted(s.URL), hash, s.Commit), os.RemoveAll(dir))
		}
		return nil, exit.With(exit.Proof, fmt.Errorf("tag %s of %s is commit %s, expected %s; the tag was moved, or this is not upstream", s.Tag, redacted(s.URL), hash, s.Commit))
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		return nil, fmt.Errorf("commit %s in %s: %w", hash, dir, err)
	}
	t := &Tree{Origin: "git " + redacted(s.URL) + " " + s.Tag + s.Branch, Commit: hash.String()}
	files, err := gitFiles(repo, commit, t)
	if err != nil {
		return nil, fmt.Errorf("read commit %s in %s: %w", hash, dir, err)
	}
	t.FS = newFileSet(files)
	_, t.Whole = files[gradleRoot]
	return t, nil
}

func clone(ctx context.Context, s GitSpec, ref plumbing.ReferenceName, dir string) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".clone-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	_, err = git.PlainCloneContext(ctx, tmp, true, &git.CloneOptions{
		URL: s.URL, ReferenceName: ref,
		SingleBranch: true, Depth: 1, Tags: git.NoTags, Progress: s.Progress,
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func gitFiles(repo *git.Repository, commit *object.Commit, t *Tree) (map[string]content, error) {
	root, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	files := map[string]content{}
	walk := object.NewTreeWalker(root, true, nil)
	defer walk.Close()
	for {
		name, e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		switch e.Mode {
		case filemode.Dir:
		case filemode.Regular, filemode.Executable, filemode.Deprecated:
			c, err := blob(repo, e)
			if err != nil {
				return nil, err
			}
			files[name] = c
		default:
			t.LeftOut = append(t.LeftOut, name)
		}
	}
}

func blob(repo *git.Repository, e object.TreeEntry) (content, error) {
	size, err := repo.Storer.EncodedObjectSize(e.Hash)
	if err != nil {
		return content{}, err
	}
	c := content{size: size, mode: 0o644, open: func() (io.ReadCloser, error) {
		b, err := repo.BlobObject(e.Hash)
		if err != nil {
			return nil, err
		}
		return b.Reader()
	}}
	if e.Mode == filemode.Executable {
		c.mode = 0o755
	}
	return c, nil
}

// redacted gives a URL without its password.
func redacted(url string) string {
	e, err := transport.NewEndpoint(url)
	if err != nil || e.Password == "" {
		return url
	}
	e.Password = "xxxxx"
	return e.String()
}
