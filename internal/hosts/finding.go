package hosts

import (
	"fmt"
	"slices"
)

// Seen is one node's file as it was read, or why it could not be.
type Seen struct {
	Node Node
	File File
	Err  error
	// Jars are the digests of the Kafka jars, by name, where the inventory names a Kafka home.
	Jars    map[string]string
	JarsErr error
}

// Finding is something about the files that an operator should look at.
type Finding struct {
	Node int32 `json:"node"`
	// Code is unreadable, missing, unusable, tokens, writable or differs.
	Code string `json:"code"`
	Text string `json:"text"`
	// Do says what to do about it.
	Do string `json:"do"`
}

// Findings judges the files of a cluster's nodes: who can write one decides who may be lost, and
// nodes with different lists contradict each other.
func Findings(all []Seen) []Finding {
	out := []Finding{}
	find := func(n Node, code, do, format string, args ...any) {
		out = append(out, Finding{n.ID, code, fmt.Sprintf("%s: ", n.File) + fmt.Sprintf(format, args...), do})
	}
	usual, differ := usualList(all)
	have := 0
	for _, s := range all {
		if s.Err == nil && s.File.Exists {
			have++
		}
	}
	for _, s := range all {
		switch {
		case s.Err != nil:
			out = append(out, Finding{s.Node.ID, "unreadable", s.Err.Error(), "make the node reachable, or correct the inventory"})
			continue
		case !s.File.Exists:
			find(s.Node, "missing", "correct the path, or write the file, an empty one for no observers", "there is no such file, %d of %d nodes have one: a running node goes on with the list that it had, and one that starts has that of KAFKA_OBSERVER_BROKER_IDS or none", have, len(all))
			continue
		}
		ids := s.File.IDs()
		switch {
		case len(ids.IDs) == 0 && !ids.Blank && !ids.None:
			find(s.Node, "unusable", "write a list", "no broker id among its tokens %s: the node keeps the list it had", ids.UnknownTokens())
			continue
		case len(ids.Unknown) > 0 && !ids.None:
			find(s.Node, "tokens", "take them out", "it has what is no broker id and is ignored: %s", ids.UnknownTokens())
		}
		if s.File.Mode&0o022 != 0 {
			find(s.Node, "writable", "chmod go-w "+Quote(s.Node.File), "others than its owner may write it (mode %04o)", s.File.Mode)
		}
		if differ && !slices.Equal(ids.IDs, usual) {
			find(s.Node, "differs", "compare the files on all nodes, controllers first, and write the same list everywhere", "it says %v, most nodes say %v", ids.IDs, usual)
		}
	}
	return out
}

// usualList gives the list that most readable files have, of equally frequent ones that of the
// first node, and whether any file has another one.
func usualList(all []Seen) (usual []int32, differ bool) {
	count := map[string]int{}
	best := 0
	for _, s := range all {
		if s.Err == nil && s.File.Exists {
			count[fmt.Sprint(s.File.IDs().IDs)]++
		}
	}
	for _, s := range all {
		if s.Err != nil || !s.File.Exists {
			continue
		}
		ids := s.File.IDs().IDs
		if n := count[fmt.Sprint(ids)]; n > best {
			best, usual = n, ids
		}
	}
	return usual, len(count) > 1
}
