package install_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/install"
	"observer-patch/internal/install/installtest"
)

// noProcesses stands for a /proc without processes: looking through a real one takes long on
// a busy machine, and processes_test.go does it.
const noProcesses = "testdata/proc"

// site is a Kafka home with a bundle that fits it.
type site struct {
	t                *testing.T
	dir, home, dist  string
	log              strings.Builder
	original, change map[string]string // what libs has before and after
}

// newSite makes a site in memory where that is to be had: many small syncs take long on a busy disk.
func newSite(t *testing.T) *site {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return siteIn(t, t.TempDir())
	}
	dir, err := os.MkdirTemp(memory, "observer-patch-install-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return siteIn(t, dir)
}

func siteIn(t *testing.T, dir string) *site {
	t.Helper()
	s := &site{t: t, dir: dir, home: filepath.Join(dir, "kafka_2.13-4.1.0"), dist: filepath.Join(dir, "dist")}
	require.NoError(t, installtest.MakeHome(s.home))
	require.NoError(t, installtest.MakeBundle(s.dist, "1", "full", true))
	require.NoError(t, os.Chmod(s.lib(installtest.Core), 0o640))
	old := time.Date(2025, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, name := range []string{installtest.Core, installtest.Metadata} {
		require.NoError(t, os.Chtimes(s.lib(name), old, old))
	}
	s.original = s.libs()
	s.change = s.libs()
	for _, name := range []string{installtest.Core, installtest.Metadata} {
		s.change[name] = digest(t, filepath.Join(s.dist, name))
	}
	return s
}

func (s *site) lib(name string) string { return filepath.Join(s.home, "libs", name) }

// libs gives the SHA-256 of every file in libs.
func (s *site) libs() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(s.home, "libs"))
	require.NoError(s.t, err)
	for _, e := range entries {
		out[e.Name()] = digest(s.t, s.lib(e.Name()))
	}
	return out
}

func digest(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func (s *site) options() install.Options {
	s.log.Reset()
	return install.Options{Home: s.home, Dist: s.dist, Proc: noProcesses, Log: slog.New(slog.NewTextHandler(&s.log, nil))}
}

func (s *site) install() error {
	_, err := install.Install(s.t.Context(), s.options())
	return err
}

func (s *site) rollback() error {
	_, err := install.Rollback(s.t.Context(), s.options())
	return err
}

// snapshot gives everything below the home: mode, owner, time and content of files, mode of folders.
func (s *site) snapshot() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	require.NoError(s.t, filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		require.NoError(s.t, err)
		info, err := d.Info()
		require.NoError(s.t, err)
		out[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			uid, gid := ids(info)
			out[path] += fmt.Sprintf(" %d:%d %s %s", uid, gid, info.ModTime().UTC(), digest(s.t, path))
		}
		return nil
	}))
	return out
}

func TestInstallAndRollback(t *testing.T) {
	s := newSite(t)
	before := s.snapshot()

	o := s.options()
	o.DryRun = true
	rows, err := install.Install(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	assert.Equal(t, "would be swapped", rows[0].Action)
	assert.Equal(t, before, s.snapshot(), "a dry run changes nothing")

	began := time.Now().Add(-time.Second)
	rows, err = install.Install(t.Context(), s.options())
	require.NoError(t, err)
	assert.Equal(t, []string{installtest.Metadata, installtest.Core}, []string{rows[0].Name, rows[1].Name}, "core needs metadata, not the other way")
	assert.Equal(t, s.change, s.libs())
	for i, mode := range []fs.FileMode{0o644, 0o640} {
		info, err := os.Stat(s.lib(rows[i].Name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode())
		assert.True(t, info.ModTime().After(began), "the time is that of the installation")
		assert.Equal(t, s.original[rows[i].Name], digest(t, rows[i].Original))
		assert.NotEqual(t, filepath.Join(s.home, "libs"), filepath.Dir(rows[i].Original))
	}

	rows, err = install.Install(t.Context(), s.options())
	require.NoError(t, err, "the same bundle again")
	assert.Equal(t, "installed already", rows[0].Action)

	o = s.options()
	o.DryRun = true
	installed := s.snapshot()
	rows, err = install.Rollback(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, "would be put back", rows[0].Action)
	assert.Equal(t, installed, s.snapshot())

	require.NoError(t, s.rollback())
	assert.Equal(t, before, s.snapshot(), "bytes, mode, owner and time of every file are what they were")
	require.NoError(t, s.rollback(), "again: nothing to do")
	assert.Contains(t, s.log.String(), "nothing to undo")
	assert.Equal(t, before, s.snapshot())
}

func TestHomesAreFoundThroughLinks(t *testing.T) {
	s := newSite(t)
	link := filepath.Join(s.dir, "kafka")
	require.NoError(t, os.Symlink("kafka_2.13-4.1.0", link))
	o := s.options()
	o.Home = link
	_, err := install.Install(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, s.change, s.libs())
	require.NoError(t, s.rollback(), "by the other name")
	assert.Equal(t, s.original, s.libs())

	require.NoError(t, os.Rename(filepath.Join(s.home, "libs"), filepath.Join(s.dir, "shared")))
	require.NoError(t, os.Symlink("../shared", filepath.Join(s.home, "libs")))
	require.NoError(t, s.install())
	assert.Contains(t, s.log.String(), "outside the Kafka home")
	assert.Equal(t, s.change, s.libs())
	require.NoError(t, s.rollback())
	assert.Equal(t, s.original, s.libs())
}

// What does not fit is refused before anything changes.
func TestRefusals(t *testing.T) {
	type change map[string]string // entry → content, "" takes it out
	with := func(jar string, c change) func(*site) {
		return func(s *site) {
			entries := installtest.Release()[jar]
			for name, text := range c {
				if entries[name] = text; text == "" {
					delete(entries, name)
				}
			}
			require.NoError(s.t, installtest.WriteJar(s.lib(jar), entries, time.Now()))
		}
	}
	copyJar := func(from, to string) func(*site) {
		return func(s *site) {
			text, err := os.ReadFile(s.lib(from))
			require.NoError(s.t, err)
			require.NoError(s.t, os.WriteFile(s.lib(to), text, 0o644))
		}
	}
	rename := func(from, to string) func(*site) {
		return func(s *site) { require.NoError(s.t, os.Rename(s.lib(from), s.lib(to))) }
	}
	bundleOf := func(generation, set string, proven bool) func(*site) {
		return func(s *site) {
			require.NoError(s.t, os.RemoveAll(s.dist))
			require.NoError(s.t, installtest.MakeBundle(s.dist, generation, set, proven))
		}
	}
	both := func(list ...func(*site)) func(*site) {
		return func(s *site) {
			for _, f := range list {
				f(s)
			}
		}
	}
	for name, c := range map[string]struct {
		set  func(*site)
		code int
		says string
	}{
		"as released":                     {func(*site) {}, exit.Done, ""},
		"packed anew":                     {with(installtest.Core, nil), exit.Done, ""},
		"another manifest":                {with(installtest.Core, change{"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n"}), exit.Done, ""},
		"packed anew, bundle unproven":    {both(with(installtest.Core, nil), bundleOf("1", "full", false)), exit.Refused, "no proof to compare"},
		"as released, bundle unproven":    {bundleOf("1", "full", false), exit.Done, ""},
		"another class that is left":      {with(installtest.Core, change{"kafka/Kafka.class": "other"}), exit.Refused, "kafka/Kafka.class has other content"},
		"another class that is replaced":  {with(installtest.Core, change{"kafka/cluster/Partition.class": "other"}), exit.Refused, "Partition.class has other content"},
		"another class that is removed":   {with(installtest.Core, change{"kafka/cluster/Partition$1.class": "other"}), exit.Refused, "Partition$1.class has other content"},
		"a class more":                    {with(installtest.Core, change{"kafka/Extra.class": "x"}), exit.Refused, "kafka/Extra.class is there, which the release lacks"},
		"a class of ours":                 {with(installtest.Core, change{"kafka/observer/ObserverIds.class": "x"}), exit.Refused, "ObserverIds.class is there"},
		"a class less":                    {with(installtest.Core, change{"kafka/Kafka.class": ""}), exit.Refused, "kafka/Kafka.class is missing"},
		"another licence":                 {with(installtest.Core, change{"LICENSE": "other"}), exit.Refused, "LICENSE has other content"},
		"another release":                 {both(rename(installtest.Core, "kafka_2.13-4.1.1.jar"), rename(installtest.Metadata, "kafka-metadata-4.1.1.jar")), exit.Refused, "found kafka_2.13-4.1.1.jar: another release or Scala version"},
		"another Scala version":           {rename(installtest.Core, "kafka_2.12-4.1.0.jar"), exit.Refused, "found kafka_2.12-4.1.0.jar: another release or Scala version"},
		"no such jar":                     {func(s *site) { require.NoError(s.t, os.Remove(s.lib(installtest.Metadata))) }, exit.Refused, "found no such jar"},
		"a copy that is a jar":            {copyJar(installtest.Core, "kafka_2.13-4.1.0-old.jar"), exit.Refused, "2 files with the classes of kafka_2.13-4.1.0.jar"},
		"a copy named .bak":               {copyJar(installtest.Core, "kafka_2.13-4.1.0.jar.bak"), exit.Refused, "kafka_2.13-4.1.0.jar.bak"},
		"a copy named .bak.jar":           {copyJar(installtest.Metadata, "m.bak.jar"), exit.Refused, "m.bak.jar"},
		"a hidden copy on the wildcard":   {copyJar(installtest.Core, ".old.jar"), exit.Refused, ".old.jar"},
		"a hidden copy on no class path":  {copyJar(installtest.Core, ".kafka_2.13-4.1.0.jar.bak"), exit.Done, ""},
		"a file that is no jar":           {func(s *site) { require.NoError(s.t, os.WriteFile(s.lib("README"), []byte("text"), 0o644)) }, exit.Done, ""},
		"another release beside":          {copyJar(installtest.Metadata, "kafka-metadata-4.0.0.jar"), exit.Refused, "kafka-metadata-4.0.0.jar"},
		"no Kafka home":                   {func(s *site) { require.NoError(s.t, os.RemoveAll(filepath.Join(s.home, "libs"))) }, exit.Failed, "it has no folder libs"},
		"a bundle with another jar":       {func(s *site) { require.NoError(s.t, os.WriteFile(filepath.Join(s.dist, installtest.Core), nil, 0o644)) }, exit.Proof, "does not match its SHA256SUMS"},
		"a bundle with a file more":       {func(s *site) { require.NoError(s.t, os.WriteFile(filepath.Join(s.dist, "x"), nil, 0o644)) }, exit.Proof, "x is not expected"},
		"no bundle":                       {func(s *site) { require.NoError(s.t, os.RemoveAll(s.dist)) }, exit.Failed, "is no bundle"},
		"patched by hand":                 {func(s *site) { require.NoError(s.t, os.CopyFS(filepath.Join(s.home, "libs"), onlyJars(s))) }, exit.Refused, "is patched already: generation 1, set full"},
		"another set is installed":        {both(func(s *site) { require.NoError(s.t, s.install()) }, bundleOf("1", "base", true)), exit.Refused, "4.1.0, set full, mode kraft, Scala 2.13 is installed; run 'observer-patch rollback"},
		"changed since it was installed":  {both(func(s *site) { require.NoError(s.t, s.install()) }, with(installtest.Core, nil)), exit.Refused, "was changed since it was installed"},
		"the jar is a symbolic link":      {both(rename(installtest.Core, ".hidden"), func(s *site) { require.NoError(s.t, os.Symlink(".hidden", s.lib(installtest.Core))) }), exit.Refused, "is a symbolic link"},
		"a journal of a later version":    {journal(`{"version":2}`), exit.Refused, "has version 2, expected 1"},
		"a journal that leads outside":    {journal(`{"version":1,"phase":"installing","jars":[{"name":"../../x"}]}`), exit.Refused, "which is no file name"},
		"a journal that cannot be parsed": {journal(`{`), exit.Failed, "put the jars of its folder originals back into libs by hand, then remove"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c.set(s)
			before := s.snapshot()
			err := s.install()
			assert.Equal(t, c.code, exit.Code(err), "%v", err)
			if c.code == exit.Done {
				require.NoError(t, err)
				assert.Equal(t, s.change[installtest.Core], s.libs()[installtest.Core])
				return
			}
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, before, s.snapshot())
		})
	}
}

// onlyJars gives the changed jars of the bundle.
func onlyJars(s *site) fs.FS {
	dir := s.t.TempDir()
	for _, name := range []string{installtest.Core, installtest.Metadata} {
		text, err := os.ReadFile(filepath.Join(s.dist, name))
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
		require.NoError(s.t, os.Remove(s.lib(name)))
	}
	return os.DirFS(dir)
}

func journal(text string) func(*site) {
	return func(s *site) {
		require.NoError(s.t, os.MkdirAll(filepath.Join(s.home, ".observer-patch"), 0o755))
		require.NoError(s.t, os.WriteFile(filepath.Join(s.home, ".observer-patch", "state.json"), []byte(text), 0o644))
	}
}

func TestRollbackRefusesWhatItCannotUndo(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*site)
		says string
	}{
		"the installed jar was replaced": {func(s *site) { require.NoError(s.t, os.WriteFile(s.lib(installtest.Core), []byte("x"), 0o644)) }, "is neither the installed jar nor the original"},
		"the installed jar is gone":      {func(s *site) { require.NoError(s.t, os.Remove(s.lib(installtest.Core))) }, "no file"},
		"the original is damaged": {func(s *site) {
			require.NoError(s.t, os.WriteFile(filepath.Join(s.home, ".observer-patch", "originals", installtest.Core), []byte("x"), 0o644))
		}, "is damaged"},
		"the journal was removed": {func(s *site) { require.NoError(s.t, os.RemoveAll(filepath.Join(s.home, ".observer-patch"))) }, "keeps no original of it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			require.NoError(t, s.install())
			c.set(s)
			before := s.snapshot()
			err := s.rollback()
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, exit.Refused, exit.Code(err))
			assert.Equal(t, before, s.snapshot())
		})
	}
}
