package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"
)

// Node is one process of a cluster: a broker, a controller, both, or ZooKeeper.
type Node struct {
	ID   int32
	role role
	// Dir holds the node's data, properties, log and identity file.
	Dir string
	// Port is the client port of a broker, the quorum port of a controller.
	Port int

	quorumPort int // of a combined node
	host       string
	prefix     []string // what runs java, e.g. in another network
	classpath  []string
	java       string
	spawner    *spawner

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when the running process is gone
	paused bool
	// logFrom is where the running process's lines begin in the log.
	logFrom int64
}

// IsBroker tells whether the node serves clients.
func (n *Node) IsBroker() bool { return n.role == roleBroker || n.role == roleCombined }

// IsController tells whether the node is in the KRaft quorum.
func (n *Node) IsController() bool { return n.role == roleController || n.role == roleCombined }

// Addr is host:port of the node's own listener.
func (n *Node) Addr() string { return n.host + ":" + strconv.Itoa(n.Port) }

// LogPath is the file with everything the process has printed, over all its restarts.
func (n *Node) LogPath() string { return filepath.Join(n.Dir, "node.log") }

// IDsPath is the node's identity file.
func (n *Node) IDsPath() string { return filepath.Join(n.Dir, "observer.ids") }

// DataDir is the folder with partitions.
func (n *Node) DataDir() string { return filepath.Join(n.Dir, "data") }

// WriteIDs replaces the identity file in one step: a new file, synced, renamed in. The new one is
// readable whatever the mode of the old one was.
func (n *Node) WriteIDs(ids []int32) error {
	f, err := renameio.NewPendingFile(n.IDsPath(), renameio.WithStaticPermissions(0o644))
	if err != nil {
		return fmt.Errorf("identity file of node %d: %w", n.ID, err)
	}
	defer f.Cleanup() // does nothing after the replacement
	if _, err := f.Write(idsFile(ids)); err != nil {
		return fmt.Errorf("identity file of node %d: %w", n.ID, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("identity file of node %d: %w", n.ID, err)
	}
	return nil
}

// HasIDs tells whether the identity file is as WriteIDs writes it for the ids.
func (n *Node) HasIDs(ids []int32) (bool, error) {
	have, err := os.ReadFile(n.IDsPath())
	if err != nil {
		return false, fmt.Errorf("identity file of node %d: %w", n.ID, err)
	}
	return bytes.Equal(have, idsFile(ids)), nil
}

func idsFile(ids []int32) []byte {
	b := []byte("# observers\n")
	for _, id := range ids {
		b = fmt.Appendln(b, id)
	}
	return b
}

// Start starts the process on the node's data. It does not wait for readiness.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running() {
		return fmt.Errorf("node %d is running already", n.ID)
	}
	log, err := os.OpenFile(n.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("log of node %d: %w", n.ID, err)
	}
	defer log.Close() // the child has its own descriptor
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("log of node %d: %w", n.ID, err)
	}
	line := append(append(slices.Clone(n.prefix), n.java), n.arguments()...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = n.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KAFKA_OBSERVER_IDS_FILE="+n.IDsPath())
	if err := n.spawner.start(cmd); err != nil {
		return fmt.Errorf("start node %d: %w", n.ID, err)
	}
	n.cmd, n.exited, n.paused, n.logFrom = cmd, make(chan struct{}), false, info.Size()
	go func(exited chan struct{}) {
		_ = cmd.Wait() // how a killed process ended says nothing
		close(exited)
	}(n.exited)
	return nil
}

func (n *Node) arguments() []string {
	heap := "-Xmx320m"
	if !n.IsBroker() {
		heap = "-Xmx192m"
	}
	args := append(jvmFlags(), heap,
		"-Dlog4j.configuration=file:"+filepath.Join(n.Dir, "log4j.properties"),
		"-Dlog4j2.configurationFile="+filepath.Join(n.Dir, "log4j2.properties"),
		"-cp", strings.Join(n.classpath, string(os.PathListSeparator)))
	if n.role == roleZooKeeper {
		return append(args, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(n.Dir, "node.properties"))
	}
	return append(args, "kafka.Kafka", filepath.Join(n.Dir, "node.properties"))
}

// jvmFlags make a node cheap: many of them share two cores.
func jvmFlags() []string {
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true"}
}

// Running tells whether the process is alive (a paused one is).
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running()
}

func (n *Node) running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// PID gives the id of the running process, 0 when it is not running.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running() {
		return 0
	}
	return n.cmd.Process.Pid
}

// signal sends sig to the process and gives the channel that is closed when it is gone, nil when
// it was not running.
func (n *Node) signal(sig syscall.Signal) (<-chan struct{}, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running() {
		return nil, nil
	}
	if err := n.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("signal %v to node %d: %w", sig, n.ID, err)
	}
	return n.exited, nil
}

// Kill sends SIGKILL and waits until the process is gone.
func (n *Node) Kill() error {
	gone, err := n.signal(syscall.SIGKILL)
	if err == nil && gone != nil {
		<-gone
	}
	return err
}

// Pause sends SIGSTOP: the process keeps its connections and answers nothing.
func (n *Node) Pause() error { return n.freeze(syscall.SIGSTOP, true) }

// Resume sends SIGCONT.
func (n *Node) Resume() error { return n.freeze(syscall.SIGCONT, false) }

func (n *Node) freeze(sig syscall.Signal, paused bool) error {
	_, err := n.signal(sig)
	if err == nil {
		n.mu.Lock()
		n.paused = paused
		n.mu.Unlock()
	}
	return err
}

// Answers tells whether the process is alive and not paused.
func (n *Node) Answers() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running() && !n.paused
}

// Stop asks the node to shut down in order and waits for it; a node that is still there when ctx
// ends is an error.
func (n *Node) Stop(ctx context.Context) error {
	gone, err := n.signal(syscall.SIGTERM)
	if err != nil || gone == nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("node %d did not shut down: %w", n.ID, ctx.Err())
	}
}
