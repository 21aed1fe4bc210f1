package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReassignmentsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "EOF",
		`{"partitions":[]}`:             "version 0: expected 1",
		`{"version":1}`:                 "at least one",
		`{"version":1,"partitions":[]}`: "at least one",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]} 1`:                                                       "after its end",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replica":[1]}]}`:                                                          `"replica"`,
		`{"version":1,"partitions":[{"partition":0,"replicas":[1]}]}`:                                                                     "name of 0 bytes",
		`{"version":1,"partitions":[{"topic":"t","partition":-1,"replicas":[1]}]}`:                                                        "0 or more",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[]}]}`:                                                          "0 replicas",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2,1]}]}`:                                                     "each once",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[-1]}]}`:                                                        "ids from 0",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[4294967297]}]}`:                                                "4294967297",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any"]}]}`:                                    "1 log_dirs for 2",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["/data"]}]}`:                                    "expected any",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[2]}]}`:              `entry 2, "t-0": it is there twice`,
		`{"version":2,"partitions":[{"topic":"t","partition":0,"replicas":[]},{"topic":"u","partition":1,"replicas":[1],"log_dirs":[]}]}`: `entry 2, "u-1": 0 log_dirs for 1`,
	} {
		_, err := ParseReassignment([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestEveryMistakeOfAReassignmentIsNamed(t *testing.T) {
	_, err := ParseReassignment([]byte(`{"version":2,"partitions":[{"topic":"t","partition":0,"replicas":[]},{"topic":"","partition":-1,"replicas":[1,1],"log_dirs":["/a","any"]}]}`))
	for _, want := range []string{"version 2", "0 replicas", "name of 0 bytes", "0 or more", "each once", "expected any"} {
		assert.ErrorContains(t, err, want)
	}
}

// Looking for twins among so many would take minutes.
func TestAnEntryWithTooManyReplicasIsRefusedAtOnce(t *testing.T) {
	var distinct strings.Builder
	for b := range 1_000_000 {
		fmt.Fprintf(&distinct, ",%d", b+1)
	}
	_, err := ParseReassignment([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[0` + distinct.String() + `]}]}`))
	assert.ErrorContains(t, err, "1000001 replicas: expected 1 to 1000")
}

func TestTheAssignmentsBeforeAreReadBack(t *testing.T) {
	changes := []Change{
		{Topic: "u", ID: 1, From: []int32{2, 1}, To: []int32{1, 2}},
		{Topic: "t", ID: 10, From: []int32{1, 2, 4}, To: []int32{1, 2, 5}, Added: []int32{5}, Removed: []int32{4}},
		{Topic: "t", ID: 9, From: []int32{1}, To: []int32{1}},
		{Topic: "t", ID: 2, From: []int32{3}, To: []int32{1, 3}, Added: []int32{1}},
	}
	text, err := Before(changes)
	require.NoError(t, err)
	got, err := ParseReassignment(text)
	require.NoError(t, err)
	assert.Equal(t, []Partition{
		{Topic: "t", ID: 2, Replicas: []int32{3}, Leader: -1}, {Topic: "t", ID: 10, Replicas: []int32{1, 2, 4}, Leader: -1}, {Topic: "u", ID: 1, Replicas: []int32{2, 1}, Leader: -1},
	}, got, "what does not differ was not replaced")
}

// A change and the one that takes it back name the same brokers, the other way round.
func TestAChangeAndItsReverse(t *testing.T) {
	observer := func(b int32) bool { return b >= 4 }
	there := Partition{Topic: "t", Replicas: []int32{1, 2, 4}}.To([]int32{2, 3, 5}, observer)
	assert.Equal(t, Change{Topic: "t", From: []int32{1, 2, 4}, To: []int32{2, 3, 5}, Added: []int32{3, 5}, Removed: []int32{1, 4}, Copying: []int32{5}}, there)
	back := Partition{Topic: "t", Replicas: there.To}.To(there.From, observer)
	assert.Equal(t, Change{Topic: "t", From: there.To, To: there.From, Added: there.Removed, Removed: there.Added, Copying: []int32{4}}, back)
	assert.Equal(t, []int32{1, 2, 4, 5}, back.Step(observer), "also the way back is in two steps")
}

func FuzzAReassignmentIsReadOrRefused(f *testing.F) {
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}`))
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"","partition":-1,"replicas":[1,1]}]}`))
	f.Add([]byte(`{"version":1,"partitions":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		parts, err := ParseReassignment(text)
		if err != nil {
			return
		}
		var changes []Change
		for _, p := range parts {
			require.NotEmpty(t, p.Replicas)
			changes = append(changes, Change{Topic: p.Topic, ID: p.ID, From: p.Replicas})
		}
		written, err := Before(changes)
		require.NoError(t, err)
		again, err := ParseReassignment(written)
		require.NoError(t, err)
		require.ElementsMatch(t, parts, again)
	})
}
