// Package source gives the upstream files that hooks go into, from upstream's git, from
// the published sources jars or from a folder. The hooked files are the same bytes from all.
package source

import "io/fs"

// Tree is an upstream source tree, whole or in part.
type Tree struct {
	// FS has upstream's own paths, e.g. core/src/main/scala/kafka/cluster/Partition.scala.
	FS fs.FS
	// Origin says for people where the tree came from.
	Origin string
	// Commit is the git commit, empty when the origin has none.
	Commit string
	// Whole is false for a tree made from sources jars: it can be patched and compiled
	// against the release's jars, but upstream's Gradle build cannot run in it.
	Whole bool
	// LeftOut are paths that FS does not show because they are no regular files.
	LeftOut []string
	// Close ends the use of FS; nil when there is nothing to end.
	Close func() error
}
