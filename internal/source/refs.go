package source

import (
	"context"
	"fmt"
	"sort"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Refs are the tags and branches of a repository with the commits they stand for, 40
// hexadecimal digits.
type Refs struct{ Tags, Branches map[string]string }

// ListRefs asks a repository for its tags and branches; nothing is cloned. An annotated tag
// stands for the commit that it names.
func ListRefs(ctx context.Context, url string) (Refs, error) {
	remote := git.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: "upstream", URLs: []string{url}})
	list, err := remote.ListContext(ctx, &git.ListOptions{PeelingOption: git.AppendPeeled})
	if err != nil {
		return Refs{}, fmt.Errorf("list tags and branches of %s: %w", redacted(url), err)
	}
	const peeled = "^{}"
	out := Refs{Tags: map[string]string{}, Branches: map[string]string{}}
	// A peeled name sorts right after its tag, and so replaces it.
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	for _, ref := range list {
		name := ref.Name().Short()
		switch {
		case ref.Name().IsTag():
			if n := len(name) - len(peeled); n > 0 && name[n:] == peeled {
				name = name[:n]
			}
			out.Tags[name] = ref.Hash().String()
		case ref.Name().IsBranch():
			out.Branches[name] = ref.Hash().String()
		}
	}
	return out, nil
}
