package observer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheJavaReader runs the classes that go into Kafka in real JVMs.
func TestTheJavaReader(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	j := newJVM(ctx, t)
	t.Run("follows the table", func(t *testing.T) { javaFollowsTheTable(ctx, t, j) })
	t.Run("agrees with the Go reader", func(t *testing.T) {
		agree(t, func(input []byte) []string { return j.steps(ctx, t, input) })
	})
	t.Run("takes the environment as documented", func(t *testing.T) { javaTakesTheEnvironment(ctx, t, j) })
	for name, run := range map[string]func(context.Context, *testing.T, *jvm, string){
		"freezes the list on every damage":            freezesOnDamage,
		"accepts every documented form":               acceptsForms,
		"follows a swapped symbolic link":             followsSymlink,
		"promotes nobody while a file is rewritten":   survivesRewriting,
		"falls back on the variable without a file":   fallsBack,
		"says so when the first look fails":           firstLookFails,
		"needs the word none in strict mode":          strictNeedsNone,
		"leaves observers out of initial ISRs":        filtersInitialISR,
		"warns when others may write":                 warnsOfWriters,
		"switches off on an empty file, deliberately": switchesOff,
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(j.dir, "node-")
			require.NoError(t, err)
			require.NoError(t, os.Chmod(dir, 0o755))
			run(ctx, t, j, filepath.Join(dir, "observer.ids"))
		})
	}
}

func javaFollowsTheTable(ctx context.Context, t *testing.T, j *jvm) {
	cases := identityCases(t)
	var input bytes.Buffer
	for _, c := range cases {
		fmt.Fprintf(&input, "reader %t %s\n", c.Strict, hexOf([]byte(c.Env)))
		for _, look := range c.readings(t) {
			look.write(&input)
		}
	}
	got := j.steps(ctx, t, input.Bytes())
	for _, c := range cases {
		require.GreaterOrEqual(t, len(got), len(c.Looks))
		t.Run(c.Name, func(t *testing.T) {
			for i, want := range c.Looks {
				requireAnswer(t, want, got[i])
			}
		})
		got = got[len(c.Looks):]
	}
	require.Empty(t, got)
}

func javaTakesTheEnvironment(ctx context.Context, t *testing.T, j *jvm) {
	tests := []struct{ name, env, want string }{
		{"nothing", "", "/opt/kafka/observer.ids\t[]\t500\tfalse\t"},
		{"everything", "IDS_FILE=/etc/kafka/observer.ids BROKER_IDS=4,3 REFRESH_MS=250 STRICT=TRUE", "/etc/kafka/observer.ids\t[3, 4]\t250\ttrue\t"},
		{"empty values", "IDS_FILE= BROKER_IDS= REFRESH_MS= STRICT=", "/opt/kafka/observer.ids\t[]\t500\tfalse\t"},
		{"the fastest", "REFRESH_MS=100", "/opt/kafka/observer.ids\t[]\t100\tfalse\t"},
		{"the slowest", "REFRESH_MS=5000", "/opt/kafka/observer.ids\t[]\t5000\tfalse\t"},
		{"too fast", "REFRESH_MS=99", "/opt/kafka/observer.ids\t[]\t100\tfalse\tKAFKA_OBSERVER_REFRESH_MS must be between 100 and 5000, took 100"},
		{"too slow", "REFRESH_MS=5001", "/opt/kafka/observer.ids\t[]\t5000\tfalse\tKAFKA_OBSERVER_REFRESH_MS must be between 100 and 5000, took 5000"},
		{"no number", "REFRESH_MS=1s", "/opt/kafka/observer.ids\t[]\t500\tfalse\tKAFKA_OBSERVER_REFRESH_MS is not a number of milliseconds, took 500"},
		{"no id", "BROKER_IDS=3,four", "/opt/kafka/observer.ids\t[3]\t500\tfalse\tKAFKA_OBSERVER_BROKER_IDS ignored what is no broker id, [four]"},
		{"no truth value", "STRICT=yes", "/opt/kafka/observer.ids\t[]\t500\tfalse\tKAFKA_OBSERVER_STRICT is neither true nor false, took false"},
	}
	var input bytes.Buffer
	for _, test := range tests {
		input.WriteString("config")
		for _, setting := range strings.Fields(test.env) {
			name, value, _ := strings.Cut(setting, "=")
			fmt.Fprintf(&input, " KAFKA_OBSERVER_%s=%s", name, hexOf([]byte(value)))
		}
		input.WriteString("\n")
	}
	got := j.steps(ctx, t, input.Bytes())
	require.Len(t, got, len(tests))
	for i, test := range tests {
		require.Equal(t, test.want, got[i], test.name)
	}
}

func fileEnv(path string) []string {
	return []string{"KAFKA_OBSERVER_IDS_FILE=" + path, "KAFKA_OBSERVER_REFRESH_MS=100"}
}

func freezesOnDamage(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3,4")
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("IDS 1 [3, 4]")
	for _, damage := range []struct {
		name, cause string
		do          func(t *testing.T)
	}{
		{"no permission", "AccessDeniedException|Permission denied", func(t *testing.T) {
			require.NoError(t, os.Chmod(path, 0))
			requireUnreadable(t, path)
		}},
		{"garbage", "no broker id among its tokens [garbage]", func(t *testing.T) { put(t, path, "garbage") }},
		{"binary", `no broker id among its tokens [\x7fELF`, func(t *testing.T) { put(t, path, "\x7fELF\x02\x01\x00") }},
		{"a directory", "it is a directory", func(t *testing.T) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o755))
		}},
		{"a FIFO without a writer", "it is not a regular file", func(t *testing.T) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o644))
		}},
		{"one byte too many", "it is larger than 65536 bytes", func(t *testing.T) { put(t, path, "3"+strings.Repeat(" ", 64*1024)) }},
		{"deleted", "it is gone", func(t *testing.T) { require.NoError(t, os.Remove(path)) }},
		{"a dangling link", "it is gone", func(t *testing.T) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink(path+".nowhere", path))
		}},
		{"a link to itself", "loop|Too many levels", func(t *testing.T) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink(path, path))
		}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			n.t = t
			from := len(n.seen)
			damage.do(t)
			told := n.awaitWhere(damage.cause, func(line string) bool {
				if !strings.HasPrefix(line, "LOG WARN Failed to read observer ids from "+path) {
					return false
				}
				for _, cause := range strings.Split(damage.cause, "|") {
					if strings.Contains(line, cause) {
						return true
					}
				}
				return false
			})
			require.Contains(t, told[len(told)-1], "ids in force stay [3, 4]")
			put(t, path, "3,4")
			n.await("IDS 1 [3, 4]")
			require.Contains(t, strings.Join(n.seen[from:], "\n"), "IDS 2 [3, 4]")
		})
	}
	n.t = t
	n.stop()
	requireOnlyIDs(t, n, "[3, 4]")
}

// requireOnlyIDs makes sure that no other ids were ever in force.
func requireOnlyIDs(t *testing.T, n *node, ids string) {
	t.Helper()
	for _, line := range n.seen {
		if strings.HasPrefix(line, "IDS ") {
			require.Contains(t, line, " "+ids+" ")
		}
	}
}

func acceptsForms(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3")
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("IDS 1 [3] 34")
	for _, form := range []struct{ name, content, ids string }{
		{"CRLF", "3,\r\n# was 5\r\n6\r\n", "[3, 6]"},
		{"byte order mark", "\xEF\xBB\xBF3 7", "[3, 7]"},
		{"comment behind an id", "3 # was 4\n8", "[3, 8]"},
		{"exactly 64 KiB", "3,9" + strings.Repeat("\n", 64*1024-3), "[3, 9]"},
		{"ids with garbage between", "3 four 10", "[3, 10]"},
	} {
		put(t, path, form.content)
		n.await("IDS 1 " + form.ids)
	}
	n.stop()
	require.Contains(t, strings.Join(n.seen, "\n"), "LOG WARN Ignored what is no broker id in observer ids file "+path+": [four]")
}

// followsSymlink swaps the folder that a link points to, as Kubernetes updates a ConfigMap.
func followsSymlink(ctx context.Context, t *testing.T, j *jvm, path string) {
	dir := filepath.Dir(path)
	data := func(name, content string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "observer.ids"), []byte(content), 0o644))
		require.NoError(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	data("..2026_01", "3,4")
	require.NoError(t, os.Symlink("..data/observer.ids", path))
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("IDS 1 [3, 4]")
	data("..2026_02", "3,4,5")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "..2026_01")))
	n.await("IDS 1 [3, 4, 5]")
	data("..2026_03", "5")
	n.await("LOG INFO Observer id set changed: [3, 4, 5] -> [5]", "IDS 1 [5]")
	n.stop()
}

// survivesRewriting rewrites the file in place, through an empty and a half-written one, at least
// 1,000 times and until the node has met two such looks in a row. The looks are a second apart, so that a writer
// that has to wait for the processor is not taken for one that is done.
func survivesRewriting(ctx context.Context, t *testing.T, j *jvm, path string) {
	require.NoError(t, os.WriteFile(path, []byte("3,4,15"), 0o644))
	n := j.start(ctx, t, "KAFKA_OBSERVER_IDS_FILE="+path, "KAFKA_OBSERVER_REFRESH_MS=1000")
	n.await("IDS 1 [3, 4, 15]")
	met := false
	rewrites := 0
	for ; rewrites < 1000 || !met; rewrites++ {
		require.NoError(t, ctx.Err())
		f, err := os.Create(path)
		require.NoError(t, err)
		for _, half := range []string{"3,4,", "1", "5\n"} {
			_, err = f.WriteString(half)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		for more := true; more; {
			select {
			case line := <-n.lines:
				n.seen = append(n.seen, line)
				requireKept(t, line)
				met = met || strings.Contains(line, "keeps changing: ids in force stay [3, 4, 15]")
			default:
				more = false
			}
		}
	}
	t.Logf("%d rewrites", rewrites)
	n.t = t
	// A half-written file may add an id for a moment ('1' of '15'), never lose one.
	put(t, path, "3,4,15,99")
	n.await("IDS 1 [3, 4, 15, 99]")
	n.stop()
	for _, line := range n.seen {
		requireKept(t, line)
	}
}

// requireKept makes sure that a line of the node does not tell of a list without 3, 4 or 15.
func requireKept(t *testing.T, line string) {
	t.Helper()
	if ids, is := strings.CutPrefix(line, "IDS "); is {
		for _, id := range []string{"3", "4", "15"} {
			require.Regexp(t, `[\[ ]`+id+`[,\]]`, ids)
		}
	}
}

func fallsBack(ctx context.Context, t *testing.T, j *jvm, path string) {
	n := j.start(ctx, t, append(fileEnv(path), "KAFKA_OBSERVER_BROKER_IDS=9 8")...)
	n.await("LOG INFO No observer ids file "+path+": ids in force are [8, 9]", "IDS 0 [8, 9]")
	// A file that is only begun adds to the list or leaves it; finished, it takes over.
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	put(t, path, "8,9,10")
	n.await("IDS 1 [8, 9, 10]")
	require.NoError(t, os.Remove(path))
	n.await("IDS 2 [8, 9, 10]")
	n.stop()
}

func firstLookFails(ctx context.Context, t *testing.T, j *jvm, path string) {
	require.NoError(t, os.WriteFile(path, []byte("3"), 0o644))
	require.NoError(t, os.Chmod(path, 0))
	requireUnreadable(t, path)
	n := j.start(ctx, t, append(fileEnv(path), "KAFKA_OBSERVER_BROKER_IDS=9")...)
	n.await("LOG ERROR Failed to read observer ids from "+path, "IDS 3 [9]")
	require.NoError(t, os.Chmod(path, 0o644))
	n.await("LOG INFO Observer id set changed: [9] -> [3]", "IDS 1 [3]")
	n.stop()
}

func strictNeedsNone(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3")
	n := j.start(ctx, t, append(fileEnv(path), "KAFKA_OBSERVER_STRICT=true")...)
	n.await("IDS 1 [3]")
	put(t, path, "# emptied by a template\n")
	n.await("IDS 2 [3]")
	put(t, path, "none\n")
	n.await("LOG INFO Observer id set changed: [3] -> []", "IDS 1 [] 0")
	n.stop()
}

func switchesOff(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3")
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("LOG INFO observer-patch generation unknown, hook set unknown: ids file "+path+" (ok), observers [3], looked at every 100 ms", "IDS 1 [3]")
	put(t, path, "# nobody\n")
	told := n.await("LOG INFO Observer id set changed: [3] -> []", "IDS 1 [] 0")
	require.Regexp(t, `(?m)changed: .* \(`+path+`, sha256 [0-9a-f]{64}, owner \S+, modified 20\d\d-\S+Z\)$`, strings.Join(told, "\n"))
	n.stop()
}

func filtersInitialISR(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3,4")
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("IDS 1 [3, 4]")
	for _, test := range []struct{ isr, log, want string }{
		{"3 1 2", "LOG INFO Filtered observers [3] from initial ISR [3, 1, 2] -> [1, 2]", "ISR [1, 2] new"},
		{"4 1 3 2", "LOG INFO Filtered observers [4, 3] from initial ISR [4, 1, 3, 2] -> [1, 2]", "ISR [1, 2] new"},
		{"2 1", "", "ISR [2, 1] same"},
		{"4 3", "LOG WARN All of the initial ISR [4, 3] are observers: left it as it is", "ISR [4, 3] same"},
	} {
		_, err := fmt.Fprintf(n.stdin, "filter %s\n", test.isr)
		require.NoError(t, err)
		told := n.await("ISR ")
		require.Equal(t, strings.TrimPrefix(test.log+"\n"+test.want, "\n"), strings.Join(told, "\n"))
	}
	n.stop()
}

func warnsOfWriters(ctx context.Context, t *testing.T, j *jvm, path string) {
	put(t, path, "3")
	require.NoError(t, os.Chmod(path, 0o664))
	n := j.start(ctx, t, fileEnv(path)...)
	n.await("LOG WARN Observer ids file "+path+" may be written by others than its owner", "IDS 1 [3]")
	require.NoError(t, os.WriteFile(path, []byte("3,4"), 0o664))
	n.await("IDS 1 [3, 4]")
	n.stop()
	require.Equal(t, 1, strings.Count(strings.Join(n.seen, "\n"), "may be written by others"))
}
