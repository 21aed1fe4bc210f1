//go:build throughput

package throughput

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// processors parts those that this process may use, so that the producer takes nothing from the
// brokers, whichever are measured.
func processors(t *testing.T) (producers, nodes []int) {
	var may unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &may))
	for cpu := range len(may) * strconv.IntSize {
		if may.IsSet(cpu) {
			nodes = append(nodes, cpu)
		}
	}
	last := len(nodes) - 1
	require.Positive(t, last, "brokers and producer need a processor each")
	return nodes[last:], nodes[:last]
}

// bind has the process run on the processors only. Threads that it makes later do what the thread
// does that makes them; hence twice.
func bind(t *testing.T, pid int, cpus []int) {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	for range 2 {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		require.NoError(t, err)
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			require.NoError(t, err)
			if err := unix.SchedSetaffinity(id, &set); !errors.Is(err, unix.ESRCH) { // a thread that has ended
				require.NoError(t, err)
			}
		}
	}
}

// ticks is how many of the clock's ticks of /proc are a second (USER_HZ, proc_pid_stat(5)).
const ticks = 100

// processor gives the processor time that the brokers have used, user and system.
func (v *variant) processor(t *testing.T) time.Duration {
	sum := time.Duration(0)
	for _, n := range v.cluster.Nodes {
		if !n.IsBroker() {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		require.NoError(t, err)
		// The second field, the name, may hold anything; utime and stime are the 14th and 15th.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		for _, f := range fields[11:13] {
			n, err := strconv.ParseInt(string(f), 10, 64)
			require.NoError(t, err)
			sum += time.Duration(n) * time.Second / ticks
		}
	}
	return sum
}
