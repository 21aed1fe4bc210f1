package release_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/release"
)

func TestCoordinatesNameTheFileInARepository(t *testing.T) {
	for _, c := range []struct{ text, path string }{
		{"org.apache.kafka:kafka_2.13:4.1.0", "org/apache/kafka/kafka_2.13/4.1.0/kafka_2.13-4.1.0.jar"},
		{"org.apache.kafka:kafka_2.13:4.1.0:jar:sources", "org/apache/kafka/kafka_2.13/4.1.0/kafka_2.13-4.1.0-sources.jar"},
		{"g:a:1:pom", "g/a/1/a-1.pom"},
	} {
		got, err := release.ParseCoordinates(c.text)
		require.NoError(t, err)
		require.Equal(t, c.path, got.Path())
		require.Equal(t, c.text, got.String())
	}
}

func TestCoordinatesRefuseWhatCouldLeaveTheRepository(t *testing.T) {
	for _, text := range []string{"", "g:a", "g:a:", ":a:1", "g:a:1:jar:x:y", "g:../a:1", "g:a:..", "g:a/b:1", "g:a:1 2", "-Dx:a:1", "g:a:1:jar:..", "g:a:1\n:jar", ".g:a:1", "g..h:a:1", "g:ä:1"} {
		_, err := release.ParseCoordinates(text)
		require.Error(t, err, text)
	}
}

func FuzzParseCoordinates(f *testing.F) {
	f.Add("org.apache.kafka:kafka_2.13:4.1.0:jar:sources")
	f.Add("g:a:1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := release.ParseCoordinates(text)
		if err != nil {
			return
		}
		again, err := release.ParseCoordinates(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
		require.Equal(t, path.Clean(c.Path()), c.Path())
		require.False(t, strings.HasPrefix(c.Path(), "."), c.Path())
	})
}
