// Package bundle makes the folder that a release engineer ships and a security team signs
// off: changed jars, diff, notices, licences, parts list, provenance, proof and sums. A
// bundle appears whole or not at all, and the same inputs give the same bytes.
package bundle

import (
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/proof"
	"observer-patch/internal/release"
)

// Names of the files in a bundle, beside the jars.
const (
	DiffFile       = "observer-patch.diff"
	NoticeFile     = "NOTICE"
	LicenseFile    = "LICENSE"
	ChangesFile    = "CHANGES.md"
	SBOMFile       = "sbom.cdx.json"
	ProvenanceFile = "provenance.intoto.json"
	ProofFile      = "proof.json"
	ProofPage      = "PROOF.md"
	NativesFile    = "natives.json"
	SumsFile       = "SHA256SUMS"
	SignatureFile  = "SHA256SUMS.sig"
	// PropertiesEntry is in each changed jar and says what it is.
	PropertiesEntry = "META-INF/observer-patch.properties"
)

// Bundle is a finished folder.
type Bundle struct {
	Dir    string
	Target release.Target
	Jars   []Jar
	// Verdict is nil when the proof was skipped.
	Verdict *proof.Verdict
	// Sums has the SHA-256 of every file by its name.
	Sums map[string]string
	// Locked is what outputs.lock says of it.
	Locked LockedOutput
	// Gradle says what of upstream's own build was run; nil for an overlay. Left counts the
	// processes that it left running and that were ended.
	Gradle *GradleRun
	Left   int
}

// Jar is a changed jar.
type Jar struct {
	// Name is the release's own file name, e.g. kafka_2.13-4.1.0.jar.
	Name   string `json:"name"`
	Module string `json:"module"`
	SHA256 string `json:"sha256"`
	// Release is the SHA-256 of the release's jar that it was made from.
	Release  string   `json:"release"`
	Replaced []string `json:"replaced"`
	Added    []string `json:"added"`
	Removed  []string `json:"removed"`
}

// Contents is everything that the documents of a bundle say, before they are written.
type Contents struct {
	Target release.Target
	Tree   patch.Tree
	// Foreign is set when Tree is somebody else's patch.
	Foreign bool
	Diff    []byte
	Jars    []Jar
	Closure []maven.Artifact
	// Compilers are the artifacts of the Scala compiler.
	Compilers []maven.Artifact
	// Sources are the artifacts (or the origin) that upstream's texts came from.
	Sources    []maven.Artifact
	Origin     string
	Tool       string
	JDK        JDK
	Scalac     string
	Unproven   bool
	HookDigest string
	// Notice and License are upstream's own texts, from the release's core jar or the first
	// changed one.
	Notice, License []byte
	// Gradle is set when upstream's own build made the jars.
	Gradle *GradleRun
}

// JDK says which Java compiled.
type JDK struct {
	Version string `json:"version"`
	Vendor  string `json:"vendor,omitempty"`
	Pinned  bool   `json:"pinned"`
}
