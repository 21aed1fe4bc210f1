package proof

import (
	"archive/zip"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/exit"
	"observer-patch/internal/jar"
	"observer-patch/internal/patch"
	"observer-patch/internal/toolchain"
)

const (
	properties = "META-INF/observer-patch.properties"
	javaPath   = "metadata/src/main/java/a/A.java"
)

// upstream is a file with what makes ownership hard: nested and anonymous classes, lambdas,
// initialisers, private members that nested classes reach.
const upstream = `package a;
import java.util.function.IntPredicate;
public class A {
    private int limit = Limit.MAX;
    private final IntPredicate small = i -> i < limit;
    static class Inner {
        boolean test(int id) {
            return id > 0;
        }
    }
    public int first(int x) {
        Runnable r = new Runnable() {
            public void run() {
                limit = x;
            }
        };
        r.run();
        return limit;
    }
    public boolean second(int x) {
        IntPredicate p = i -> i == x;
        return p.test(limit) || small.test(x);
    }
}
`

const limit = "package a; public class Limit { public static final int MAX = 7; }"

// insert gives a file with lines put in after the first line that contains at.
func insert(t *testing.T, owner, at, text string) patch.File {
	t.Helper()
	lines := strings.SplitAfter(upstream, "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, at) })
	require.GreaterOrEqual(t, i, 0, at)
	added := strings.SplitAfter(text, "\n")
	after := slices.Concat(lines[:i+1], added, lines[i+1:])
	return patch.File{Path: javaPath, Before: []byte(upstream), After: []byte(strings.Join(after, "")), Edits: []patch.Edit{
		{Owner: owner, OldLines: patch.Lines{First: i + 2}, NewLines: patch.Lines{First: i + 2, Count: len(added) - 1}}}}
}

// bench compiles; what it compiled once it does not compile again, as compiling is pure.
type bench struct {
	t     *testing.T
	tools build.Tools
	memo  build.Memo
	dir   string
}

// at gives the bench for a subtest, with a folder of its own.
func (b bench) at(t *testing.T) bench {
	b.t, b.dir = t, t.TempDir()
	return b
}

func newBench(t *testing.T) bench {
	jdk, err := toolchain.FindJDK(toolchain.Want{Major: 17}, os.Getenv)
	require.NoError(t, err)
	return bench{t: t, tools: build.Tools{JDK: jdk, Getenv: os.Getenv, Temp: t.TempDir()}, memo: build.Memo{Dir: t.TempDir()}, dir: t.TempDir()}
}

func (b bench) compile(limitText string, texts map[string]string, flags ...string) build.Output {
	u := build.Unit{Module: "metadata", Options: build.Options{Release: 17, JavaFlags: append([]string{"--release", "17"}, flags...)}}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		u.Files = append(u.Files, build.Source{Path: path, Text: []byte(texts[path])})
	}
	if limitText != "" {
		lib, _, err := b.memo.Compile(context.Background(), b.tools, build.Unit{Module: "lib", Files: []build.Source{{Path: "lib/Limit.java", Text: []byte(limitText)}}, Options: build.Options{JavaFlags: []string{"--release", "17"}}})
		require.NoError(b.t, err)
		u.Ahead = lib.Classes
	}
	out, _, err := b.memo.Compile(context.Background(), b.tools, u)
	require.NoError(b.t, err)
	return out
}

func (b bench) jar(name string, entries map[string][]byte) string {
	path := filepath.Join(b.dir, name)
	f, err := os.Create(path)
	require.NoError(b.t, err)
	z := zip.NewWriter(f)
	for _, entry := range slices.Sorted(maps.Keys(entries)) {
		w, err := z.Create(entry)
		require.NoError(b.t, err)
		_, err = w.Write(entries[entry])
		require.NoError(b.t, err)
	}
	require.NoError(b.t, z.Close())
	require.NoError(b.t, f.Close())
	return path
}

// module builds a module of one patched file (and new ones) against a release made by the
// same compiler, and its patched jar.
func (b bench) module(files ...patch.File) (build.Module, string) {
	before, after := map[string]string{}, map[string]string{}
	for _, f := range files {
		if f.Before != nil {
			before[f.Path] = string(f.Before)
		}
		after[f.Path] = string(f.After)
	}
	released := b.compile(limit, before, "-g")
	entries := maps.Clone(released.Classes)
	entries["META-INF/MANIFEST.MF"] = []byte("Manifest-Version: 1.0\n")
	entries["b/Other.class"] = []byte("another class of the release")
	unpatched := b.compile(limit, before, "-g")
	patched := b.compile(limit, after, "-g")
	m := build.Module{Name: "metadata", Jar: build.Library{Path: b.jar("release.jar", entries)}, Files: files, Unpatched: &unpatched, Patched: patched}
	m.Changes.Put = patched.Classes
	for name := range unpatched.Classes {
		if _, stays := patched.Classes[name]; !stays {
			m.Vanished = append(m.Vanished, name)
		}
	}
	m.Changes.Remove = m.Vanished
	return m, b.patchedJar(m, nil)
}

// patchedJar writes the patched jar, with a last change by hand.
func (b bench) patchedJar(m build.Module, tamper func(*jar.Changes)) string {
	changes := jar.Changes{Put: maps.Clone(m.Patched.Classes), Remove: slices.Clone(m.Vanished)}
	changes.Put[properties] = []byte("set=base\n")
	if tamper != nil {
		tamper(&changes)
	}
	path := filepath.Join(b.dir, "patched.jar")
	_, err := jar.RewriteFile(path, m.Jar.Path, changes)
	require.NoError(b.t, err)
	return path
}

func (b bench) prove(m build.Module, path string) (*Verdict, error) {
	return Prove([]build.Module{m}, map[string]string{"metadata": path}, properties)
}

func TestEveryChangedMethodHasItsHook(t *testing.T) {
	shared := newBench(t)
	for _, c := range []struct {
		name, at, text string
		want           map[string]string // method -> change
	}{
		{"statement in a nested class", "boolean test(", "            if (id == 9) { return false; }\n", map[string]string{"a/A$Inner.class test": "changed"}},
		{"statement", "public int first(", "        limit++;\n", map[string]string{"a/A.class first": "changed"}},
		{"in an anonymous class", "public void run(", "                limit++;\n", map[string]string{"a/A$1.class run": "changed"}},
		{"a lambda more, before others", "public int first(", "        IntPredicate q = i -> i == 3;\n", map[string]string{"a/A.class first": "changed", "a/A.class lambda$first$1": "added"}},
		{"a new method", "private int limit", "    public int third() {\n        return limit;\n    }\n", map[string]string{"a/A.class third": "added"}},
		{"a new field with a value", "private int limit", "    int extra = limit + 1;\n", map[string]string{"a/A.class <init>": "changed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := shared.at(t)
			m, path := b.module(insert(t, "hook", c.at, c.text))
			v, err := b.prove(m, path)
			require.NoError(t, err)
			assert.Equal(t, classfile.Identical, v.Level)
			got := map[string]string{}
			for _, method := range v.Modules[0].Methods {
				got[method.Entry+" "+method.Name] = method.Change
				assert.Equal(t, []string{"hook"}, method.Owners, method.Name)
			}
			assert.Equal(t, c.want, got)
			for _, r := range v.Modules[0].Entries.Replaced {
				assert.Contains(t, m.Unpatched.Classes, r.Entry, "only classes of the file are replaced")
			}
		})
	}
}

func TestNewFilesBelongToTheirHook(t *testing.T) {
	b := newBench(t)
	text := "package a; class New { int x = 1; class In {} }"
	added := patch.File{Path: "metadata/src/main/java/a/New.java", After: []byte(text), Edits: []patch.Edit{{Owner: "ids", OldLines: patch.Lines{First: 1}, NewLines: patch.Lines{First: 1, Count: 1}}}}
	m, path := b.module(insert(t, "hook", "public int first(", "        new New();\n"), added)
	v, err := b.prove(m, path)
	require.NoError(t, err)
	want := []Change{{Entry: properties}, {Entry: "a/New$In.class", Owners: []string{"ids"}}, {Entry: "a/New.class", Owners: []string{"ids"}}}
	assert.ElementsMatch(t, want, v.Modules[0].Entries.Added)
}

// Each of these is a way in which a jar could hold more than the hooks.
func TestTheProofCatches(t *testing.T) {
	shared := newBench(t)
	hook := func(t *testing.T) patch.File { return insert(t, "hook", "public int first(", "        limit++;\n") }
	for _, c := range []struct {
		name string
		make func(b bench) (build.Module, string)
		want string
	}{
		{"a text that was edited outside the hooks", func(b bench) (build.Module, string) {
			f := hook(b.t)
			f.After = []byte(strings.Replace(string(f.After), "i == x", "i >= x", 1))
			return b.module(f)
		}, "outside every hook"},
		{"a method that changed without a hook", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			edited := strings.Replace(string(m.Files[0].After), "return id > 0", "return id > 1", 1)
			m.Patched = b.compile(limit, map[string]string{javaPath: edited}, "-g")
			return m, b.patchedJar(m, nil)
		}, "a/A$Inner.class: method test(I)Z is changed, but no hook stands in its source"},
		{"a field that changed without a hook", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			edited := strings.Replace(string(m.Files[0].After), "private int limit", "public int limit", 1)
			m.Patched = b.compile(limit, map[string]string{javaPath: edited}, "-g")
			return m, b.patchedJar(m, nil)
		}, "field limitI differs, but no hook accounts for it"},
		{"a swapped dependency", func(b bench) (build.Module, string) {
			m, path := b.module(hook(b.t))
			other := b.compile(strings.Replace(limit, "7", "8", 1), map[string]string{javaPath: upstream}, "-g")
			m.Unpatched = &other
			return m, path
		}, "a/A.class, compiled from the unpatched file, is different from the release's"},
		{"a class left from another build", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			return m, b.patchedJar(m, func(c *jar.Changes) { c.Put["a/A$2.class"] = m.Patched.Classes["a/A.class"] })
		}, "entry a/A$2.class is added, but no compiled file gives it"},
		{"another build's class in place of ours", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			return m, b.patchedJar(m, func(c *jar.Changes) { c.Put["a/A.class"] = m.Unpatched.Classes["a/A.class"] })
		}, "entry a/A.class is not what compiling the patched files gives"},
		{"an entry of the release that is changed", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			return m, b.patchedJar(m, func(c *jar.Changes) { c.Put["b/Other.class"] = []byte("changed") })
		}, "entry b/Other.class is replaced, but no compiled file gives it"},
		{"an entry of the release that is lost", func(b bench) (build.Module, string) {
			m, _ := b.module(hook(b.t))
			return m, b.patchedJar(m, func(c *jar.Changes) { c.Remove = append(c.Remove, "b/Other.class") })
		}, "entry b/Other.class is lost"},
		{"a class of the release that the sources do not give", func(b bench) (build.Module, string) {
			m, path := b.module(hook(b.t))
			without := *m.Unpatched
			without.Classes = maps.Clone(without.Classes)
			delete(without.Classes, "a/A$1.class")
			m.Unpatched = &without
			return m, path
		}, "the release has a/A$1.class, which compiling the unpatched files does not give"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := shared.at(t)
			m, path := c.make(b)
			_, err := b.prove(m, path)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, exit.Proof, exit.Code(err))
		})
	}
}

func TestUnprovenIsSaid(t *testing.T) {
	var v *Verdict
	page, err := v.Page("4.1.0-kraft")
	require.NoError(t, err)
	assert.Contains(t, string(page), "NOT PROVEN")
	_, err = Prove([]build.Module{{Name: "core"}}, nil, properties)
	assert.ErrorContains(t, err, "nothing can be proven")
}
