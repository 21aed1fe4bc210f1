// Command release writes what goes with the tool's binaries: manual pages and shell completions from its
// commands, and a parts list from what the Go linker recorded in a binary.
//
//	go run ./ci/release docs DIR DATE
//	go run ./ci/release sbom BINARY VERSION
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/spf13/cobra/doc"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "docs":
		return docs(args[1], args[2])
	case len(args) == 3 && args[0] == "sbom":
		return sbom(os.Stdout, args[1], args[2])
	}
	return errors.New("usage: release docs DIR DATE | release sbom BINARY VERSION")
}

// docs writes DIR/man/man1 and DIR/completions; date (RFC 3339) stands in the pages.
func docs(dir, date string) error {
	when, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return err
	}
	when = when.UTC()
	root := cli.Commands(&cli.Env{Out: io.Discard, Err: io.Discard, Data: observerpatch.Data()})
	root.DisableAutoGenTag = true
	man, completions := filepath.Join(dir, "man", "man1"), filepath.Join(dir, "completions")
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return err
	}
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Title: "OBSERVER-PATCH", Section: "1", Date: &when, Source: "observer-patch for upstream Kafka", Manual: "observer-patch"}, man),
		root.GenBashCompletionFileV2(filepath.Join(completions, "observer-patch.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_observer-patch")),
		root.GenFishCompletionFile(filepath.Join(completions, "observer-patch.fish"), true),
	)
}

// sbom writes the modules that a binary was linked from, as CycloneDX. The same binary gives the same text.
func sbom(out io.Writer, binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	parts := []cdx.Component{{BOMRef: "pkg:golang/std@" + info.GoVersion[2:], Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion[2:], PackageURL: "pkg:golang/std@" + info.GoVersion[2:]}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		parts = append(parts, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
			Properties: &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}})
	}
	bom := cdx.NewBOM()
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // RFC 9562, version 8: derived from the binary
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{BOMRef: "observer-patch", Type: cdx.ComponentTypeApplication, Name: filepath.Base(binary), Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}}, Licenses: &cdx.Licenses{{Expression: "Apache-2.0"}}}}
	bom.Components = &parts
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}
