package build

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/patch"
	"observer-patch/internal/toolchain"
)

func tools(t *testing.T) Tools {
	t.Helper()
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	return Tools{JDK: jdk, Getenv: os.Getenv, Temp: t.TempDir()}
}

func javaUnit(texts ...string) Unit {
	u := Unit{Module: "metadata", Options: Options{Release: 17, JavaFlags: []string{"-g", "-Xlint:all", "--release", "17"}}}
	for i, text := range texts {
		u.Files = append(u.Files, Source{Path: "metadata/src/main/java/a/" + string(rune('A'+i)) + ".java", Text: []byte(text)})
	}
	return u
}

func TestCompilingDependsOnTheUnitAlone(t *testing.T) {
	u := javaUnit("package a; class A { int b = B.x; }", "package a; class B { static int x = 1; class In {} }")
	first, err := Compile(context.Background(), tools(t), u)
	require.NoError(t, err)
	assert.Len(t, first.Classes, 3)
	other := tools(t)
	other.Getenv = func(name string) string {
		return map[string]string{"HOME": "/nowhere", "PATH": os.Getenv("PATH"), "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8", "JAVA_TOOL_OPTIONS": "-Dfoo"}[name]
	}
	second, err := Compile(context.Background(), other, u)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	left, err := os.ReadDir(other.Temp)
	require.NoError(t, err)
	assert.Empty(t, left, "private folders are gone")
}

func TestCompileErrorsKeepUpstreamsPathAndLine(t *testing.T) {
	_, err := Compile(context.Background(), tools(t), javaUnit("package a;\nclass A { int b = nothing; }"))
	var failed *Failed
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Diagnostics, 1)
	d := failed.Diagnostics[0]
	assert.Equal(t, "metadata/src/main/java/a/A.java", d.Path)
	assert.Equal(t, 2, d.Line)
	assert.Contains(t, d.Message, "cannot find symbol")
}

func TestAheadClassesHideTheClassPath(t *testing.T) {
	base, err := Compile(context.Background(), tools(t), javaUnit("package a; public class A { public static int old() { return 1; } }"))
	require.NoError(t, err)
	u := javaUnit("package a; class B { int x = A.old(); }")
	u.Files[0].Path = "metadata/src/main/java/a/B.java"
	_, err = Compile(context.Background(), tools(t), u)
	assert.Error(t, err, "without A there is nothing to compile against")
	u.Ahead = base.Classes
	out, err := Compile(context.Background(), tools(t), u)
	require.NoError(t, err)
	assert.Contains(t, out.Classes, "a/B.class")
	assert.NotContains(t, out.Classes, "a/A.class")
}

func TestSourcesThatLeaveTheirFolderAreRefused(t *testing.T) {
	u := javaUnit("class A {}")
	u.Files[0].Path = "../../A.java"
	_, err := Compile(context.Background(), tools(t), u)
	assert.ErrorContains(t, err, "leaves its folder")
}

func TestMemoIsUsedOnlyForTheSameUnitAndNeverWhenDamaged(t *testing.T) {
	ctx, m, tl := context.Background(), Memo{Dir: filepath.Join(t.TempDir(), "compiled")}, tools(t)
	u := javaUnit("package a; class A { int x = 1; }")
	first, kept, err := m.Compile(ctx, tl, u)
	require.NoError(t, err)
	assert.False(t, kept)
	again, kept, err := m.Compile(ctx, tl, u)
	require.NoError(t, err)
	assert.True(t, kept)
	assert.Equal(t, first, again)

	for name, change := range map[string]func(*Unit){
		"text":       func(u *Unit) { u.Files[0].Text = []byte("package a; class A { int x = 2; }") },
		"path":       func(u *Unit) { u.Files[0].Path = "metadata/src/main/java/b/A.java" },
		"option":     func(u *Unit) { u.Options.JavaFlags = append([]string{"-parameters"}, u.Options.JavaFlags...) },
		"dependency": func(u *Unit) { u.Classpath = []Library{{Path: "/x.jar", SHA256: "1"}} },
		"ahead":      func(u *Unit) { u.Ahead = map[string][]byte{"a/B.class": {1}} },
		"scalac":     func(u *Unit) { u.Options.Scala = "2.13.1" },
	} {
		other := javaUnit(string(u.Files[0].Text))
		change(&other)
		assert.NotEqual(t, u.digest("17"), other.digest("17"), name)
	}
	assert.NotEqual(t, u.digest("17"), u.digest("21"), "jdk")

	files, err := filepath.Glob(filepath.Join(m.Dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(files[0], data, 0o644))
	again, kept, err = m.Compile(ctx, tl, u)
	require.NoError(t, err)
	assert.False(t, kept)
	assert.Equal(t, first, again)
}

func TestVanishedEntriesAreThoseOfTheFilesOwnClassesOnly(t *testing.T) {
	names := []string{"a/A.class", "a/A$1.class", "a/A$B.class", "a/AB.class", "b/A.class", "META-INF/MANIFEST.MF"}
	out := &Output{Classes: map[string][]byte{"a/A.class": nil}}
	assert.Equal(t, []string{"a/A$1.class", "a/A$B.class", "a/A.class"}, OwnEntries(names, out, nil))
}

func TestModulesComeInTheOrderOfDependency(t *testing.T) {
	tree := patch.Tree{Files: []patch.File{{Path: "core/src/main/scala/A.scala"}, {Path: "metadata/src/main/java/B.java"}, {Path: "README.md"}}}
	assert.Equal(t, []string{"metadata", "core"}, Modules(tree))
}
