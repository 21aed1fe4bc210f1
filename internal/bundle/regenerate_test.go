package bundle

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/exit"
	"observer-patch/internal/maven"
	"observer-patch/internal/proof"
	"observer-patch/internal/toolchain"
)

// made is a bundle of a release with one small jar, as fill writes it, and what it came from.
type made struct {
	spec    Spec
	modules []build.Module
	verdict *proof.Verdict
	dir     string
}

// makeSmall writes such a bundle without compiling anything.
func makeSmall(t *testing.T, foreign, unproven bool) made {
	t.Helper()
	c := contents()
	jar := filepath.Join(t.TempDir(), c.Jars[0].Name)
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, text := range map[string]string{"NOTICE": "Upstream\n", "LICENSE": "licence\n", "A.class": "a"} {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(jar, packed.Bytes(), 0o644))
	core := maven.Artifact{Coordinates: c.Closure[0].Coordinates, SHA256: digest(packed.Bytes()), Path: jar}

	body, err := c.Tree.Diff()
	require.NoError(t, err)
	m := made{dir: t.TempDir(), spec: Spec{Target: c.Target, Tree: c.Tree, Foreign: foreign, NoProof: unproven, Inputs: Artifacts{Classpath: []maven.Artifact{core}},
		JDK: toolchain.JDK{Version: "17.0.1", Pinned: true}, Tool: "1.0.0", Verifier: "1.0.0"}}
	m.spec.Diff = append([]byte(c.Tree.Header(c.Target, m.spec.Tool)), body...)
	classes := map[string][]byte{"A.class": []byte("patched"), "B.class": []byte("b")}
	m.modules = []build.Module{{Name: "core", Jar: build.Library{Path: jar, SHA256: core.SHA256}, Patched: build.Output{Classes: classes}}}
	m.modules[0].Changes.Put = classes
	m.verdict = &proof.Verdict{Level: classfile.Identical, Toolchain: []build.Toolchain{{Javac: "javac 17.0.1"}},
		Modules: []proof.Module{{Module: "core", Jar: core.Coordinates.File(), Methods: []proof.Method{{Entry: "A.class", Name: "a", Owners: []string{"hook"}}}}}}

	d, err := m.spec.contents()
	require.NoError(t, err)
	j, err := writeJar(&m.modules[0], core, "", d.properties(), m.dir)
	require.NoError(t, err)
	d.Jars = []Jar{j}
	v := m.verdict
	if unproven {
		v = nil
	}
	files, err := d.documents(v)
	require.NoError(t, err)
	files[NativesFile], err = nativesOf(d.Closure)
	require.NoError(t, err)
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(m.dir, name), text, 0o644))
	}
	return m
}

func (m made) check() error { return m.spec.regenerated(m.dir, m.spec.NoProof, m.modules, m.verdict) }

func TestABundleAsItWasMadeIsWhatVerifyWritesAgain(t *testing.T) {
	for name, flags := range map[string][2]bool{"hooks": {}, "somebody else's patch": {true, false}, "without a proof": {false, true}} {
		m := makeSmall(t, flags[0], flags[1])
		assert.NoError(t, m.check(), name)
		m.spec.JDK.Version, m.spec.JDK.Pinned = "17.0.2", false
		m.verdict.Toolchain[0].Javac = "javac 17.0.2"
		assert.NoError(t, m.check(), "%s, verified with another JDK", name)
	}
}

// Whoever forges a document can write new sums as well, so that these are left out here.
func TestEveryForgedDocumentIsFoundOut(t *testing.T) {
	whole := makeSmall(t, false, false)
	files, err := os.ReadDir(whole.dir)
	require.NoError(t, err)
	require.Len(t, files, 10)
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			m := makeSmall(t, false, false)
			path := filepath.Join(m.dir, f.Name())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, forged := range [][]byte{
				append(bytes.Clone(text), '\n'),
				bytes.Replace(text, []byte("4.1.0"), []byte("4.1.1"), 1),
				text[:len(text)/2],
			} {
				if bytes.Equal(forged, text) { // a text without the version in it
					continue
				}
				require.NoError(t, os.WriteFile(path, forged, 0o644))
				err := m.check()
				assert.ErrorContains(t, err, f.Name())
				assert.Equal(t, exit.Proof, exit.Code(err), "%v", err)
			}
		})
	}
}

func TestFilesThatAreMissingOrNoPartOfABundleAreFoundOut(t *testing.T) {
	m := makeSmall(t, false, false)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, "kafka-clients-4.1.0.jar"), []byte("x"), 0o644))
	err := m.check()
	assert.ErrorContains(t, err, "kafka-clients-4.1.0.jar is no part of a bundle")
	assert.Equal(t, exit.Proof, exit.Code(err))

	m = makeSmall(t, false, false)
	require.NoError(t, os.Remove(filepath.Join(m.dir, NoticeFile)))
	err = m.check()
	assert.ErrorContains(t, err, "NOTICE is missing")
	assert.Equal(t, exit.Proof, exit.Code(err))

	m = makeSmall(t, false, true)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, ProofFile), []byte("{}"), 0o644))
	assert.ErrorContains(t, m.check(), "proof.json is no part of a bundle", "nothing was proven")
}

func TestABundleOfOtherHooksIsComparedWithoutTheirNames(t *testing.T) {
	m := makeSmall(t, false, false)
	m.spec.Recovered = true
	for i := range m.spec.Tree.Files {
		m.spec.Tree.Files[i].Edits[0].Owner = m.spec.Tree.Files[i].Path + "#1"
	}
	m.verdict.Modules[0].Methods[0].Owners = []string{"A.scala#1"}
	assert.NoError(t, m.check())
	notice := filepath.Join(m.dir, NoticeFile)
	text, err := os.ReadFile(notice)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(notice, []byte(strings.Replace(string(text), "Upstream", "Somebody", 1)), 0o644))
	m.spec.Verifier = "2.0.0"
	err = m.check()
	assert.ErrorContains(t, err, `NOTICE is not what this tool writes: line 1: expected "Upstream", found "Somebody"`)
	assert.ErrorContains(t, err, "observer-patch 1.0.0 made it, this is 2.0.0")
}
