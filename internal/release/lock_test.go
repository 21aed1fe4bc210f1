package release_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
	"observer-patch/internal/release"
)

var (
	digestA = strings.Repeat("a", 64)
	digestB = strings.Repeat("0", 64)
)

func smallLock() string {
	return `releases:
  3.7.1:
    commit-prefix: "1234567890123456"
    javac: 17
    scalac:
      "2.13": 2.13.12
    uses:
      classpath/2.13:
      - g:core:1
      - g:lib:2
      lab/2.13:
      - +classpath/2.13
      - g:tools:1
      source:
      - g:core:1:jar:sources
artifacts:
  g:core:1: ` + digestA + ` 10
  g:core:1:jar:sources: ` + digestB + ` 11
  g:lib:2: ` + digestA + ` 12
  g:tools:1: ` + digestB + ` 13
`
}

func TestLockGivesTheFilesOfAUseInItsOrder(t *testing.T) {
	l, err := release.ReadLock([]byte(smallLock()), "versions.lock")
	require.NoError(t, err)
	require.Equal(t, "1234567890123456", l.Releases["3.7.1"].CommitPrefix)
	require.Equal(t, 17, l.Releases["3.7.1"].Javac)
	require.Equal(t, "2.13.12", l.Releases["3.7.1"].Scalac["2.13"])
	files, err := l.Artifacts("3.7.1", "lab/2.13")
	require.NoError(t, err)
	var got []string
	for _, f := range files {
		got = append(got, f.Coordinates.String())
	}
	require.Equal(t, []string{"g:core:1", "g:lib:2", "g:tools:1"}, got)
	require.Equal(t, digestB, files[2].SHA256)
	require.EqualValues(t, 13, files[2].Size)
}

func TestLockSaysWhatItLacks(t *testing.T) {
	l, err := release.ReadLock([]byte(smallLock()), "versions.lock")
	require.NoError(t, err)
	_, err = l.Artifacts("4.1.0", "source")
	require.ErrorContains(t, err, "release 4.1.0 is not in versions.lock")
	_, err = l.Artifacts("3.7.1", "scalac/2.12")
	require.ErrorContains(t, err, `no use "scalac/2.12" in versions.lock; it has classpath/2.13, lab/2.13, source`)
}

func TestLockIsWrittenAsItWasRead(t *testing.T) {
	l, err := release.ReadLock([]byte(smallLock()), "versions.lock")
	require.NoError(t, err)
	text := string(l.Format())
	require.True(t, strings.HasSuffix(text, smallLock()), text)
	again, err := release.ReadLock([]byte(text), "versions.lock")
	require.NoError(t, err)
	require.Equal(t, l, again)
}

func TestReadLockRefusesMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"    javac: 17", "    javac: 17\n    jdk: 17", "[5:5] unknown field"},
		{"javac: 17", "javac: 0", "javac 0"},
		{"  3.7.1:", "  3.7:", "release 3.7: expected a version"},
		{"1234567890123456", "12345z", "commit-prefix"},
		{"    javac: 17", "    commit: \"" + digestA[:40] + "\"\n    javac: 17", "does not begin with"},
		{"      - g:lib:2", "      - g:lib:3", "use classpath/2.13: g:lib:3 has no digest"},
		{"      - g:lib:2", "      - g:core:1", "stands twice"},
		{"+classpath/2.13", "+classpath/2.12", "no such use"},
		{"      - g:tools:1", "      - +source", "expected"},
		{"      source:", "      sources:", "use sources: expected source, test"},
		{digestA + " 10", digestA[1:] + " 10", "expected 64 lower-case"},
		{digestA + " 10", strings.ToUpper(digestA) + " 10", "expected 64 lower-case"},
		{digestA + " 10", digestA, "the size in bytes"},
		{"g:core:1:jar:sources: ", "g:core:1:jar:../x: ", "expected a name"},
		{"g:tools:1: " + digestB, "g:tools:1:jar: " + digestB, "has no digest"},
	} {
		require.Contains(t, smallLock(), c.old)
		text := strings.Replace(smallLock(), c.old, c.new, 1)
		if c.want == "has no digest" {
			// The long and the short form of the same coordinates are the same file.
			_, err := release.ReadLock([]byte(text), "l")
			require.NoError(t, err)
			continue
		}
		_, err := release.ReadLock([]byte(text), "l")
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "l:")
	}
	twice := strings.Replace(smallLock(), "  g:tools:1: ", "  g:core:1:jar: "+digestB+" 1\n  g:tools:1: ", 1)
	_, err := release.ReadLock([]byte(twice), "l")
	require.ErrorContains(t, err, "g:core:1 stands twice")
}

func TestLockOnlyAdds(t *testing.T) {
	l, err := release.ReadLock([]byte(smallLock()), "versions.lock")
	require.NoError(t, err)
	core := release.Coordinates{Group: "g", Artifact: "core", Version: "1", Extension: "jar"}
	other := release.Coordinates{Group: "g", Artifact: "core", Version: "2", Extension: "jar"}

	require.NoError(t, l.Add(core, release.Digest{SHA256: digestA, Size: 10}))
	err = l.Add(core, release.Digest{SHA256: digestB, Size: 10})
	require.ErrorContains(t, err, "published files do not change")
	require.Equal(t, exit.Proof, exit.Code(err))
	require.Equal(t, digestA, l.Digests[core].SHA256)
	require.NoError(t, l.Add(other, release.Digest{SHA256: digestB, Size: 3}))

	require.NoError(t, l.Put("3.7.1", "module/2.13", []release.Coordinates{core}))
	err = l.Put("3.7.1", "module/2.13", []release.Coordinates{other})
	require.ErrorContains(t, err, "only there [g:core:1], only here [g:core:2]")
	require.Equal(t, exit.Proof, exit.Code(err))
}

func FuzzReadLock(f *testing.F) {
	f.Add([]byte(smallLock()))
	f.Add([]byte("releases: {}\nartifacts: {}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := release.ReadLock(text, "fuzz")
		if err != nil {
			return
		}
		again, err := release.ReadLock(l.Format(), "again")
		require.NoError(t, err, string(l.Format()))
		require.Equal(t, string(l.Format()), string(again.Format()))
	})
}
