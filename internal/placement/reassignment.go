package placement

import (
	"encoding/json"
	"slices"
)

// reassignment is the file that kafka-reassign-partitions reads.
type reassignment struct {
	Version    int      `json:"version"`
	Partitions []moveTo `json:"partitions"`
}

type moveTo struct {
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Replicas  []int32  `json:"replicas"`
	LogDirs   []string `json:"log_dirs"`
}

// Reassignment gives the changes as the JSON that kafka-reassign-partitions --execute reads. Where
// an observer is replaced it is the first of the two steps; run the plan again for the second.
func Reassignment(changes []Change, isObserver func(int32) bool) ([]byte, error) {
	r := reassignment{Version: 1, Partitions: []moveTo{}}
	for _, c := range changes {
		if !c.Differs() {
			continue
		}
		to := c.Step(isObserver)
		m := moveTo{Topic: c.Topic, Partition: c.ID, Replicas: to}
		for range to {
			m.LogDirs = append(m.LogDirs, "any")
		}
		r.Partitions = append(r.Partitions, m)
	}
	slices.SortFunc(r.Partitions, func(a, b moveTo) int {
		if a.Topic != b.Topic {
			if a.Topic < b.Topic {
				return -1
			}
			return 1
		}
		return int(a.Partition - b.Partition)
	})
	return json.MarshalIndent(r, "", " ")
}
