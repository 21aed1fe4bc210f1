package hosts_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"observer-patch/internal/hosts"
)

// sshd is a real OpenSSH server on the loopback interface, with keys of its own.
type sshd struct {
	dir  string
	port int
	user string
	// key is the path of the client's private key, known that of the known hosts.
	key, known string
}

// startSSHD starts a server. Options are those that stand before the client's key in authorized_keys.
func startSSHD(t *testing.T, options string) *sshd {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/sshd")
	require.NoError(t, err, "these tests need OpenSSH's server: apt-get install openssh-server")
	me, err := user.Current()
	require.NoError(t, err)
	s := &sshd{dir: t.TempDir(), user: me.Username, port: freePort(t)}
	if os.Geteuid() == 0 { // where sshd as root locks its unprivileged child in
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	}
	_, hostKey := writeKey(t, filepath.Join(s.dir, "host"))
	s.key = filepath.Join(s.dir, "client")
	_, clientKey := writeKey(t, s.key)
	s.known = filepath.Join(s.dir, "known_hosts")
	write(t, s.known, fmt.Sprintf("[127.0.0.1]:%d %s", s.port, ssh.MarshalAuthorizedKey(hostKey)))
	write(t, filepath.Join(s.dir, "authorized_keys"), strings.TrimSpace(options+" "+string(ssh.MarshalAuthorizedKey(clientKey)))+"\n")
	config := filepath.Join(s.dir, "sshd_config")
	write(t, config, fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"+
		"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nAllowTcpForwarding yes\nLogLevel ERROR\n", s.port, filepath.Join(s.dir, "host"), filepath.Join(s.dir, "authorized_keys")))
	cmd := exec.Command(program, "-D", "-e", "-f", config)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond, "sshd listens")
	return s
}

// node is a node behind the server.
func (s *sshd) node(file string) hosts.Node {
	return hosts.Node{ID: 1, Roles: []hosts.Role{hosts.Broker}, Address: "127.0.0.1", File: file,
		Transport: hosts.TransportSpec{Kind: hosts.SSH, User: s.user, Port: s.port, Key: s.key, KnownHosts: s.known}}
}

func writeKey(t *testing.T, path string) (ed25519.PrivateKey, ssh.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "test")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return private, key
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
