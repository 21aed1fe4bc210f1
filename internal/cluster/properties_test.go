package cluster_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/cluster"
)

func TestPropertiesAreReadAsInJava(t *testing.T) {
	text := "# comment\n! comment\n\n" +
		"a=1\n  b : 2\nc 3\nd\n" +
		"e=x\\\n   y\\\n\tz\n" +
		"f\\=g\\:\\ h=v\n" +
		"u=\\u00e9\\ud83d\\ude00\\t|\n" +
		"latin=\xe9\r\n" +
		"eq==x\na=last\r" +
		"tail=\\"
	got, err := cluster.ParseProperties([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, []cluster.Property{
		{"a", "last", 4}, {"b", "2", 5}, {"c", "3", 6}, {"d", "", 7}, {"e", "xyz", 8}, {"f=g: h", "v", 11},
		{"u", "é😀\t|", 12}, {"latin", "é", 13}, {"eq", "=x", 14}, {"tail", "", 16},
	}, got)
}

func TestAMalformedEscapeIsSaidWithItsLine(t *testing.T) {
	for _, bad := range []string{`k=\u12`, `k=\u12zx`, `\uqqqq=1`, `k=\u /!,`} {
		_, err := cluster.ParseProperties([]byte("ok=1\n" + bad))
		assert.ErrorContains(t, err, "line 2", bad)
	}
}

// oracle reads files of a length and so many bytes, and says of each how java.util.Properties reads it.
const oracle = `import java.io.*;
import java.util.*;
public class Oracle {
  public static void main(String[] a) throws Exception {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    int n = in.readInt();
    for (int i = 0; i < n; i++) {
      byte[] b = new byte[in.readInt()];
      in.readFully(b);
      Properties p = new Properties();
      try {
        p.load(new ByteArrayInputStream(b));
      } catch (IllegalArgumentException e) {
        out.writeInt(-1);
        continue;
      }
      out.writeInt(p.size());
      for (String k : new TreeSet<>(p.stringPropertyNames())) {
        write(out, k);
        write(out, p.getProperty(k));
      }
    }
    out.flush();
  }
  static void write(DataOutputStream out, String s) throws IOException {
    out.writeInt(s.length());
    out.writeChars(s);
  }
}
`

func TestJavaAndGoAgreeOnRandomProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\\", "\\", "\n", "\r", "\r\n", "=", ":", " ", "\t", "\f", "#", "!", "a", "b", "key", "\xe9", "\\u00e9", "\\u12", "\\ud83d\\ude00", "\\ud83d", "\\n", "\\t", "u", "0", "\x00"}
	var texts [][]byte
	for range 20000 {
		var b bytes.Buffer
		for range random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		texts = append(texts, b.Bytes())
	}
	var in bytes.Buffer
	write := func(n int) { require.NoError(t, binary.Write(&in, binary.BigEndian, int32(n))) }
	write(len(texts))
	for _, text := range texts {
		write(len(text))
		in.Write(text)
	}
	source := filepath.Join(t.TempDir(), "Oracle.java")
	require.NoError(t, os.WriteFile(source, []byte(oracle), 0o644))
	cmd := exec.CommandContext(t.Context(), "java", "-XX:TieredStopAtLevel=1", source)
	cmd.Stdin, cmd.Stderr = &in, t.Output()
	out, err := cmd.Output()
	require.NoError(t, err)

	r := bytes.NewReader(out)
	length := func() int {
		var n int32
		require.NoError(t, binary.Read(r, binary.BigEndian, &n))
		return int(n)
	}
	word := func() string {
		units := make([]uint16, length())
		require.NoError(t, binary.Read(r, binary.BigEndian, units))
		return string(utf16.Decode(units))
	}
	refused := 0
	for _, text := range texts {
		want := map[string]string{}
		n := length()
		for range n {
			k := word()
			want[k] = word()
		}
		got, err := cluster.ParseProperties(text)
		if n < 0 {
			refused++
			require.Error(t, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		have := map[string]string{}
		for _, p := range got {
			have[p.Key] = p.Value
		}
		require.Equal(t, want, have, "%q", text)
	}
	assert.Greater(t, refused, 100, "malformed escapes are among them")
}

func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=b", "a\\\n b", "\\u0041 : c", "\\", "=", "# x\r\n\f!y"} {
		f.Add([]byte(seed), "key", "value")
	}
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		props, err := cluster.ParseProperties(text)
		if err == nil {
			seen := map[string]bool{}
			for _, p := range props {
				require.False(t, seen[p.Key], "a key stands there once: %q", p.Key)
				seen[p.Key] = true
			}
		}
		// Whatever is escaped comes back.
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		got, err := cluster.ParseProperties([]byte(escape(key) + "=" + escape(value) + "\n"))
		require.NoError(t, err)
		require.Equal(t, []cluster.Property{{key, value, 1}}, got)
	})
}

// escape writes every character as \uXXXX.
func escape(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteString(`\u`)
		const hex = "0123456789ABCDEF"
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[u>>shift&15])
		}
	}
	return b.String()
}
