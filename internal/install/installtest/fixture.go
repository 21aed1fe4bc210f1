// Package installtest makes small Kafka homes and bundles for tests: jars with a few entries
// in the places of the real ones, in the form that internal/bundle writes.
package installtest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"observer-patch/internal/bundle"
	"observer-patch/internal/proof"
)

// Names of the jars that are made.
const (
	Core     = "kafka_2.13-4.1.0.jar"
	Metadata = "kafka-metadata-4.1.0.jar"
	Clients  = "kafka-clients-4.1.0.jar"
)

// Contents are the entries of a jar by name.
type Contents map[string]string

// Bulk is how many random bytes each core and metadata jar carries, so that copying takes time.
const Bulk = 128 << 10

func bulk(seed uint64) string {
	b := make([]byte, Bulk)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(b) // never fails
	return string(b)
}

// Release gives the entries of the release's jars by file name.
func Release() map[string]Contents {
	manifest := "Manifest-Version: 1.0\r\nVersion: 4.1.0\r\n\r\n"
	return map[string]Contents{
		Core: {"META-INF/MANIFEST.MF": manifest, "LICENSE": "licence", "kafka/Kafka.class": "main",
			"kafka/cluster/Partition.class": "partition", "kafka/cluster/Partition$1.class": "nested", "bulk": bulk(1)},
		Metadata: {"META-INF/MANIFEST.MF": manifest, "org/apache/kafka/controller/ReplicationControlManager.class": "controller",
			"org/apache/kafka/image/MetadataImage.class": "image", "bulk": bulk(2)},
		Clients: {"META-INF/MANIFEST.MF": manifest, "org/apache/kafka/clients/KafkaClient.class": "client"},
	}
}

// Changed gives the entries of the bundle's jars: one class replaced and one added in each,
// one removed from core. The generation is in the properties.
func Changed(generation, set string) map[string]Contents {
	out := Release()
	delete(out, Clients)
	properties := fmt.Sprintf("# changed\ngeneration=%s\nset=%s\nmode=kraft\nrelease=4.1.0\nscala=2.13\nhooks=ids\nhooks.sha256=%064d\n", generation, set, 7)
	for _, c := range out {
		c[bundle.PropertiesEntry] = properties
	}
	out[Core]["kafka/cluster/Partition.class"] = "partition with hooks " + generation + set
	out[Core]["kafka/observer/ObserverIds.class"] = "facade"
	delete(out[Core], "kafka/cluster/Partition$1.class")
	out[Metadata]["org/apache/kafka/controller/ReplicationControlManager.class"] = "controller with hooks " + generation + set
	out[Metadata]["org/apache/kafka/controller/ObserverReplicas.class"] = "reader"
	return out
}

// WriteJar packs entries, sorted by name, with a time.
func WriteJar(path string, entries Contents, at time.Time) error {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(entries[name])); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

var packed = time.Date(2025, 9, 2, 0, 0, 0, 0, time.UTC)

// MakeHome makes a Kafka home of the release.
func MakeHome(dir string) error {
	for _, sub := range []string{"libs", "bin", "config"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	for name, entries := range Release() {
		if err := WriteJar(filepath.Join(dir, "libs", name), entries, packed); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "config", "server.properties"), []byte("process.roles=broker,controller\n"), 0o644)
}

// MakeBundle makes a bundle that fits MakeHome's home; without proof.json when it is not proven.
func MakeBundle(dir, generation, set string, proven bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	release, files := Release(), map[string][]byte{
		bundle.DiffFile: []byte("a diff\n"), bundle.NoticeFile: []byte("a notice\n"), bundle.SBOMFile: []byte("{}\n"),
	}
	s := bundle.Statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	d := &s.Predicate.BuildDefinition
	d.BuildType = "urn:observer-patch:build:overlay:1"
	d.External = bundle.External{Release: "4.1.0", Mode: "kraft", Scala: "2.13", Set: set, Proof: "proven"}
	d.Internal.HooksSHA256 = sum(files[bundle.DiffFile])["sha256"]
	var v struct {
		Modules []module `json:"modules"`
	}
	changed := Changed(generation, set)
	for _, name := range []string{Metadata, Core} {
		path := filepath.Join(dir, name)
		if err := WriteJar(path, release[name], packed); err != nil {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		artifact := strings.TrimSuffix(name, "-4.1.0.jar")
		d.ResolvedDependencies = append(d.ResolvedDependencies, bundle.Resource{URI: "pkg:maven/org.apache.kafka/" + artifact + "@4.1.0", Digest: sum(before)})
		if err := WriteJar(path, changed[name], packed); err != nil {
			return err
		}
		after, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, bundle.Resource{Name: name, Digest: sum(after)})
		files[name] = after
		v.Modules = append(v.Modules, module{name, entries(release[name], changed[name])})
	}
	var err error
	if files[bundle.ProvenanceFile], err = json.Marshal(s); err != nil {
		return err
	}
	if proven {
		if files[bundle.ProofFile], err = json.Marshal(v); err != nil {
			return err
		}
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%s  %s\n", sum(files[name])["sha256"], name)
	}
	files[bundle.SumsFile] = []byte(sums.String())
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type module struct {
	Jar     string        `json:"jar"`
	Entries proof.Entries `json:"entries"`
}

func entries(before, after Contents) proof.Entries {
	e := proof.Entries{}
	for name, text := range before {
		c := proof.Change{Entry: name, ReleaseSHA256: sum([]byte(text))["sha256"]}
		switch now, ok := after[name]; {
		case !ok:
			e.Removed = append(e.Removed, c)
		case now != text:
			e.Replaced = append(e.Replaced, c)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			e.Added = append(e.Added, proof.Change{Entry: name})
		}
	}
	return e
}

func sum(b []byte) map[string]string {
	s := sha256.Sum256(b)
	return map[string]string{"sha256": hex.EncodeToString(s[:])}
}
