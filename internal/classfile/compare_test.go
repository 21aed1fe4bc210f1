package classfile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source is a class with what the variants below change; %s are, in order, an annotation, a
// field, a method's head, and its body.
const source = `
import java.util.*;
import java.util.function.*;
public class T {
    @interface Note { int value() default 1; }
    %s
    %s
    static int call(int a, int b) { return a - b; }
    %s {
        %s
    }
    void closes(AutoCloseable c) throws Exception { try (AutoCloseable d = c) { call(1, 2); } }
    static Runnable k(List<String> l) { return () -> l.remove("k"); }
    int chooses(String s) { switch (s) { case "a": return 1; case "b": return 2; default: return 3; } }
}
`

// variant is one way to fill source.
type variant struct{ note, field, head, body string }

func original() variant {
	return variant{"@Note(2)", "private final int f = 7;", "public int m(List<String> l, Map<String, Integer> k, int x)",
		"int n = call(x, 3); Runnable r = () -> l.add(\"x\"); r.run(); try { n += l.size(); } catch (IllegalStateException e) { n = 400; } if (n > 5) { Objects.requireNonNull(l); } " +
			"n += 7; n += 1000; if (x == 100) { n = new int[x].length; } switch (x) { case 11: n = 0; break; case 5000: n = 1; } return n + 100000;"}
}

// compiler compiles T.java in each folder given, all in one JVM.
const compiler = `
import java.nio.file.*;
import javax.tools.*;
class Compile {
    public static void main(String[] args) {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        for (String dir : args) {
            String file = Path.of(dir, "T.java").toString();
            if (javac.run(null, null, null, "-g", "-nowarn", "--release", "8", "-d", dir, file) != 0) System.exit(1);
        }
    }
}
`

// compileAll compiles every variant and gives its class T.
func compileAll(t testing.TB, variants []variant) [][]byte {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "Compile.java")
	require.NoError(t, os.WriteFile(program, []byte(compiler), 0o600))
	args := []string{program}
	for i, v := range variants {
		folder := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "T.java"), fmt.Appendf(nil, source, v.note, v.field, v.head, v.body), 0o600))
		args = append(args, folder)
	}
	out, err := exec.CommandContext(t.Context(), "java", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var classes [][]byte
	for _, folder := range args[1:] {
		class, err := os.ReadFile(filepath.Join(folder, "T.class"))
		require.NoError(t, err)
		classes = append(classes, class)
	}
	return classes
}

func TestCompareSeesEveryRealChange(t *testing.T) {
	changes := []struct {
		name string
		edit func(*variant)
	}{
		{"swapped arguments", replace("call(x, 3)", "call(3, x)")},
		{"changed constant", replace("100000", "100001")},
		{"changed small constant", replace("call(x, 3)", "call(x, 4)")},
		{"changed immediate value", replace("n = 400", "n = 401")},
		{"negated immediate value", replace("n = 400", "n = -400")},
		{"changed byte in the code", replace("x == 100", "x == 101")},
		{"changed increment", replace("n += 7", "n += 8")},
		{"negated increment", replace("n += 7", "n -= 7")},
		{"increment of another variable", replace("n += 7", "x += 7")},
		{"changed wide increment", replace("n += 1000", "n += 1001")},
		{"changed element type of an array", replace("new int[x]", "new char[x]")},
		{"changed case", replace("case 5000", "case 5001")},
		{"removed call to requireNonNull", replace("Objects.requireNonNull(l);", "")},
		{"getClass for requireNonNull in the source", replace("Objects.requireNonNull(l);", "l.getClass();")},
		{"changed branch", replace("n > 5", "n >= 5")},
		{"changed exception type", replace("IllegalStateException", "IllegalArgumentException")},
		{"changed lambda body", replace(`l.add("x")`, `l.add("y")`)},
		{"lambda for another method", replace("() -> l.add(\"x\")", "l::clear")},
		{"changed access flag", func(v *variant) { v.head = "protected" + v.head[len("public"):] }},
		{"final method", func(v *variant) { v.head = "final " + v.head }},
		{"changed signature only", func(v *variant) {
			v.head = "public int m(List<String> l, Map<String, Long> k, int x)"
		}},
		{"changed annotation", func(v *variant) { v.field = "@Deprecated " + v.field }},
		{"changed constant of a field", func(v *variant) { v.field = "private final int f = 8;" }},
		{"dropped field", func(v *variant) { v.field = "" }},
		{"added method", func(v *variant) { v.field += " void more() { }" }},
		{"code moved out of the try block", replace("try { n += l.size(); }", "n += l.size(); try { call(1, 2); }")},
		{"cast of a local variable", replace("call(x, 3)", "call((byte) x, 3)")},
		{"narrower cast", replace("n += l.size();", "n += ((ArrayList<String>) l).size();")},
		{"return another variable", replace("return n +", "return x +")},
	}
	variants := []variant{original()}
	for _, c := range changes {
		v := original()
		c.edit(&v)
		require.NotEqual(t, original(), v, c.name)
		variants = append(variants, v)
	}
	classes := compileAll(t, variants)
	for i, c := range changes {
		requireDifferent(t, c.name, classes[0], classes[i+1])
	}
	// What no source gives: each method refers to a lambda with the name of the other's. The
	// bodies fit, but who owns them is read from their names.
	requireDifferent(t, "names of two methods' lambdas swapped", classes[0], swapNames(t, classes[0], "lambda$m$0", "lambda$k$1"))
}

// requireDifferent wants two classes to be different, whichever comes first.
func requireDifferent(t *testing.T, name string, a, b []byte) {
	t.Helper()
	result, err := Compare(a, b)
	require.NoError(t, err, name)
	assert.Equal(t, Different, result.Level, name)
	assert.NotEmpty(t, result.Diff, name)
	back, err := Compare(b, a)
	require.NoError(t, err, name)
	assert.Equal(t, Different, back.Level, "%s, the other way", name)
}

// swapNames swaps two names of the same length in a class's constant pool.
func swapNames(t *testing.T, class []byte, x, y string) []byte {
	t.Helper()
	require.Len(t, y, len(x))
	for _, name := range []string{x, y} {
		require.Equal(t, 1, bytes.Count(class, []byte(name)), name)
	}
	swapped := bytes.Replace(class, []byte(x), []byte(y), 1)
	at := bytes.Index(class, []byte(y))
	copy(swapped[at:], x)
	return swapped
}

func replace(old, text string) func(*variant) {
	return func(v *variant) {
		body := []byte(v.body)
		for i := 0; i+len(old) <= len(body); i++ {
			if string(body[i:i+len(old)]) == old {
				v.body = v.body[:i] + text + v.body[i+len(old):]
				return
			}
		}
	}
}

func TestCompareReportsDebugApart(t *testing.T) {
	moved := original()
	moved.note = "\n\n" + moved.note
	classes := compileAll(t, []variant{original(), moved})
	result, err := Compare(classes[0], classes[1])
	require.NoError(t, err)
	assert.Equal(t, Result{Level: Equivalent, Idioms: map[string]int{}, DebugDiffers: true}, result)

	same, err := Compare(classes[0], classes[0])
	require.NoError(t, err)
	assert.Equal(t, Result{Level: Identical}, same)
}

func TestCompareLevelsConstantPoolOrderAndLambdaNumbers(t *testing.T) {
	with := func(body string) variant {
		v := original()
		v.head = "public Object m(boolean x)"
		v.body = body
		return v
	}
	first := with("Runnable a = () -> call(1, 2); Runnable b = () -> call(3, 4); return x ? a : b;")
	other := with("Runnable a = () -> call(3, 4); Runnable b = () -> call(1, 2); return x ? b : a;")
	classes := compileAll(t, []variant{first, other})
	result, err := Compare(classes[0], classes[1])
	require.NoError(t, err)
	assert.Equal(t, Different, result.Level, "the order of evaluation changed, whatever the lambdas are called")
}

func TestMethodsNamesWhatChanged(t *testing.T) {
	changed := original()
	replace(`l.add("x")`, `l.add("y")`)(&changed)
	moved := original()
	moved.note = "\n" + moved.note
	classes := compileAll(t, []variant{original(), changed, moved})
	var outlines []Outline
	for _, class := range classes {
		o, err := Methods(class)
		require.NoError(t, err)
		outlines = append(outlines, o)
	}
	differ := func(a, b Outline, debug bool) []string {
		var names []string
		require.Len(t, b.Methods, len(a.Methods))
		for i, m := range a.Methods {
			if debug && m.Debug != b.Methods[i].Debug || !debug && m.Digest != b.Methods[i].Digest {
				names = append(names, m.Name)
			}
		}
		return names
	}
	assert.Equal(t, []string{"m", "lambda$m$0"}, differ(outlines[0], outlines[1], false))
	assert.Equal(t, outlines[0].Parts, outlines[1].Parts)
	assert.Empty(t, differ(outlines[0], outlines[2], false), "lines moved")
	assert.Contains(t, differ(outlines[0], outlines[2], true), "m")
	for _, m := range outlines[0].Methods {
		if m.Name == "lambda$m$0" {
			assert.Equal(t, "m", m.Of)
			assert.Equal(t, []string{"m(Ljava/util/List;Ljava/util/Map;I)I"}, m.Callers)
		}
	}
}

func TestSourceMethod(t *testing.T) {
	for name, want := range map[string]string{
		"lambda$foo$3": "foo", "$anonfun$foo$3": "foo", "$anonfun$foo$3$adapted": "foo", "lambda$null$3": "",
		"$anonfun$new$1": "new", "lambda$foo$bar$12": "foo$bar", "foo": "", "lambda$": "",
	} {
		assert.Equal(t, want, sourceMethod(name), name)
	}
}

func FuzzCompare(f *testing.F) {
	classes := compileAll(f, []variant{original()})
	f.Add(classes[0], classes[0])
	for _, seed := range []string{"", "\xca\xfe\xba\xbe", "\xca\xfe\xba\xbe\x00\x00\x00\x34\xff\xff"} {
		f.Add([]byte(seed), classes[0])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		forth, errForth := compareParsed(a, b)
		back, errBack := compareParsed(b, a)
		require.Equal(t, errForth == nil, errBack == nil)
		require.Equal(t, forth.Level, back.Level, "comparing is symmetric")
		if _, err := Methods(a); err == nil {
			self, err := compareParsed(a, a)
			require.NoError(t, err)
			require.Equal(t, Equivalent, self.Level, "a class equals itself: %v", self.Diff)
		}
	})
}
