package bundle

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/patch"
	"observer-patch/internal/release"
)

func contents() Contents {
	v := semver.MustParse("4.1.0")
	core := maven.Artifact{Coordinates: maven.Coordinates{Group: "org.apache.kafka", Artifact: "kafka_2.13", Version: "4.1.0", Extension: "jar"}, SHA256: strings.Repeat("a", 64)}
	zstd := maven.Artifact{Coordinates: maven.Coordinates{Group: "com.github.luben", Artifact: "zstd-jni", Version: "1.5.6-10", Extension: "jar"}, SHA256: strings.Repeat("b", 64)}
	return Contents{
		Target: release.Target{Release: release.Release{Version: v, Scala: []string{"2.13"}}, Mode: release.KRaft, Scala: "2.13", Set: release.Base},
		Tree: patch.Tree{Files: []patch.File{
			{Path: "core/src/main/scala/A.scala", Before: []byte("a\n"), After: []byte("b\na\n"), Edits: []patch.Edit{{Owner: "hook", OldLines: patch.Lines{First: 1}, NewLines: patch.Lines{First: 1, Count: 1}}}},
			{Path: "core/src/main/scala/B.scala", After: []byte("b\n"), Edits: []patch.Edit{{Owner: "ids", OldLines: patch.Lines{First: 1}, NewLines: patch.Lines{First: 1, Count: 1}}}},
		}},
		Diff: []byte("diff\n"), Closure: []maven.Artifact{core, zstd}, Tool: "test", HookDigest: strings.Repeat("c", 64),
		Jars:   []Jar{{Name: "kafka_2.13-4.1.0.jar", Module: "core", SHA256: strings.Repeat("d", 64), Release: core.SHA256, Added: []string{"B.class"}}},
		Notice: []byte("Upstream\nCopyright somebody.\n"), License: []byte("licence\n"), JDK: JDK{Version: "17.0.1", Pinned: true},
	}
}

func TestNoticeKeepsUpstreamsWholeAndSaysWhatIsModified(t *testing.T) {
	c := contents()
	text, err := c.notice()
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(text, c.Notice))
	for _, want := range []string{"MODIFIED", "modified core/src/main/scala/A.scala", "added core/src/main/scala/B.scala", "observer-patch for upstream Kafka"} {
		assert.Contains(t, string(text), want)
	}
}

func TestNoticeWithConflictMarkersFails(t *testing.T) {
	for _, mark := range []string{"<<<<<<< ours", "=======", ">>>>>>> theirs"} {
		c := contents()
		c.Notice = []byte("Upstream\n" + mark + "\nx\n")
		_, err := c.documents(nil)
		assert.ErrorContains(t, err, "conflict marker in line 2", mark)
	}
	c := contents()
	c.Notice = nil
	_, err := c.documents(nil)
	assert.ErrorContains(t, err, "is empty")
}

func TestUnknownLicenceFails(t *testing.T) {
	c := contents()
	c.Closure = append(c.Closure, maven.Artifact{Coordinates: maven.Coordinates{Group: "org.unheard", Artifact: "of", Version: "1"}})
	_, err := c.documents(nil)
	assert.ErrorContains(t, err, "org.unheard:of: its licence is not known")
}

func TestEveryLicenceOfTheLockIsKnown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "versions.lock"))
	require.NoError(t, err)
	lock, err := release.ReadLock(text, "versions.lock")
	require.NoError(t, err)
	for _, r := range lock.Releases {
		for use, list := range r.Uses {
			if !strings.HasPrefix(use, "classpath/") {
				continue
			}
			for _, a := range list {
				_, err := LicenseOf(a.Group, a.Artifact)
				assert.NoError(t, err)
			}
		}
	}
}

func TestPartsListHasPurlDigestAndLicenceOfEverything(t *testing.T) {
	c := contents()
	text, err := c.sbom()
	require.NoError(t, err)
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom))
	assert.Equal(t, cdx.SpecVersion1_6, bom.SpecVersion)
	assert.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, bom.SerialNumber)
	require.Len(t, *bom.Components, 2)
	for i, want := range []struct{ ref, sum, license string }{
		{"pkg:maven/org.apache.kafka/kafka_2.13@4.1.0#modified", c.Jars[0].SHA256, "Apache-2.0"},
		{"pkg:maven/com.github.luben/zstd-jni@1.5.6-10", c.Closure[1].SHA256, "BSD-2-Clause"},
	} {
		p := (*bom.Components)[i]
		assert.Equal(t, want.ref, p.BOMRef)
		assert.Equal(t, want.sum, (*p.Hashes)[0].Value)
		assert.Equal(t, want.license, (*p.Licenses)[0].Expression)
	}
	assert.Equal(t, c.Closure[0].SHA256, (*(*(*bom.Components)[0].Pedigree.Ancestors)[0].Hashes)[0].Value, "the changed jar names the one it was made from")
	again, err := c.sbom()
	require.NoError(t, err)
	assert.Equal(t, text, again)
}

func TestProvenanceComesBackAsWritten(t *testing.T) {
	c := contents()
	text, err := c.provenance()
	require.NoError(t, err)
	s, err := ReadProvenance(text)
	require.NoError(t, err)
	assert.Equal(t, "test", s.Tool())
	assert.Equal(t, External{Release: "4.1.0", Mode: "kraft", Scala: "2.13", Set: "base", Proof: "proven"}, s.Predicate.BuildDefinition.External)
	assert.Len(t, s.Subject, 2)
	assert.Len(t, s.Predicate.BuildDefinition.ResolvedDependencies, 2)
	c.Unproven, c.Foreign = true, true
	text, err = c.provenance()
	require.NoError(t, err)
	s, err = ReadProvenance(text)
	require.NoError(t, err)
	assert.Equal(t, "skipped", s.Predicate.BuildDefinition.External.Proof)
	assert.Equal(t, digest(c.Diff), s.Predicate.BuildDefinition.External.Patch)
	var raw map[string]any
	require.NoError(t, json.Unmarshal(text, &raw))
	raw["_type"] = "https://in-toto.io/Statement/v0.1"
	other, err := json.Marshal(raw)
	require.NoError(t, err)
	_, err = ReadProvenance(other)
	assert.ErrorContains(t, err, "expected _type")
}

func TestNothingWeSayUsesTheTrademarkAsAName(t *testing.T) {
	c := contents()
	files, err := c.documents(nil)
	require.NoError(t, err)
	files[PropertiesEntry] = c.properties()
	for name, text := range files {
		assert.NotContains(t, string(text), "Apache Kafka", name)
	}
}

func TestOutputsThatDifferForTheSameDiffFail(t *testing.T) {
	locked := LockedOutput{Generation: 1, Diff: "d", Jars: map[string]string{"a.jar": "1"}}
	o := Outputs{Targets: map[string]LockedOutput{"t": locked}}
	other := LockedOutput{Generation: 1, Diff: "d", Jars: map[string]string{"a.jar": "2"}}
	assert.NoError(t, o.Check("t", locked))
	assert.NoError(t, o.Check("new target", other))
	assert.Equal(t, exit.Proof, exit.Code(o.Check("t", other)))
	other.Diff = "another patch"
	assert.NoError(t, o.Check("t", other))

	dir := t.TempDir()
	require.NoError(t, o.Write(filepath.Join(dir, OutputsFile)))
	back, err := ReadOutputs(os.DirFS(dir))
	require.NoError(t, err)
	assert.Equal(t, o, back)
}
