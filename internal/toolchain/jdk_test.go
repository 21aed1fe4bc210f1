package toolchain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/exit"
)

// fakeJDK makes a folder that looks like a JDK of that version.
func fakeJDK(t *testing.T, dir, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "javac"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "release"), []byte("IMPLEMENTOR=\"Maker\"\nJAVA_VERSION=\""+version+"\"\nSOURCE=\"x\"\n"), 0o644))
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return real
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestFindJDKTakesTheFirstOfThePinnedVersion(t *testing.T) {
	root := t.TempDir()
	j25 := fakeJDK(t, filepath.Join(root, "home25"), "25.0.3")
	j17 := fakeJDK(t, filepath.Join(root, "home17"), "17.0.15")
	jvm17 := fakeJDK(t, filepath.Join(root, "jvm", "java-17"), "17.0.2")
	path17 := fakeJDK(t, filepath.Join(root, "path17"), "17.0.9")
	fakeJDK(t, filepath.Join(root, "jvm", "java-8"), "1.8.0_412")
	links := filepath.Join(root, "links")
	require.NoError(t, os.Mkdir(links, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(path17, "bin", "javac"), filepath.Join(links, "javac")))
	require.NoError(t, os.Symlink(jvm17, filepath.Join(root, "jvm", "default")))
	patterns := []string{filepath.Join(root, "jvm", "*"), filepath.Join(root, "nothing", "*")}

	for name, c := range map[string]struct {
		env   map[string]string
		major int
		want  string
	}{
		"JAVA_HOME first":                     {map[string]string{"JAVA_HOME": j17, "PATH": links}, 17, j17},
		"JAVA_HOME of another version":        {map[string]string{"JAVA_HOME": j25, "PATH": links}, 17, path17},
		"javac on PATH is a link":             {map[string]string{"PATH": links}, 17, path17},
		"known folders":                       {map[string]string{"PATH": root}, 17, jvm17},
		"JAVA_HOME that is not there":         {map[string]string{"JAVA_HOME": root + "/none"}, 17, jvm17},
		"the old form of the version (1.8)":   {nil, 8, filepath.Join(root, "jvm", "java-8")},
		"another pin takes another JAVA_HOME": {map[string]string{"JAVA_HOME": j25}, 25, j25},
	} {
		t.Run(name, func(t *testing.T) {
			jdk, err := findJDK(Want{Major: c.major}, env(c.env), patterns)
			require.NoError(t, err)
			want, err := filepath.EvalSymlinks(c.want)
			require.NoError(t, err)
			require.Equal(t, want, jdk.Home)
			require.Equal(t, c.major, jdk.Major)
			require.True(t, jdk.Pinned)
			require.Equal(t, "Maker", jdk.Vendor)
			require.Equal(t, filepath.Join(want, "bin", "javac"), jdk.Tool("javac"))
		})
	}
}

func TestFindJDKSaysWhatItLookedAt(t *testing.T) {
	root := t.TempDir()
	fakeJDK(t, filepath.Join(root, "jvm", "java-25"), "25.0.3")
	fakeJDK(t, filepath.Join(root, "jvm", "odd"), "early")
	_, err := findJDK(Want{Major: 17}, env(nil), []string{filepath.Join(root, "jvm", "*")})
	require.ErrorContains(t, err, "no JDK 17")
	require.ErrorContains(t, err, "JDK 25.0.3 Maker in ")
	require.ErrorContains(t, err, `JAVA_VERSION "early"`)
	require.ErrorContains(t, err, "--jdk DIR")
	_, err = findJDK(Want{Major: 17}, env(nil), nil)
	require.ErrorContains(t, err, "found none at all")
}

func TestFindJDKTakesAGivenHomeOfAnotherVersionOnlyWhenTold(t *testing.T) {
	root := t.TempDir()
	j25 := fakeJDK(t, filepath.Join(root, "j25"), "25.0.3")
	fakeJDK(t, filepath.Join(root, "jvm", "java-17"), "17.0.15")
	patterns := []string{filepath.Join(root, "jvm", "*")}

	_, err := findJDK(Want{Major: 17, Home: j25}, env(nil), patterns)
	require.ErrorContains(t, err, "expected JDK 17, which the lock pins, found 25.0.3")
	require.Equal(t, exit.Usage, exit.Code(err))

	jdk, err := findJDK(Want{Major: 17, Home: j25, AnyVersion: true}, env(nil), patterns)
	require.NoError(t, err)
	require.Equal(t, 25, jdk.Major)
	require.False(t, jdk.Pinned)

	_, err = findJDK(Want{Major: 17, Home: root}, env(nil), patterns)
	require.ErrorContains(t, err, "is no JDK: expected bin/javac")
	require.Equal(t, exit.Usage, exit.Code(err))
}

func TestFindJDKFindsTheOneThatBuildsKafkaHere(t *testing.T) {
	jdk, err := FindJDK(Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	require.True(t, jdk.Pinned)
	require.FileExists(t, jdk.Tool("javac"))
}
