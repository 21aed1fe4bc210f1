package hosts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshTimeout bounds the making of a connection.
const sshTimeout = 15 * time.Second

// agentCommand is what is asked for where a forced command decides what runs.
const agentCommand = "observer-patch file-agent"

// shell runs the script on a node over ssh. Host keys are always checked against known_hosts:
// who answers in a node's name could otherwise say that it has a list which it has not.
type shell struct {
	node    Node
	getenv  func(string) string
	command string

	mu     sync.Mutex
	client *ssh.Client
	closer []io.Closer
}

func newShell(n Node, getenv func(string) string) (*shell, error) {
	s := &shell{node: n, getenv: getenv, command: commandLine(n.Transport.Become)}
	if n.Transport.Forced {
		s.command = agentCommand
	}
	return s, nil
}

// Close ends the connection and what it went through.
func (s *shell) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	return nil
}

// drop closes what there is; a connection that is already broken has nothing to say about it.
func (s *shell) drop() {
	if s.client != nil {
		_ = s.client.Close()
	}
	for _, c := range s.closer {
		_ = c.Close()
	}
	s.client, s.closer = nil, nil
}

func (s *shell) run(ctx context.Context, input []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		if err := s.connect(ctx); err != nil {
			s.drop()
			return nil, err
		}
	}
	session, err := s.client.NewSession()
	if err != nil {
		s.drop()
		return nil, fmt.Errorf("ssh session: %w", err)
	}
	defer session.Close() // it has ended, or its connection is dropped
	var out, errs limited
	out.limit, errs.limit = maxAnswer, 4096
	session.Stdin, session.Stdout, session.Stderr = bytes.NewReader(input), &out, &errs
	done := make(chan error, 1)
	go func() { done <- session.Run(s.command) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		s.drop()
		<-done
		return nil, ctx.Err()
	}
	var ended *ssh.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.drop()
	}
	return out.answer(err, &errs, "ssh")
}

// connect makes the connection, directly, through a jump host, or through a program.
func (s *shell) connect(ctx context.Context) error {
	spec := s.node.Transport
	ctx, cancel := context.WithTimeout(ctx, sshTimeout)
	defer cancel()
	db, err := s.knownHosts()
	if err != nil {
		return err
	}
	auth, err := s.auth()
	if err != nil {
		return err
	}
	name := cmp.Or(spec.User, s.getenv("USER"))
	if name == "" {
		return errors.New("ssh: no user is named, and USER is not set")
	}
	target := net.JoinHostPort(s.node.Address, strconv.Itoa(cmp.Or(spec.Port, 22)))
	var conn net.Conn
	switch {
	case len(spec.Proxy) > 0:
		conn, err = s.proxy()
	case spec.Jump != "":
		user, jump := jumpHost(spec.Jump, name)
		var through *ssh.Client
		if through, err = handshake(ctx, dialer, jump, user, auth, db); err == nil {
			s.closer = append(s.closer, through)
			conn, err = through.DialContext(ctx, "tcp", target)
		}
	default:
		conn, err = dialer(ctx, target)
	}
	if err != nil {
		return err
	}
	s.client, err = handshake(ctx, func(context.Context, string) (net.Conn, error) { return conn, nil }, target, name, auth, db)
	return err
}

func dialer(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: sshTimeout}).DialContext(ctx, "tcp", address)
}

// jumpHost takes [user@]host[:port] apart.
func jumpHost(text, user string) (string, string) {
	if u, host, ok := strings.Cut(text, "@"); ok {
		user, text = u, host
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		text = net.JoinHostPort(strings.Trim(text, "[]"), "22")
	}
	return user, text
}

// handshake makes an ssh client on a connection; ctx bounds the handshake.
func handshake(ctx context.Context, dial func(context.Context, string) (net.Conn, error), address, user string, auth []ssh.AuthMethod, db *knownhosts.HostKeyDB) (*ssh.Client, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("ssh to %s: %w", address, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the handshake then fails
	defer stop()
	config := &ssh.ClientConfig{User: user, Auth: auth, HostKeyCallback: db.HostKeyCallback(), HostKeyAlgorithms: db.HostKeyAlgorithms(address), Timeout: sshTimeout}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close() // the error is why
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case knownhosts.IsHostUnknown(err):
			err = fmt.Errorf("its host key is not in known_hosts; verify it and add it (%w)", err)
		case knownhosts.IsHostKeyChanged(err):
			err = fmt.Errorf("its host key is not the one in known_hosts: another machine answers, or it was installed anew (%w)", err)
		}
		return nil, fmt.Errorf("ssh to %s as %s: %w", address, user, err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

func (s *shell) knownHosts() (*knownhosts.HostKeyDB, error) {
	path := s.node.Transport.KnownHosts
	if path == "" {
		path = filepath.Join(s.getenv("HOME"), ".ssh", "known_hosts")
	}
	db, err := knownhosts.NewDB(path)
	if err != nil {
		return nil, fmt.Errorf("ssh known hosts: %w; host keys are always checked", err)
	}
	return db, nil
}

func (s *shell) auth() ([]ssh.AuthMethod, error) {
	if path := s.node.Transport.Key; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("ssh key: %w", err)
		}
		key, err := ssh.ParsePrivateKey(text)
		var locked *ssh.PassphraseMissingError
		if errors.As(err, &locked) {
			return nil, fmt.Errorf("ssh key %s has a passphrase: add it to the agent, and name no key", path)
		}
		if err != nil {
			return nil, fmt.Errorf("ssh key %s: %w", path, err)
		}
		return []ssh.AuthMethod{ssh.PublicKeys(key)}, nil
	}
	socket := s.getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("ssh: no key is named, and there is no agent (SSH_AUTH_SOCK)")
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("ssh agent: %w", err)
	}
	s.closer = append(s.closer, conn)
	return []ssh.AuthMethod{ssh.PublicKeysCallback(agent.NewClient(conn).Signers)}, nil
}

// proxy starts the program whose standard input and output are the connection.
func (s *shell) proxy() (net.Conn, error) {
	r := placeholders(s.node)
	var argv []string
	for _, w := range s.node.Transport.Proxy {
		argv = append(argv, r.Replace(w))
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("ssh proxy: %w", err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	err = errors.Join(err, theirs.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ssh proxy: %w", err), ours.Close())
	}
	s.closer = append(s.closer, program{cmd})
	return proxied{ours, address(s.node.Address)}, nil
}

// proxied is a connection through a program; what it is told to connect to stands for its address.
type proxied struct {
	net.Conn
	remote address
}

// RemoteAddr gives the node's address.
func (p proxied) RemoteAddr() net.Addr { return p.remote }

// address is a host as known_hosts looks for one.
type address string

// Network gives the name of the network.
func (address) Network() string { return "tcp" }

// String gives host and port; the port does not matter.
func (a address) String() string { return net.JoinHostPort(string(a), "22") }

// program ends with its whole process group.
type program struct{ cmd *exec.Cmd }

// Close kills the program and waits until it is gone; how a killed one ended says nothing.
func (p program) Close() error {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
	return nil
}

// socketPair gives a connection and the file at its other end.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	here, there := os.NewFile(uintptr(fds[0]), "proxy"), os.NewFile(uintptr(fds[1]), "proxy")
	conn, err := net.FileConn(here)
	err = errors.Join(err, here.Close())
	if err != nil {
		return nil, nil, errors.Join(err, there.Close())
	}
	return conn, there, nil
}
