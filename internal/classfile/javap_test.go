package classfile

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/jar"
	"observer-patch/internal/maven"
	"observer-patch/internal/maven/maventest"
)

// classesOf unpacks the classes of a release's own jars, by artifact.
func classesOf(t testing.TB, version string, artifacts ...string) map[string][]byte {
	t.Helper()
	found := maventest.Resolve(t.Context(), t, version, "classpath/2.13", func(c maven.Coordinates) bool {
		return c.Classifier == "" && slices.Contains(artifacts, c.Artifact)
	})
	require.Len(t, found, len(artifacts))
	classes := make(map[string][]byte)
	for _, a := range found {
		j, err := jar.Open(a.Path)
		require.NoError(t, err)
		for _, name := range j.Names() {
			if strings.HasSuffix(name, ".class") {
				class, err := j.Read(name)
				require.NoError(t, err)
				classes[name] = class
			}
		}
		require.NoError(t, j.Close())
	}
	return classes
}

// TestCodeReadsAsJavapReadsIt compares offset, mnemonic and resolved operand of every
// instruction. By default one class in ten of the metadata module; CLASSFILE_JAVAP=all takes
// all classes of core, metadata and clients of two releases.
func TestCodeReadsAsJavapReadsIt(t *testing.T) {
	step, versions, artifacts := 10, []string{"4.1.0"}, []string{"kafka-metadata"}
	if os.Getenv("CLASSFILE_JAVAP") == "all" {
		step, versions, artifacts = 1, []string{"3.7.1", "4.1.0"}, []string{"kafka_2.13", "kafka-metadata", "kafka-clients"}
	}
	for _, version := range versions {
		dir := t.TempDir()
		var files, want []string
		n := 0
		for name, class := range classesOf(t, version, artifacts...) {
			if n++; n%step != 0 {
				continue
			}
			file := filepath.Join(dir, fmt.Sprintf("%d.class", n))
			require.NoError(t, os.WriteFile(file, class, 0o600))
			files = append(files, file)
			parsed, err := parse(class)
			require.NoError(t, err, name)
			want = append(want, javapLines(parsed)...)
		}
		list := filepath.Join(dir, "files")
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o600))
		out, err := exec.CommandContext(t.Context(), "javap", "-J-Dfile.encoding=UTF-8", "-c", "-p", "@"+list).Output()
		if err != nil || len(out) == 0 { // javap before 20 knows no argument files
			out, err = exec.CommandContext(t.Context(), "javap", append([]string{"-c", "-p"}, files...)...).Output()
		}
		require.NoError(t, err)
		got := readJavap(t, out)
		for i := range min(len(got), len(want)) {
			require.Equal(t, got[i], want[i], "instruction %d of %d", i, len(want))
		}
		assert.Len(t, want, len(got))
		require.Greater(t, len(got), 100*len(files)/10)
		t.Logf("%s: %d classes, %d instructions", version, len(files), len(got))
	}
}

var (
	javapLine   = regexp.MustCompile(`^ +(\d+): ([a-z_0-9]+)(.*)$`)
	javapIndex  = regexp.MustCompile(`^ +#\d+(,  \d+)? +// `)
	javapIndy   = regexp.MustCompile(`^(Invoke)?Dynamic #\d+:`)
	javapSwitch = regexp.MustCompile(`^ +(-?\d+|default): (\d+)$`)
)

// readJavap takes the instructions out of the output of javap -c.
func readJavap(t *testing.T, out []byte) []string {
	t.Helper()
	var lines []string
	inSwitch := false
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if inSwitch {
			if m := javapSwitch.FindStringSubmatch(line); m != nil {
				lines[len(lines)-1] += " " + m[1] + ":" + m[2]
			} else {
				inSwitch = false
			}
			continue
		}
		m := javapLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		operand := m[3]
		if javapIndex.MatchString(operand) {
			operand = simplify(operand[strings.Index(operand, "// ")+3:])
		} else if inSwitch = strings.HasSuffix(m[2], "switch"); inSwitch {
			operand = ""
		}
		lines = append(lines, strings.TrimSpace(m[1]+" "+m[2]+" "+strings.Join(strings.Fields(operand), " ")))
	}
	require.NoError(t, scanner.Err())
	return lines
}

// simplify leaves out what the two print differently: quotes, the value of constants that
// have to be escaped, and of floating point numbers.
func simplify(operand string) string {
	operand = javapIndy.ReplaceAllStringFunc(operand, func(s string) string { return s[:strings.Index(s, " ")+1] })
	for _, kind := range []string{"float ", "double "} {
		if strings.HasPrefix(operand, kind) {
			return kind
		}
	}
	if text, ok := strings.CutPrefix(operand, "String "); ok {
		for _, r := range text {
			if r < ' ' || r > '~' || r == '\\' || r == '"' || r == '\'' {
				return "String"
			}
		}
		return operand
	}
	return strings.ReplaceAll(operand, `"`, "")
}

// javapLines prints a class as readJavap leaves it.
func javapLines(c *class) []string {
	names := mnemonics()
	arrays := map[int32]string{4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}
	var lines []string
	for _, m := range c.methods {
		if m.code == nil {
			continue
		}
		k := m.code
		pc := func(i int) int { return k.instructions[i].pc }
		for i := range k.instructions {
			in := k.instructions[i]
			mnemonic, operand := names[in.op], ""
			if in.wide {
				mnemonic += "_w"
			}
			switch {
			case in.ref != nil:
				operand = javapOperand(c, in.ref.text)
			case in.op == opNewarray:
				operand = arrays[in.a]
			case in.op == opIinc:
				operand = fmt.Sprintf("%d, %d", in.a, in.b)
			case in.op == opTableswitch || in.op == opLookupswitch:
				for n, key := range in.keys {
					operand += fmt.Sprintf("%d:%d ", key, pc(in.jumps[n+1]))
				}
				operand += fmt.Sprintf("default:%d", pc(in.jumps[0]))
			case len(in.jumps) > 0:
				operand = fmt.Sprint(pc(in.jumps[0]))
			case in.op == opBipush, in.op == opSipush, in.op == opRet, in.op >= opIload && in.op <= opAload, in.op >= opIstore && in.op <= opAstore:
				operand = fmt.Sprint(in.a)
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s", in.pc, mnemonic, strings.Join(strings.Fields(operand), " "))))
		}
	}
	return lines
}

// javapOperand writes a constant as javap does: own members without the class, no bootstrap
// arguments.
func javapOperand(c *class, text string) string {
	if s, ok := strings.CutPrefix(text, "String "); ok {
		return simplify("String " + strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`))
	}
	for _, kind := range []string{"Method ", "Field ", "InterfaceMethod "} {
		if rest, ok := strings.CutPrefix(text, kind+c.this+"."); ok {
			text = kind + rest
		}
	}
	if strings.HasPrefix(text, "InvokeDynamic ") || strings.HasPrefix(text, "Dynamic ") {
		text, _, _ = strings.Cut(text, " {")
	}
	return simplify(text)
}

func TestComparingAReleaseWithItselfIsQuickAndEqual(t *testing.T) {
	classes := classesOf(t, "4.1.0", "kafka_2.13", "kafka-metadata")
	start := time.Now()
	for name, class := range classes {
		result, err := compareParsed(class, class)
		require.NoError(t, err, name)
		require.Equal(t, Equivalent, result.Level, "%s: %v", name, result.Diff)
		require.Empty(t, result.Unknown, name)
		require.False(t, result.DebugDiffers, name)
	}
	t.Logf("%d classes in %s", len(classes), time.Since(start))
}

// BenchmarkCompareRelease compares all classes of core, metadata and clients with themselves,
// parsed, as if their bytes were not equal; the bound is 2 s.
func BenchmarkCompareRelease(b *testing.B) {
	classes := classesOf(b, "4.1.0", "kafka_2.13", "kafka-metadata", "kafka-clients")
	for b.Loop() {
		for name, class := range classes {
			_, err := compareParsed(class, class)
			require.NoError(b, err, name)
		}
	}
}
