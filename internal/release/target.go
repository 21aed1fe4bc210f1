// Package release holds the matrix of supported upstream Kafka releases, the lock of
// their inputs and the targets that can be built from them.
package release

import (
	"github.com/Masterminds/semver/v3"
)

// Mode is the controller a set of jars is for.
type Mode string

const (
	// Both serves ZooKeeper and KRaft nodes with one set of jars; the default on 3.x.
	Both Mode = "both"
	// ZK patches what a ZooKeeper cluster runs and nothing else (3.x).
	ZK Mode = "zk"
	// KRaft patches what a KRaft cluster runs; the only mode of 4.x.
	KRaft Mode = "kraft"
)

// Includes tells whether jars of mode m run on clusters of mode want (zk or kraft).
func (m Mode) Includes(want Mode) bool { return m == want || m == Both }

// Set is a set of hooks.
type Set string

const (
	// Base has the hook places of the original five-file patch.
	Base Set = "base"
	// Full is the product.
	Full Set = "full"
)

// Release is one upstream release as versions.yaml describes it.
type Release struct {
	// Version is upstream's version, e.g. 4.1.0.
	Version *semver.Version
	// Tag is the tag of that version in upstream's git.
	Tag string
	// Modes are the modes it can be built in, the default first.
	Modes []Mode
	// Scala are the Scala binary versions upstream published, the default first.
	Scala []string
	// ClassRelease is the Java release of core's and metadata's class files (8 or 17),
	// given to javac --release and scalac -release.
	ClassRelease int
	// Sources are the ways to upstream's sources: maven (sources jars), git (the tag).
	Sources []string
	// Status is supported, or why it is only tried.
	Status string
}

// String gives the version, e.g. "4.1.0".
func (r Release) String() string { return r.Version.String() }

// Target is one thing that can be built.
type Target struct {
	Release Release
	Mode    Mode
	Scala   string
	Set     Set
}

// String gives the name of the target's output folder:
// <release>-<mode>[-scala2.12][-base].
func (t Target) String() string {
	s := t.Release.String() + "-" + string(t.Mode)
	if t.Scala != t.Release.Scala[0] {
		s += "-scala" + t.Scala
	}
	if t.Set != Full {
		s += "-" + string(t.Set)
	}
	return s
}
