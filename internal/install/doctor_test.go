package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/install"
	"observer-patch/internal/install/installtest"
)

// examine runs doctor with an identity file and no environment.
func (s *site) examine(ids string) *install.Report {
	s.t.Helper()
	r, err := install.Examine(s.t.Context(), install.Examination{Home: s.home, IDsFile: ids, Proc: noProcesses, Getenv: func(string) string { return "" }})
	require.NoError(s.t, err)
	return r
}

func codes(r *install.Report) []string {
	list := []string{}
	for _, f := range r.Findings {
		list = append(list, string(f.Severity)+" "+f.Code)
	}
	return list
}

func TestDoctorFindings(t *testing.T) {
	installed := func(s *site) { require.NoError(s.t, s.install()) }
	put := func(jar, generation, set string) func(*site) {
		return func(s *site) {
			other := filepath.Join(s.dir, "other")
			require.NoError(s.t, installtest.MakeBundle(other, generation, set, true))
			text, err := os.ReadFile(filepath.Join(other, jar))
			require.NoError(s.t, err)
			require.NoError(s.t, os.WriteFile(s.lib(jar), text, 0o644))
		}
	}
	write := func(path, text string) func(*site) {
		return func(s *site) {
			path := filepath.Join(s.dir, path)
			require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	chmod := func(path string, mode os.FileMode) func(*site) {
		return func(s *site) { require.NoError(s.t, os.Chmod(filepath.Join(s.dir, path), mode)) }
	}
	const ids, reader = "etc/observer.ids", "note reader-unknown"
	for name, c := range map[string]struct {
		set  []func(*site)
		ids  string // below the site; empty for the default
		want []string
	}{
		"unpatched":                 {nil, "", []string{}},
		"installed, not enabled":    {[]func(*site){installed}, "", []string{"note not-enabled", "note controller-without-ids"}},
		"the named file is missing": {[]func(*site){installed}, ids, []string{"warning ids-file-missing", "warning controller-without-ids"}},
		"enabled":                   {[]func(*site){installed, write(ids, "4\n")}, ids, []string{reader}},
		"switched off":              {[]func(*site){installed, write(ids, "# nobody\n")}, ids, []string{reader}},
		"no id among the tokens":    {[]func(*site){installed, write(ids, "four\n")}, ids, []string{"error ids-file-unusable", reader}},
		"a token that is no id":     {[]func(*site){installed, write(ids, "4 five\n")}, ids, []string{"warning ids-file-tokens", reader}},
		"a folder":                  {[]func(*site){installed, write(ids+"/x", "")}, ids, []string{"error ids-file-unusable"}},
		"others may write":          {[]func(*site){installed, write(ids, "4"), chmod(ids, 0o666)}, ids, []string{"warning ids-file-writable", reader}},
		"inside the versioned home": {[]func(*site){installed, write("kafka_2.13-4.1.0/observer.ids", "4")}, "kafka_2.13-4.1.0/observer.ids", []string{"warning ids-file-in-home", reader}},
		"core only":                 {[]func(*site){put(installtest.Core, "1", "full")}, "", []string{"error half-patched", "note no-journal", "note not-enabled", "note controller-without-ids"}},
		"metadata only":             {[]func(*site){put(installtest.Metadata, "1", "full")}, "", []string{"error half-patched", "note no-journal", "note not-enabled", "note controller-without-ids"}},
		"came with the image":       {[]func(*site){put(installtest.Core, "1", "full"), put(installtest.Metadata, "1", "full")}, "", []string{"note no-journal", "note not-enabled", "note controller-without-ids"}},
		"two generations":           {[]func(*site){put(installtest.Core, "1", "full"), put(installtest.Metadata, "2", "full")}, "", []string{"error mixed-patches", "note no-journal", "note not-enabled", "note controller-without-ids"}},
		"two sets":                  {[]func(*site){installed, put(installtest.Metadata, "1", "base")}, "", []string{"error mixed-patches", "error changed-since", "note not-enabled", "note controller-without-ids"}},
		"a jar put back by hand": {[]func(*site){installed, func(s *site) {
			require.NoError(s.t, installtest.WriteJar(s.lib(installtest.Core), installtest.Release()[installtest.Core], released))
		}}, "", []string{"error half-patched", "error changed-since", "note not-enabled", "note controller-without-ids"}},
		"a second core": {[]func(*site){func(s *site) {
			require.NoError(s.t, installtest.WriteJar(s.lib("kafka_2.13-4.0.0.jar"), installtest.Release()[installtest.Core], released))
		}}, "", []string{"error duplicate-jar"}},
		"a jar of another release": {[]func(*site){installed, func(s *site) { require.NoError(s.t, os.Rename(s.lib(installtest.Core), s.lib("kafka_2.13-4.1.1.jar"))) }}, "", []string{"error other-release", "error changed-since", "note not-enabled", "note controller-without-ids"}},
		"no metadata":              {[]func(*site){func(s *site) { require.NoError(s.t, os.Remove(s.lib(installtest.Metadata))) }}, "", []string{"error no-metadata"}},
		"the original is gone": {[]func(*site){installed, func(s *site) {
			require.NoError(s.t, os.Remove(filepath.Join(s.home, ".observer-patch/originals", installtest.Core)))
		}}, "", []string{"warning original-damaged", "note not-enabled", "note controller-without-ids"}},
		"a staged jar without journal":  {[]func(*site){func(s *site) { require.NoError(s.t, os.WriteFile(s.lib(".observer-patch-x.jar.new"), nil, 0o644)) }}, "", []string{"warning leftover"}},
		"a ZooKeeper configuration":     {[]func(*site){installed, write(ids, "4"), write("kafka_2.13-4.1.0/config/server.properties", "zookeeper.connect = localhost:2181\n")}, ids, []string{reader, "note other-mode"}},
		"only a broker's configuration": {[]func(*site){installed, write("kafka_2.13-4.1.0/config/server.properties", "#process.roles=controller\nprocess.roles=broker\n")}, "", []string{"note not-enabled"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			for _, f := range c.set {
				f(s)
			}
			before := s.snapshot()
			path := c.ids
			if path != "" {
				path = filepath.Join(s.dir, path)
			}
			r := s.examine(path)
			assert.Equal(t, c.want, codes(r))
			assert.Equal(t, before, s.snapshot(), "doctor changes nothing")
		})
	}
}

func TestDoctorTakesTheEnvironment(t *testing.T) {
	s := newSite(t)
	require.NoError(t, s.install())
	file := filepath.Join(s.dir, "ids")
	env := map[string]string{"KAFKA_OBSERVER_IDS_FILE": file, "KAFKA_OBSERVER_BROKER_IDS": "7 5"}
	x := install.Examination{Home: s.home, Proc: noProcesses, Getenv: func(name string) string { return env[name] }}
	r, err := install.Examine(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, &install.Identity{File: file, State: "absent", IDs: []int32{5, 7}}, r.IDs)
	assert.Equal(t, []string{"warning ids-file-missing"}, codes(r), "the variable is the net under the missing file")

	env["KAFKA_OBSERVER_STRICT"] = "true"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	r, err = install.Examine(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, "stale", r.IDs.State)
	assert.Contains(t, codes(r), "error ids-file-unusable")
	require.NoError(t, os.WriteFile(file, []byte("none"), 0o600))
	r, err = install.Examine(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, "ok", r.IDs.State)
	assert.True(t, r.Healthy(), "%v", r.Findings)
}
