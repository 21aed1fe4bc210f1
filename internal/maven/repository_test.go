package maven

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocalRepositoriesFollowOptionsAndSettings(t *testing.T) {
	home := t.TempDir()
	getenv := func(more map[string]string) func(string) string {
		return func(name string) string {
			if name == "HOME" {
				return home
			}
			return more[name]
		}
	}
	standard := filepath.Join(home, ".m2", "repository")
	require.Equal(t, []string{standard}, LocalRepositories(getenv(nil)))
	require.Equal(t, []string{"/x", standard}, LocalRepositories(getenv(map[string]string{"MAVEN_OPTS": "-Xmx1g -Dmaven.repo.local=/x"})))

	require.NoError(t, os.MkdirAll(filepath.Join(home, ".m2"), 0o755))
	for settings, want := range map[string][]string{
		`<settings><localRepository>/y</localRepository></settings>`:              {"/y", standard},
		`<settings><localRepository>${user.home}/r</localRepository></settings>`:  {filepath.Join(home, "r"), standard},
		`<settings><localRepository> ${env.REPO}/r </localRepository></settings>`: {"/env/r", standard},
		`<settings><localRepository>${unknown}/r</localRepository></settings>`:    {standard},
		`<settings><offline>true</offline></settings>`:                            {standard},
		`<settings><localRepository>/y`:                                           {standard},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".m2", "settings.xml"), []byte(settings), 0o644))
		require.Equal(t, want, LocalRepositories(getenv(map[string]string{"REPO": "/env"})), settings)
	}
}

func TestParsePathReadsTheLayoutOfARepository(t *testing.T) {
	for path, want := range map[string]string{
		"org/apache/kafka/kafka_2.13/4.1.0/kafka_2.13-4.1.0.jar":         "org.apache.kafka:kafka_2.13:4.1.0",
		"org/apache/kafka/kafka_2.13/4.1.0/kafka_2.13-4.1.0-sources.jar": "org.apache.kafka:kafka_2.13:4.1.0:jar:sources",
		"org/jline/jline/3.27.1/jline-3.27.1-jdk8.jar":                   "org.jline:jline:3.27.1:jar:jdk8",
	} {
		got, err := parsePath(path)
		require.NoError(t, err)
		require.Equal(t, want, got.String())
	}
	for _, path := range []string{"", "a.jar", "g/a/1/b-1.jar", "g/a/1/a-2.jar", "/g/a/1/a-1.jarx/y"} {
		_, err := parsePath(path)
		require.Error(t, err, path)
	}
}
