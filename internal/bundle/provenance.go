package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/release"
)

// The types of the provenance: in-toto Attestation Framework v1 (Statement), SLSA v1
// (Provenance). Names of ours are URNs: nothing of ours has an address.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	overlayType   = "urn:observer-patch:build:overlay:1"
	gradleType    = "urn:observer-patch:build:gradle:1"
	builderPrefix = "urn:observer-patch:tool:"
)

// Statement is the provenance of a bundle.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource is a file or package with its digest (in-toto ResourceDescriptor).
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// Predicate is SLSA's provenance.
type Predicate struct {
	BuildDefinition BuildDefinition `json:"buildDefinition"`
	RunDetails      RunDetails      `json:"runDetails"`
}

// BuildDefinition says what was asked for and what went in.
type BuildDefinition struct {
	BuildType            string     `json:"buildType"`
	External             External   `json:"externalParameters"`
	Internal             Internal   `json:"internalParameters"`
	ResolvedDependencies []Resource `json:"resolvedDependencies"`
}

// External are the parameters a person chooses.
type External struct {
	Release string `json:"release"`
	Mode    string `json:"mode"`
	Scala   string `json:"scala"`
	Set     string `json:"set,omitempty"`
	// Patch is the SHA-256 of somebody else's patch; empty for our hooks.
	Patch string `json:"patch,omitempty"`
	// Proof is "proven" or "skipped".
	Proof string `json:"proof"`
}

// Internal are the parameters that the tool and the machine bring.
type Internal struct {
	Generation   int    `json:"generation"`
	HooksSHA256  string `json:"hooksSha256"`
	SourceSHA256 string `json:"sourceSha256"`
	JDK          JDK    `json:"jdk"`
	Scalac       string `json:"scalac,omitempty"`
	// Backend is Overlay or WholeBuild.
	Backend string `json:"backend"`
	// Gradle says what of upstream's own build was run.
	Gradle *GradleRun `json:"gradle,omitempty"`
}

// RunDetails names the builder. There is no invocation id and no time in it, so that the
// same inputs give the same bytes.
type RunDetails struct {
	Builder Builder `json:"builder"`
}

// Builder is the tool.
type Builder struct {
	ID string `json:"id"`
}

func (c Contents) provenance() ([]byte, error) {
	s := Statement{Type: statementType, PredicateType: predicateType}
	for _, j := range c.Jars {
		s.Subject = append(s.Subject, Resource{Name: j.Name, Digest: map[string]string{"sha256": j.SHA256}})
	}
	s.Subject = append(s.Subject, Resource{Name: DiffFile, Digest: map[string]string{"sha256": digest(c.Diff)}})
	d := &s.Predicate.BuildDefinition
	d.BuildType = overlayType
	d.External = External{Release: c.Target.Release.String(), Mode: string(c.Target.Mode), Scala: c.Target.Scala, Set: string(c.Target.Set), Proof: "proven"}
	d.Internal = Internal{Generation: release.Generation, HooksSHA256: c.HookDigest, SourceSHA256: c.Tree.SourceDigest(), JDK: c.JDK, Scalac: c.Scalac, Backend: Overlay, Gradle: &GradleRun{Scope: notRun}}
	if c.Gradle != nil {
		d.BuildType, d.Internal.Backend, d.Internal.Gradle = gradleType, WholeBuild, c.Gradle
	}
	if c.Unproven {
		d.External.Proof = "skipped"
	}
	if c.Foreign {
		d.External.Set, d.External.Patch = "", digest(c.Diff)
	}
	for _, list := range [][]maven.Artifact{c.Sources, c.Closure, c.Compilers} {
		for _, a := range list {
			r := Resource{URI: purl(a.Coordinates), Digest: map[string]string{"sha256": a.SHA256}}
			if !slices.ContainsFunc(d.ResolvedDependencies, func(o Resource) bool { return o.URI == r.URI }) {
				d.ResolvedDependencies = append(d.ResolvedDependencies, r)
			}
		}
	}
	s.Predicate.RunDetails.Builder.ID = builderPrefix + c.Tool
	return writeJSON(s)
}

// ReadProvenance reads a bundle's provenance and refuses one of another kind, with exit code 4.
func ReadProvenance(data []byte) (Statement, error) {
	var s Statement
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Statement{}, exit.With(exit.Proof, fmt.Errorf("%s: %w", ProvenanceFile, err))
	}
	d := s.Predicate.BuildDefinition
	kind := overlayType
	if d.Internal.Backend == WholeBuild {
		kind = gradleType
	}
	for _, c := range [][3]string{{"_type", s.Type, statementType}, {"predicateType", s.PredicateType, predicateType}, {"buildType", d.BuildType, kind}} {
		if c[1] != c[2] {
			return Statement{}, exit.With(exit.Proof, fmt.Errorf("%s: expected %s %q, found %q", ProvenanceFile, c[0], c[2], c[1]))
		}
	}
	return s, nil
}

// Tool gives the version of the tool that made the bundle.
func (s Statement) Tool() string {
	return strings.TrimPrefix(s.Predicate.RunDetails.Builder.ID, builderPrefix)
}

func writeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
