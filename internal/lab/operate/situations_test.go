//go:build cluster

package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/exit"
	"observer-patch/internal/lab/probe"
)

// book runs the commands of docs/runbook.md as they stand there: word for word, in a process of its
// own, with 'prod' in the file of contexts, and 'yes' typed where it asks.
type book struct {
	*rig
	lines     map[line]bool
	ran       map[line]bool
	situation string
	env       []string
	inventory string
	// home stands for /opt/kafka, programs has what stands for those of other machines.
	home, programs string
}

// open makes the file of contexts.
func open(t *testing.T, r *rig) *book {
	t.Helper()
	b := &book{rig: r, lines: runbookLines(t), ran: map[line]bool{}, inventory: r.args[3], home: t.TempDir(), programs: t.TempDir()}
	contexts := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(contexts, fmt.Appendf(nil, "contexts:\n  prod:\n    bootstrap-servers: %q\n    inventory: %q\n", strings.Join(r.cluster.Addrs(), ","), b.inventory), 0o644))
	b.env = append(os.Environ(), toolVariable+"=1", "OBSERVER_PATCH_CONFIG="+contexts, "OBSERVER_PATCH_STATE="+r.state, "PATH="+b.programs+":"+os.Getenv("PATH"))
	return b
}

// meets begins a situation.
func (b *book) meets(t *testing.T, situation string, do func(*book)) {
	t.Run(situation, func(t *testing.T) {
		part := *b
		part.rig, part.situation = b.in(t), situation
		do(&part)
	})
}

// command makes the command, which the runbook has to have and the situation to be its own.
func (b *book) command(in, command string) *exec.Cmd {
	b.t.Helper()
	l := line{in, command}
	require.True(b.t, b.lines[l], "docs/runbook.md has no %q under %q", command, in)
	require.Equal(b.t, b.situation, situations[l], "%v", l)
	b.ran[l] = true
	self, err := os.Executable()
	require.NoError(b.t, err)
	words := strings.Fields(strings.ReplaceAll(command, "/opt/kafka", b.home))
	cmd := exec.CommandContext(b.ctx, self, words[1:]...)
	cmd.Env, cmd.Stdin = b.env, strings.NewReader("yes\n")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// does runs a command, wants its exit code, and gives everything that it said.
func (b *book) does(code int, in, command string) string {
	b.t.Helper()
	cmd := b.command(in, command)
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		require.NoError(b.t, err)
	}
	b.t.Logf("%s\n%s", command, text)
	require.Equal(b.t, code, cmd.ProcessState.ExitCode(), "%s", command)
	return string(text)
}

// begins starts a command.
func (b *book) begins(in, command string) *process {
	b.t.Helper()
	p := &process{cmd: b.command(in, command), said: filepath.Join(b.t.TempDir(), "messages")}
	out, err := os.Create(p.said)
	require.NoError(b.t, err)
	defer out.Close() // the child has its own descriptor
	p.cmd.Stdout, p.cmd.Stderr = out, out
	require.NoError(b.t, p.cmd.Start())
	b.t.Cleanup(func() { p.kill(b.t) })
	return p
}

// all wants every command of these situations to have been run.
func (b *book) all(t *testing.T, met ...string) {
	t.Helper()
	for l, situation := range situations {
		for _, m := range met {
			require.True(t, situation != m || b.ran[l], "%v was not run", l)
		}
	}
}

// reads wants every text, and notes that the operator can read it there.
func (b *book) reads(symptom, said string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		require.Contains(b.t, said, text)
	}
	b.saw(symptom, "read there: '%s'", strings.Join(texts, "', '"))
}

// unreachable makes the files of these nodes unreachable until the function is called.
func (b *book) unreachable(run string, nodes ...int32) (restore func()) {
	b.t.Helper()
	text, err := os.ReadFile(b.inventory)
	require.NoError(b.t, err)
	away := string(text)
	for _, id := range nodes {
		path := b.cluster.Node(id).IDsPath()
		require.Contains(b.t, away, path+"}")
		away = strings.ReplaceAll(away, path+"}", path+", transport: {kind: command, run: ["+run+"]}}")
	}
	require.NoError(b.t, os.WriteFile(b.inventory, []byte(away), 0o644))
	return func() { require.NoError(b.t, os.WriteFile(b.inventory, text, 0o644)) }
}

// program writes a small program and gives its path.
func (b *book) program(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.programs, name)
	require.NoError(b.t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

// exists waits for a file.
func (b *book) exists(path string) {
	b.t.Helper()
	require.NoError(b.t, b.cluster.Await(b.ctx, time.Minute, path+" is there", func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}))
}

// refused tells whether a write with acks=all is refused for want of replicas.
func (b *book) refused(topic string) bool {
	b.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.cluster.Addrs()...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0))
	require.NoError(b.t, err)
	defer cl.Close()
	err = cl.ProduceSync(b.ctx, &kgo.Record{Value: []byte("x")}).FirstErr()
	if errors.Is(err, kerr.NotEnoughReplicas) {
		return true
	}
	require.NoError(b.t, err)
	return false
}

// isObserver wants 4 to be an observer in every file, out of the ISR, and the leaders at home.
func (b *book) isObserver() {
	b.t.Helper()
	b.until("4 is in no ISR", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) && len(isr) == 3 })
	for _, n := range b.cluster.Nodes {
		require.Equal(b.t, []string{"4"}, b.ids(n.ID), "node %d", n.ID)
	}
	v, err := probe.Metadata(b.ctx, b.cluster, "t")
	require.NoError(b.t, err)
	for _, p := range v.Partitions {
		require.Equal(b.t, p.Replicas[0], p.Leader, "%s-%d is led at home", p.Topic, p.ID)
	}
}

func TestTheRunbookWhileASyncReplicaLives(t *testing.T) {
	r := start(t, usual())
	r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4})
	r.produce("t", 500)
	b := open(t, r)
	b.meets(t, "the lists differ", (*book).listsDiffer)
	b.meets(t, "writes are refused", (*book).writesRefused)
	b.meets(t, "a file cannot be read", (*book).fileUnreadable)
	b.meets(t, "promoted and not in the ISR", (*book).notInISR)
	b.meets(t, "a reassignment does not end", (*book).reassignment)
	b.all(t, "the lists differ", "writes are refused", "a file cannot be read", "promoted and not in the ISR", "a reassignment does not end", "nodes were away")
}

// endAll ends the processes whose ids are in a file, a line each.
func endAll(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, pid := range strings.Fields(string(text)) {
		id, err := strconv.Atoi(pid)
		require.NoError(t, err)
		p, err := os.FindProcess(id)
		require.NoError(t, err)
		if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
	}
}

// listsDiffer: a promotion was killed when the controllers had the new list.
func (b *book) listsDiffer() {
	ready := filepath.Join(b.t.TempDir(), "ready")
	slow := b.program("slow", "IFS= read -r op\nif [ \"$op\" = write ]; then echo $$ >>"+ready+"; exec sleep 600; fi\n{ echo \"$op\"; cat; } | \"$@\"\n")
	b.t.Cleanup(func() { endAll(b.t, ready) }) // a tool that is killed does not end its transports
	restore := b.unreachable(slow, 1, 2, 3)
	tool := b.spawn(nil, "promote", "4", "--yes")
	b.exists(ready)
	tool.kill(b.t)
	restore()
	require.Empty(b.t, b.ids(101))
	require.Equal(b.t, []string{"4"}, b.ids(1))
	said := b.does(exit.Done, "`Rejecting AlterPartition` again and again", "observer-patch status --context prod")
	b.reads("S6, the lists differ: status", said, "NOT CERTAIN", "doubt: the file of node 1 says [4], others say []", "differs", "pending: promote of ", "cut off")
	said = b.does(exit.Done, "The lists differ", "observer-patch pending --context prod")
	b.reads("S6: pending", said, "cut off", "list []")
	b.does(exit.Done, "a promotion was killed, or nodes were away", "observer-patch pending --context prod")
	b.does(exit.Done, "The lists differ", "observer-patch pending --finish --context prod")
	for _, n := range b.cluster.Nodes {
		require.Empty(b.t, b.ids(n.ID), "node %d", n.ID)
	}
	b.until("4 is in every ISR", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	out, _ := b.run(exit.Done, "status")
	require.NotContains(b.t, out, "NOT CERTAIN")
	b.saw("S6: pending --finish", "every node has the list, 4 is in every ISR, status is certain again")
	b.run(exit.Done, "failback", "4", "--yes")
	b.isObserver()
}

// writesRefused: 2 and 3 are killed, and their machines are away.
func (b *book) writesRefused() {
	for _, id := range []int32{2, 3} {
		require.NoError(b.t, b.cluster.Node(id).Kill())
	}
	restore := b.unreachable("/bin/false", 2, 3)
	b.until("1 is alone", "t", func(leader int32, isr []int32) bool { return leader == 1 && len(isr) == 1 })
	require.True(b.t, b.refused("t"))
	said := b.does(exit.Done, "NOT_ENOUGH_REPLICAS, there is a leader", "observer-patch status --context prod")
	b.reads("S1/S2, NOT_ENOUGH_REPLICAS: status", said, "under min.insync.replicas 2", "under min.insync.replicas: no acks=all writes", "t-0")
	b.does(exit.Done, "Writes are refused", "observer-patch promote 4 --context prod")
	b.until("4 fills its place", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	require.False(b.t, b.refused("t"))
	b.saw("S1/S2: promote 4", "4 is in the ISR, writes are acknowledged again")

	restore()
	for _, id := range []int32{2, 3} {
		require.NoError(b.t, b.cluster.Restart(b.ctx, id))
	}
	b.situation = "nodes were away"
	b.does(exit.Done, "Something is pending", "observer-patch pending --finish --context prod")
	require.Empty(b.t, b.ids(2))
	b.situation = "writes are refused"
	said = b.does(exit.Done, "the zone is back", "observer-patch failback 4 --plan --context prod")
	b.reads("the zone is back: failback 4 --plan", said, "to wait for", "leaders to move home", "t-1")
	b.does(exit.Done, "The way back", "observer-patch failback 4 --plan --context prod")
	b.does(exit.Done, "The way back", "observer-patch failback 4 --timeout 30m --context prod")
	b.isObserver()
	b.saw("the zone is back: pending --finish, failback 4", "2 and 3 have the list and are in the ISR, leaders are at home, 4 is an observer")
}

// fileUnreadable: S7, the file of a broker is replaced by a folder.
func (b *book) fileUnreadable() {
	path := b.cluster.Node(2).IDsPath()
	require.NoError(b.t, os.Remove(path))
	require.NoError(b.t, os.Mkdir(path, 0o755))
	b.logs(2, "Failed to read observer ids")
	said := b.does(exit.Done, "`Failed to read observer ids`", "observer-patch status --context prod")
	b.reads("S7, 'Failed to read observer ids': status", said, "node 2 unreadable", "it is a directory", "NOT CERTAIN")
	b.until("the list is frozen", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) && len(isr) == 3 })
	require.NoError(b.t, os.Remove(path))
	require.NoError(b.t, b.cluster.Node(2).WriteIDs([]int32{4}))
	out, _ := b.run(exit.Done, "status")
	require.NotContains(b.t, out, "NOT CERTAIN")
}

// logs waits until a node's log has the text.
func (b *book) logs(node int32, text string) {
	b.t.Helper()
	require.NoError(b.t, b.cluster.Await(b.ctx, time.Minute, fmt.Sprintf("node %d logs %q", node, text), func(context.Context) error {
		log, err := os.ReadFile(b.cluster.Node(node).LogPath())
		if err == nil && !bytes.Contains(log, []byte(text)) {
			err = errors.New("not yet")
		}
		return err
	}))
}

// notInISR: 4 was promoted and is away.
func (b *book) notInISR() {
	b.run(exit.Done, "promote", "4", "--yes")
	require.NoError(b.t, b.cluster.Node(4).Kill())
	b.until("4 is out of the ISR", "t", func(_ int32, isr []int32) bool { return !has(isr, 4) })
	said := b.does(exit.Failed, "promoted, and not in the ISR", "observer-patch lag --observers none --context prod")
	b.reads("promoted, and not in the ISR: lag --observers none", said, "its broker is not alive")
	b.does(exit.Failed, "Promoted and not in the ISR", "observer-patch lag --observers none --context prod")
	said = b.does(exit.Done, "Promoted and not in the ISR", "observer-patch status --context prod")
	b.reads("promoted, and not in the ISR: status", said, "under-replicated 2")
	require.NoError(b.t, b.cluster.Restart(b.ctx, 4))
	b.until("4 has joined", "t", func(_ int32, isr []int32) bool { return has(isr, 4) })
	b.run(exit.Done, "failback", "4", "--yes")
	b.isObserver()
}

// reassignment: a move that this tool began is cut off, and its sync target is dead.
func (b *book) reassignment() {
	libs := filepath.Join(b.home, "libs")
	require.NoError(b.t, os.MkdirAll(libs, 0o755))
	for _, jar := range b.cluster.Spec.Classpath {
		text, err := os.ReadFile(jar)
		require.NoError(b.t, err)
		require.NoError(b.t, os.WriteFile(filepath.Join(libs, filepath.Base(jar)), text, 0o644))
	}
	b.topic("r", []int32{1, 2, 4})
	b.load("r", 8_000_000)
	layout := filepath.Join(b.t.TempDir(), "layout.json")
	require.NoError(b.t, os.WriteFile(layout, []byte(`{"version":1,"replicas":[{"count":1,"constraints":{"rack":"zone-1"}},{"count":1,"constraints":{"rack":"zone-3"}}],"observers":[{"count":1,"constraints":{"rack":"zone-4"}}]}`), 0o644))
	tool := b.spawn(nil, "plan", "--placement", "r="+layout, "--execute", "--throttle", "300000", "--yes")
	require.NoError(b.t, b.cluster.Await(b.ctx, time.Minute, "the copy is under way", func(ctx context.Context) error {
		v, err := probe.Metadata(ctx, b.cluster, "r")
		if err == nil && !has(v.Partitions[0].Replicas, 3) {
			err = fmt.Errorf("replicas %v", v.Partitions[0].Replicas)
		}
		return err
	}))
	require.NoError(b.t, b.cluster.Node(3).Kill())
	tool.kill(b.t)
	b.until("3 is away", "t", func(_ int32, isr []int32) bool { return !has(isr, 3) })
	said := b.does(exit.Done, "a reassignment does not end", "observer-patch doctor --kafka-home /opt/kafka")
	b.reads("S9, a reassignment does not end: doctor", said, "set full")
	out, _ := b.run(exit.Done, "status")
	b.reads("S9: status", out, "reassigning 1", "observer-patch plan --finish goes on with it")
	require.NoError(b.t, b.cluster.Restart(b.ctx, 3))
	b.does(exit.Done, "A reassignment does not end", "observer-patch plan --finish --context prod")
	v, err := probe.Metadata(b.ctx, b.cluster, "r")
	require.NoError(b.t, err)
	require.Equal(b.t, []int32{1, 3, 4}, v.Partitions[0].Replicas)
	left, err := b.throttles(b.ctx, "r")
	require.NoError(b.t, err)
	require.Empty(b.t, left)
	b.saw("S9: plan --finish when the sync target is back", "replicas 1, 3, 4, no throttle left")
}

func TestTheRunbookWhenNearlyEverythingIsLost(t *testing.T) {
	r := start(t, usual())
	r.topic("t", []int32{1, 2, 3, 4}, []int32{2, 3, 1, 4})
	r.produce("t", 500)
	b := open(t, r)
	b.meets(t, "only the observer is left", (*book).onlyObserver)
	b.meets(t, "no quorum", (*book).noQuorum)
	b.meets(t, "a sync broker of 2 + 1 has to be restarted", (*book).twoPlusOne)
	b.meets(t, "practise", (*book).practise)
	b.all(t, "only the observer is left", "no quorum", "a sync broker of 2 + 1 has to be restarted", "practise")
}

// onlyObserver: S4, with the recordings that the runbook says to make before.
func (b *book) onlyObserver() {
	recorder := b.begins("Recorded before", "observer-patch record --every 10s --context prod")
	b.exists(filepath.Join(b.state, mustOneCluster(b.t, b.state), "positions.json"))
	before := b.count("t")
	for _, id := range []int32{1, 2, 3} {
		require.NoError(b.t, b.cluster.Node(id).Kill())
	}
	b.until("no leader", "t", func(leader int32, _ []int32) bool { return leader < 0 })
	recorder.kill(b.t)
	said := b.does(exit.Failed, "`Leader: none`, only the observer is alive", "observer-patch lag --context prod")
	b.reads("S4, 'Leader: none': lag", said, "t-0", "its broker is not alive", "log end")
	require.Regexp(b.t, `t-0 +4 +observer.* 250 +0\b`, said, "how far 4 is")
	b.does(exit.Failed, "Only the observer is left", "observer-patch lag --context prod")
	said = b.does(exit.Failed, "Only the observer is left", "observer-patch promote 4 --context prod")
	b.reads("S4: promote 4", said, "observer-patch elect unclean --dry-run shows what that would lose")
	said = b.does(exit.Refused, "Only the observer is left", "observer-patch elect unclean --dry-run --context prod")
	b.reads("S4: elect unclean --dry-run", said, "log of broker 4: epoch 0, end 250", "at most 0 records", "data-loss")
	said = b.does(exit.Done, "Only the observer is left", "observer-patch elect unclean --accept-data-loss --context prod")
	b.reads("S4: elect unclean --accept-data-loss", said, "led by 4", "restart no broker until this has ended")
	for _, id := range []int32{1, 2, 3} {
		require.NoError(b.t, b.cluster.Restart(b.ctx, id))
	}
	b.run(exit.Done, "failback", "4", "--timeout", "3m", "--yes")
	b.until("leaders are at home", "t", func(leader int32, isr []int32) bool { return leader != 4 && !has(isr, 4) && len(isr) == 3 })
	require.Equal(b.t, before, b.count("t"), "nothing is lost")
	b.saw("S4: records after it, against the bound of 0", "%d before, %d after", before, b.count("t"))
}

// mustOneCluster waits for the one folder below the state folder.
func mustOneCluster(t *testing.T, state string) string {
	t.Helper()
	var names []string
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(state)
		names = nil
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return err == nil && len(names) == 1
	}, time.Minute, 100*time.Millisecond)
	return names[0]
}

// noQuorum: S19, two of three controllers are killed.
func (b *book) noQuorum() {
	out, _ := b.run(exit.Done, "status")
	require.Contains(b.t, out, "with a majority")
	leader, err := b.cluster.ActiveController(b.ctx)
	require.NoError(b.t, err)
	// With the leader gone nobody goes on to say for a moment that all is well.
	gone := []int32{leader, 101}
	if leader == 101 {
		gone[1] = 102
	}
	for _, id := range gone {
		require.NoError(b.t, b.cluster.Node(id).Kill())
	}
	said := b.does(exit.Done, "two zones with their controllers are gone", "observer-patch status --context prod")
	b.reads("S19, no quorum: status", said, "not known: the controllers' quorum", "not known: reassignments")
	require.Regexp(b.t, "WITHOUT A MAJORITY|whether with a majority is not known", said)
	for _, id := range gone {
		require.NoError(b.t, b.cluster.Restart(b.ctx, id))
	}
	require.NoError(b.t, b.cluster.Await(b.ctx, time.Minute, "the quorum is back", func(ctx context.Context) error {
		id, err := b.cluster.ActiveController(ctx)
		if err == nil && id < 0 {
			err = errors.New("no controller")
		}
		return err
	}))
}

// twoPlusOne: topic s has two sync replicas.
func (b *book) twoPlusOne() {
	b.topic("s", []int32{1, 2, 4}, []int32{2, 1, 4})
	b.produce("s", 100)
	ready := filepath.Join(b.t.TempDir(), "ready")
	asked := filepath.Join(b.t.TempDir(), "asked")
	b.program("ssh", "echo \"$@\" >"+asked+"\ntouch "+ready+"\n")
	said := b.does(exit.Done, "a broker has to be restarted in a 2 + 1 layout", "observer-patch restart 1 --dry-run --context prod")
	b.reads("2 + 1: restart 1 --dry-run", said, "alone it would stop the writes of 2 partitions: s-0, s-1", "promote broker 4", "dry run")
	require.Equal(b.t, []string{"4"}, b.ids(101))
	w := b.writes("s", 2)
	w.went(b.rig, 20)
	tool := b.begins("Restart a sync broker", "observer-patch restart 1 --stand-in 4 --context prod -- ssh kafka-1 sudo systemctl restart kafka")
	b.exists(ready)
	require.NoError(b.t, b.cluster.Node(1).Stop(b.ctx))
	require.NoError(b.t, b.cluster.Restart(b.ctx, 1))
	tool.ends(b.t)
	words, err := os.ReadFile(asked)
	require.NoError(b.t, err)
	require.Equal(b.t, "kafka-1 sudo systemctl restart kafka\n", string(words))
	require.Equal(b.t, []string{"4"}, b.ids(101))

	tool = b.begins("Restart a sync broker", "observer-patch restart 1 --context prod")
	b.says(tool, "restart broker 1 now")
	tool.kill(b.t)
	require.NoError(b.t, b.cluster.Node(1).Stop(b.ctx))
	require.NoError(b.t, b.cluster.Restart(b.ctx, 1))
	said = b.does(exit.Done, "Restart a sync broker", "observer-patch restart --finish --context prod")
	b.reads("2 + 1: restart --finish after the tool was killed", said, "broker 4 is an observer again")
	w.stop()
	_, refused, _ := w.counts()
	require.Zero(b.t, refused, "refused with NOT_ENOUGH_REPLICAS")
	b.saw("2 + 1: restart 1 with a command and by hand", "broker 1 restarted twice, 0 writes with acks=all refused, 4 is an observer again")
}

// practise: nothing is wrong.
func (b *book) practise() {
	said := b.does(exit.Done, "Practise", "observer-patch drill 4 --context prod")
	b.reads("drill 4", said, "broker 4 was promoted, led the canary and is an observer again")
	auto := b.begins("Recorded before", "observer-patch auto --enable --policy under-min-isr --context prod")
	audit := filepath.Join(b.state, mustOneCluster(b.t, b.state), "audit.jsonl")
	b.event(audit, "START", time.Time{})
	require.NoError(b.t, auto.cmd.Process.Signal(syscall.SIGINT))
	_ = auto.cmd.Wait() // how it ends is not the runbook's
	b.saw("auto --enable --policy under-min-isr", "it runs, by its audit log")
}
