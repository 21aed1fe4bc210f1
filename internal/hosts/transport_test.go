package hosts_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

// way makes nodes that are reached in one way, all on this machine.
type way struct {
	name string
	node func(t *testing.T, file string) hosts.Node
}

// ways are all that reach a plain file.
func ways(t *testing.T) []way {
	server := startSSHD(t, "")
	binary, err := os.Executable()
	require.NoError(t, err)
	serves := filepath.Join(t.TempDir(), "serves")
	bound := startSSHD(t, `command="`+agentVariable+`=`+serves+` `+binary+`",restrict`)
	run := func(words ...string) func(*testing.T, string) hosts.Node {
		return func(_ *testing.T, file string) hosts.Node {
			return hosts.Node{ID: 1, Roles: []hosts.Role{hosts.Broker}, File: file, Transport: hosts.TransportSpec{Kind: hosts.Command, Run: words}}
		}
	}
	return []way{
		{"local", func(_ *testing.T, file string) hosts.Node {
			return hosts.Node{ID: 1, Roles: []hosts.Role{hosts.Broker}, File: file, Transport: hosts.TransportSpec{Kind: hosts.Local}}
		}},
		{"program", run("env")},
		{"program with a remote shell", run("sh", "-c", "{command}")},
		{"ssh", func(_ *testing.T, file string) hosts.Node { return server.node(file) }},
		{"ssh with become", func(_ *testing.T, file string) hosts.Node {
			n := server.node(file)
			n.Transport.Become = []string{"env", "A=it's", "B=$(exit 1)"}
			return n
		}},
		{"ssh through a jump host", func(_ *testing.T, file string) hosts.Node {
			n := server.node(file)
			n.Transport.Jump = n.Transport.User + "@127.0.0.1:" + itoa(server.port)
			return n
		}},
		{"ssh through a program", func(t *testing.T, file string) hosts.Node {
			n := server.node(file)
			n.Transport.Proxy = []string{"env", proxyVariable + "={address}:" + itoa(server.port), binary}
			return n
		}},
		{"ssh with a forced command", func(t *testing.T, file string) hosts.Node {
			write(t, serves, file)
			n := bound.node(file)
			n.Transport.Forced = true
			return n
		}},
	}
}

func open(t *testing.T, n hosts.Node) *hosts.Transport {
	t.Helper()
	w, err := hosts.Open(t.Context(), n, hosts.Options{Getenv: os.Getenv})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func TestAFileIsReadReplacedAndPutBackInEveryWay(t *testing.T) {
	for _, way := range ways(t) {
		t.Run(way.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "observer.ids")
			w := open(t, way.node(t, path))
			ctx := t.Context()

			absent, err := w.Read(ctx)
			require.NoError(t, err)
			assert.Equal(t, hosts.File{}, absent)

			made, err := w.Write(ctx, []byte("# first\n4\n"), absent)
			require.NoError(t, err)
			first, err := w.Read(ctx)
			require.NoError(t, err)
			assert.Equal(t, "# first\n4\n", string(first.Content))
			assert.Equal(t, os.FileMode(0o644), first.Mode)
			assert.WithinDuration(t, time.Now(), first.ModTime, time.Minute)

			require.NoError(t, os.Chmod(path, 0o640))
			if os.Geteuid() == 0 {
				require.NoError(t, os.Chown(path, 123, 456))
			}
			first, err = w.Read(ctx)
			require.NoError(t, err)
			before, err := os.Stat(path)
			require.NoError(t, err)

			binary := "# \x00\xff'\"$(\n5,4\r\n\n\n" // whatever lies there comes back as it was
			undo, err := w.Write(ctx, []byte(binary), first)
			require.NoError(t, err)
			after, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o640), after.Mode().Perm())
			assert.Equal(t, before.Sys().(*syscall.Stat_t).Uid, after.Sys().(*syscall.Stat_t).Uid)
			assert.Equal(t, before.Sys().(*syscall.Stat_t).Gid, after.Sys().(*syscall.Stat_t).Gid)
			assert.NotEqual(t, before.Sys().(*syscall.Stat_t).Ino, after.Sys().(*syscall.Stat_t).Ino, "renamed in, not written over")
			second, err := w.Read(ctx)
			require.NoError(t, err)
			assert.Equal(t, binary, string(second.Content))

			_, err = w.Write(ctx, []byte("6\n"), first)
			require.ErrorIs(t, err, hosts.ErrChanged, "what is there is not what was read")
			same, err := w.Write(ctx, []byte(binary), first)
			require.NoError(t, err, "it says so already")
			assert.Nil(t, same.Wrote)
			require.NoError(t, w.Rollback(ctx, undo))
			back, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "# first\n4\n", string(back))
			require.NoError(t, w.Rollback(ctx, undo), "it is back already")
			write(t, path, "7\n")
			require.ErrorIs(t, w.Rollback(ctx, undo), hosts.ErrChanged)
			write(t, path, "# first\n4\n")
			require.NoError(t, w.Rollback(ctx, made))
			back, err = os.ReadFile(path)
			require.NoError(t, err)
			assert.Empty(t, back, "a file that was not there becomes an empty one")
			assertOnly(t, dir, "observer.ids")
		})
	}
}

func TestWhatIsNoPlainFileIsRefusedInEveryWay(t *testing.T) {
	for _, way := range ways(t) {
		t.Run(way.name, func(t *testing.T) {
			dir := t.TempDir()
			ctx := t.Context()
			target := filepath.Join(dir, "target")
			write(t, target, "4\n")

			link := filepath.Join(dir, "link")
			require.NoError(t, os.Symlink(target, link))
			w := open(t, way.node(t, link))
			f, err := w.Read(ctx)
			require.NoError(t, err)
			assert.True(t, f.Link)
			assert.Equal(t, []int32{4}, f.IDs().IDs)
			_, err = w.Write(ctx, []byte("5\n"), f)
			assert.ErrorContains(t, err, "symbolic link")

			dangling := filepath.Join(dir, "dangling")
			require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), dangling))
			_, err = open(t, way.node(t, dangling)).Read(ctx)
			assert.Error(t, err)

			folder := filepath.Join(dir, "folder")
			require.NoError(t, os.Mkdir(folder, 0o755))
			_, err = open(t, way.node(t, folder)).Read(ctx)
			assert.ErrorContains(t, err, "director", "unfit, or the system's own word for it")

			_, err = open(t, way.node(t, filepath.Join(dir, "no", "folder", "observer.ids"))).Read(ctx)
			assert.ErrorContains(t, err, "its folder")

			pipe := filepath.Join(dir, "pipe")
			require.NoError(t, syscall.Mkfifo(pipe, 0o644))
			_, err = open(t, way.node(t, pipe)).Read(ctx)
			assert.ErrorContains(t, err, "not a regular file")

			large := filepath.Join(dir, "large")
			write(t, large, strings.Repeat("4\n", observer.MaxBytes))
			_, err = open(t, way.node(t, large)).Read(ctx)
			assert.Error(t, err)
			assertOnly(t, dir, "dangling", "folder", "large", "link", "pipe", "target")
		})
	}
}

func TestDigestsOfAHomesJarsAreTheSameInEveryWay(t *testing.T) {
	home := filepath.Join(t.TempDir(), "it's $(exit 1)")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "libs"), 0o755))
	want := map[string]string{}
	for _, name := range []string{"kafka_2.13-4.1.0.jar", "kafka-metadata-4.1.0.jar", "zstd.jar"} {
		write(t, filepath.Join(home, "libs", name), name)
		if strings.HasPrefix(name, "kafka") {
			want[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
		}
	}
	for _, way := range ways(t) {
		if way.name == "ssh with a forced command" {
			continue // it is bound to no home here
		}
		n := way.node(t, filepath.Join(home, "ids"))
		n.Home = home
		sums, err := open(t, n).Jars(t.Context())
		require.NoError(t, err, way.name)
		assert.Equal(t, want, sums, way.name)
	}
	var out strings.Builder
	require.NoError(t, hosts.Serve(strings.NewReader("jars\n"+home+"\n\n0\n"), &out, "/x", home))
	for name, sum := range want {
		assert.Contains(t, out.String(), sum+" "+name+"\n")
	}
}

// hostile gives the values of testdata/hostile.txt and the path that must not appear.
func hostile(t *testing.T) (values []string, canary string) {
	t.Helper()
	canary = filepath.Join(t.TempDir(), "canary")
	f, err := os.Open("testdata/hostile.txt")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	require.True(t, lines.Scan(), "the first line is a comment")
	for lines.Scan() {
		values = append(values, strings.ReplaceAll(lines.Text(), "CANARY", canary))
	}
	require.NoError(t, lines.Err())
	require.Greater(t, len(values), 20)
	return values, canary
}

func TestHostilePathsReachNoShellInAnyWay(t *testing.T) {
	values, canary := hostile(t)
	for _, way := range ways(t) {
		t.Run(way.name, func(t *testing.T) {
			for some := range slices.Chunk(values, 12) {
				path := filepath.Join(append(append([]string{t.TempDir()}, some...), "observer.ids")...)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				w := open(t, way.node(t, path))
				content := strings.Join(some, "\n")
				_, err := w.Write(t.Context(), []byte(content), hosts.File{})
				require.NoError(t, err, path)
				f, err := w.Read(t.Context())
				require.NoError(t, err, path)
				assert.Equal(t, content, string(f.Content))
				require.NoError(t, w.Close())
				require.NoFileExists(t, canary, path)
			}
		})
	}
}

func TestHostileValuesOfANodeStayOneArgument(t *testing.T) {
	values, canary := hostile(t)
	for _, value := range values {
		if strings.HasPrefix(value, "-") || value == "{command}" {
			continue
		}
		out := filepath.Join(t.TempDir(), "arguments")
		n := hosts.Node{ID: 7, Address: value, Service: value, File: "/x/observer.ids", Transport: hosts.TransportSpec{Kind: hosts.Command,
			Run: []string{"sh", "-c", `printf "%s\n" "$@" > "$0"`, out, "{address}", "a {service} b", "{id}"}}}
		_, err := open(t, n).Read(t.Context())
		require.Error(t, err, "that program gives no answer")
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		lines := strings.SplitN(string(text), "\n", 5)
		assert.Equal(t, []string{value, "a " + value + " b", "7", "sh"}, lines[:4])
		require.NoFileExists(t, canary, value)
	}
}

func TestHostileAnswersAreNamedHarmlessly(t *testing.T) {
	for _, answer := range []string{"", "file", `file 644 0 0 0 5 0\nabc`, `file 644 0 0 0 -1 0\n`, `\033[2Jhello\n`, `unfit\n\033[31mred\n`, `file 644 0 0 0 99999999 0\n`, `jars\n`, `written\n`} {
		n := hosts.Node{ID: 7, File: "/x/observer.ids", Transport: hosts.TransportSpec{Kind: hosts.Command, Run: []string{"sh", "-c", `printf "$0"`, answer}}}
		_, err := open(t, n).Read(t.Context())
		require.Error(t, err, answer)
		assert.NotContains(t, err.Error(), "\x1b", answer)
	}
}

func TestContentThatIsCutShortIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "observer.ids")
	write(t, path, "4\n")
	// Half of what is sent arrives, as when a connection breaks.
	n := hosts.Node{ID: 1, File: path, Transport: hosts.TransportSpec{Kind: hosts.Command, Run: []string{"sh", "-c", `head -c 250 | "$@"`, "sh"}}}
	w := open(t, n)
	f, err := w.Read(t.Context())
	require.NoError(t, err)
	_, err = w.Write(t.Context(), []byte(strings.Repeat("5\n", 500)), f)
	assert.ErrorContains(t, err, "cut short")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "4\n", string(text))
	assertOnly(t, dir, "observer.ids")
}

func TestANodeThatDoesNotAnswerIsGivenUp(t *testing.T) {
	n := hosts.Node{ID: 1, File: "/x/observer.ids", Transport: hosts.TransportSpec{Kind: hosts.Command, Run: []string{"sh", "-c", "sleep 600"}}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := open(t, n).Read(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(began), 30*time.Second)
}

func TestHostKeysAreAlwaysChecked(t *testing.T) {
	server := startSSHD(t, "")
	dir := t.TempDir()
	path := filepath.Join(dir, "observer.ids")
	write(t, path, "4\n")
	_, other := writeKey(t, filepath.Join(dir, "other"))
	for name, known := range map[string]string{
		"is not in known_hosts":         "",
		"is not the one in known_hosts": "[127.0.0.1]:" + itoa(server.port) + " " + authorized(other),
	} {
		n := server.node(path)
		n.Transport.KnownHosts = filepath.Join(dir, "known")
		write(t, n.Transport.KnownHosts, known)
		_, err := open(t, n).Read(t.Context())
		assert.ErrorContains(t, err, name)
		// The jump host's key is checked too.
		n.Transport.Jump = "127.0.0.1:" + itoa(server.port)
		_, err = open(t, n).Read(t.Context())
		assert.ErrorContains(t, err, name)
	}
	n := server.node(path)
	n.Transport.KnownHosts = filepath.Join(dir, "missing")
	_, err := open(t, n).Read(t.Context())
	assert.ErrorContains(t, err, "host keys are always checked")
}

func TestTheAgentsKeysAreTakenWhenNoneIsNamed(t *testing.T) {
	server := startSSHD(t, "")
	path := filepath.Join(t.TempDir(), "observer.ids")
	write(t, path, "4\n")
	text, err := os.ReadFile(server.key)
	require.NoError(t, err)
	key, err := ssh.ParseRawPrivateKey(text)
	require.NoError(t, err)
	keys := agent.NewKeyring()
	require.NoError(t, keys.Add(agent.AddedKey{PrivateKey: key}))
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, conn) }()
		}
	}()
	n := server.node(path)
	n.Transport.Key = ""
	t.Setenv("SSH_AUTH_SOCK", "")
	_, err = open(t, n).Read(t.Context())
	assert.ErrorContains(t, err, "there is no agent")
	t.Setenv("SSH_AUTH_SOCK", socket)
	f, err := open(t, n).Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int32{4}, f.IDs().IDs)
}

func TestABoundAccountServesOneFileOnly(t *testing.T) {
	dir := t.TempDir()
	served, other := filepath.Join(dir, "observer.ids"), filepath.Join(dir, "other")
	write(t, served, "4\n")
	write(t, other, "secret\n")
	var out strings.Builder
	require.NoError(t, hosts.Serve(strings.NewReader("read\n"+other+"\n\n0\n"), &out, served, ""))
	assert.Contains(t, out.String(), "unfit")
	assert.NotContains(t, out.String(), "secret")
	out.Reset()
	require.NoError(t, hosts.Serve(strings.NewReader("jars\n\n\n0\n"), &out, served, ""))
	assert.Contains(t, out.String(), "unfit")
	require.Error(t, hosts.Serve(strings.NewReader("read\n"), &out, served, ""))
}

func assertOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	assert.Equal(t, names, found)
}
