package bundle

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"observer-patch/internal/maven"
)

// purl names an artifact as the package URL specification does for Maven.
func purl(a maven.Coordinates) string {
	s := fmt.Sprintf("pkg:maven/%s/%s@%s", a.Group, a.Artifact, a.Version)
	switch {
	case a.Classifier != "":
		return s + "?classifier=" + a.Classifier + "&type=" + a.Extension
	case a.Extension != "" && a.Extension != "jar":
		return s + "?type=" + a.Extension
	}
	return s
}

// sbom gives the parts list in CycloneDX 1.6 JSON: the changed jars and the whole closure
// that they run with, each with package URL, SHA-256 and licence. There is no time and no
// random number in it.
func (c Contents) sbom() ([]byte, error) {
	changed := map[string]Jar{}
	for _, j := range c.Jars {
		changed[j.Name] = j
	}
	var parts []cdx.Component
	for _, a := range c.Closure {
		license, err := LicenseOf(a.Coordinates.Group, a.Coordinates.Artifact)
		if err != nil {
			return nil, err
		}
		part := cdx.Component{
			BOMRef: purl(a.Coordinates), Type: cdx.ComponentTypeLibrary, Group: a.Coordinates.Group, Name: a.Coordinates.Artifact,
			Version: a.Coordinates.Version, PackageURL: purl(a.Coordinates),
			Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: a.SHA256}},
			Licenses: &cdx.Licenses{{Expression: license}},
		}
		if j, ok := changed[a.Coordinates.File()]; ok {
			part.BOMRef += "#modified"
			part.Description = "modified by observer-patch"
			part.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: j.SHA256}}
			part.Pedigree = &cdx.Pedigree{
				Ancestors: &[]cdx.Component{{BOMRef: purl(a.Coordinates), Type: cdx.ComponentTypeLibrary, Group: a.Coordinates.Group, Name: a.Coordinates.Artifact,
					Version: a.Coordinates.Version, PackageURL: purl(a.Coordinates), Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: a.SHA256}}}},
				Patches: &[]cdx.Patch{{Type: cdx.PatchTypeUnofficial, Diff: &cdx.Diff{URL: DiffFile}}},
			}
			part.PackageURL = ""
		}
		parts = append(parts, part)
	}
	bom := cdx.NewBOM()
	// A serial number must be a UUID; derived from what was built, so that it comes back.
	h := sha256.New()
	for _, j := range c.Jars {
		fmt.Fprintln(h, j.Name, j.SHA256)
	}
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // RFC 9562, version 8
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	bom.Metadata = &cdx.Metadata{
		Component: &cdx.Component{BOMRef: "bundle", Type: cdx.ComponentTypeApplication, Name: "observer-patch-bundle", Version: c.Target.String(),
			Description: "upstream Kafka " + c.Target.Release.String() + " with observer replicas"},
		Tools: &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication, Name: "observer-patch", Version: c.Tool}}},
	}
	bom.Components = &parts
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("parts list: %w", err)
	}
	return out.Bytes(), nil
}
