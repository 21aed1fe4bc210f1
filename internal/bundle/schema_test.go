package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
)

// cycloneDX gives CycloneDX's own JSON schema of version 1.6, which the module that writes the
// parts list carries, with the two that it refers to.
func cycloneDX(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	require.NoError(t, err)
	read := func(name string) gojsonschema.JSONLoader {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema", name))
		require.NoError(t, err)
		return gojsonschema.NewBytesLoader(text)
	}
	const base = "http://cyclonedx.org/schema/"
	loader := gojsonschema.NewSchemaLoader()
	require.NoError(t, loader.AddSchema(base+"spdx.schema.json", read("spdx.schema.json")))
	require.NoError(t, loader.AddSchema(base+"jsf-0.82.schema.json", read("jsf-0.82.schemax.json")))
	schema, err := loader.Compile(read("bom-1.6.schema.json"))
	require.NoError(t, err)
	return schema
}

// statementSchema is written from the specifications, which publish no JSON schema: in-toto
// Attestation Framework v1 (Statement, ResourceDescriptor) and SLSA Provenance v1. It has what
// they require, and no field of the statement that they do not know.
const statementSchema = `{
  "definitions": {
    "uri": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:."},
    "digests": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+$"},
      "properties": {"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}},
    "resource": {"type": "object", "additionalProperties": false,
      "anyOf": [{"required": ["uri"]}, {"required": ["digest"]}, {"required": ["content"]}],
      "properties": {"name": {"type": "string"}, "uri": {"$ref": "#/definitions/uri"}, "digest": {"$ref": "#/definitions/digests"},
        "content": {"type": "string"}, "downloadLocation": {"$ref": "#/definitions/uri"}, "mediaType": {"type": "string"}, "annotations": {"type": "object"}}}
  },
  "type": "object", "additionalProperties": false, "required": ["_type", "subject", "predicateType", "predicate"],
  "properties": {
    "_type": {"const": "https://in-toto.io/Statement/v1"},
    "predicateType": {"const": "https://slsa.dev/provenance/v1"},
    "subject": {"type": "array", "minItems": 1,
      "items": {"allOf": [{"$ref": "#/definitions/resource"}, {"required": ["digest", "name"]}]}},
    "predicate": {"type": "object", "additionalProperties": false, "required": ["buildDefinition", "runDetails"],
      "properties": {
        "buildDefinition": {"type": "object", "additionalProperties": false, "required": ["buildType", "externalParameters"],
          "properties": {"buildType": {"$ref": "#/definitions/uri"}, "externalParameters": {"type": "object"}, "internalParameters": {"type": "object"},
            "resolvedDependencies": {"type": "array", "items": {"$ref": "#/definitions/resource"}}}},
        "runDetails": {"type": "object", "additionalProperties": false, "required": ["builder"],
          "properties": {
            "builder": {"type": "object", "additionalProperties": false, "required": ["id"],
              "properties": {"id": {"$ref": "#/definitions/uri"}, "version": {"type": "object"}, "builderDependencies": {"type": "array"}}},
            "metadata": {"type": "object"}, "byproducts": {"type": "array", "items": {"$ref": "#/definitions/resource"}}}}
      }}
  }
}`

func statements(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(statementSchema))
	require.NoError(t, err)
	return schema
}

func wrong(t *testing.T, schema *gojsonschema.Schema, text []byte) []string {
	t.Helper()
	result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
	require.NoError(t, err)
	list := []string{}
	for _, e := range result.Errors() {
		list = append(list, e.String())
	}
	return list
}

// Each document of finished bundles is held against its own schema, or read by the program
// that it is for, and a damaged one shows that the schema is really asked.
func TestEachDocumentIsValidByItsOwnSchema(t *testing.T) {
	parts, provenance := cycloneDX(t), statements(t)
	y := newYard(t, t.TempDir())
	keys := t.TempDir()
	key := filepath.Join(keys, "key")
	run(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	pub, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	allowed := filepath.Join(keys, "allowed")
	require.NoError(t, os.WriteFile(allowed, append([]byte("release "), pub...), 0o644))
	for name, foreign := range map[string]bool{"our hooks": false, "somebody else's patch": true} {
		t.Run(name, func(t *testing.T) {
			s := y.spec("one")
			s.Foreign, s.SignKey = foreign, key
			dir := filepath.Join(t.TempDir(), "x")
			_, err := Make(t.Context(), s, dir)
			require.NoError(t, err)
			files := contentOf(t, dir)
			assert.Empty(t, wrong(t, parts, []byte(files[SBOMFile])))
			assert.Empty(t, wrong(t, provenance, []byte(files[ProvenanceFile])))
			for _, damage := range [][3]string{{SBOMFile, `"SHA-256"`, `"SHA-255"`}, {SBOMFile, `"Apache-2.0"`, `7`}, {SBOMFile, `"specVersion"`, `"spec"`},
				{ProvenanceFile, `"_type"`, `"type"`}, {ProvenanceFile, `"buildType": "urn:`, `"buildType": " urn:`}, {ProvenanceFile, `"digest"`, `"digests"`}, {ProvenanceFile, `"id"`, `"name"`}} {
				schema := map[string]*gojsonschema.Schema{SBOMFile: parts, ProvenanceFile: provenance}[damage[0]]
				require.Contains(t, files[damage[0]], damage[1])
				assert.NotEmpty(t, wrong(t, schema, []byte(strings.Replace(files[damage[0]], damage[1], damage[2], 1))), "%v", damage)
			}

			// Every file but the sums and their signature is listed, and sha256sum agrees.
			listed := strings.Count(run(t, dir, "sha256sum", "--strict", "-c", SumsFile), ": OK\n")
			assert.Equal(t, len(files)-2, listed)
			verify := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "release", "-n", "observer-patch", "-s", filepath.Join(dir, SignatureFile))
			verify.Stdin = strings.NewReader(files[SumsFile])
			out, err := verify.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "Good")

			// Upstream's own licence and notice are the only texts that may use the name.
			for file, text := range files {
				assert.NotContains(t, file, "apache")
				if file != LicenseFile && file != NoticeFile && filepath.Ext(file) != ".jar" {
					assert.NotContains(t, strings.ToLower(text), "apache kafka", file)
				}
			}
			_, ours, found := strings.Cut(files[NoticeFile], "\n----\n")
			assert.True(t, found)
			assert.NotContains(t, strings.ToLower(ours), "apache kafka")
		})
	}
}

func run(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	require.NoError(t, cmd.Run(), "%s", &out)
	return out.String()
}

// Every file that goes into upstream's tree says whose it is and under which licence.
func TestOurFilesHaveALicenceHeader(t *testing.T) {
	count := 0
	root := filepath.Join("..", "..", "patches", "new")
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		head, _, _ := strings.Cut(string(text), "*/")
		assert.Contains(t, head, "Copyright the observer-patch authors.", path)
		assert.Contains(t, head, "SPDX-License-Identifier: Apache-2.0", path)
		assert.Contains(t, head, "not a file of upstream", path)
		count++
		return err
	}))
	assert.Greater(t, count, 5)
}
