package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// Broker is where a replica can lie.
type Broker struct {
	ID   int32
	Rack string
	// Observer is set when its id is in the identity files.
	Observer bool
	// Replicas is how many it holds now; new ones go to the brokers that hold the fewest.
	Replicas int
}

// Partition is what lies there now.
type Partition struct {
	Topic    string  `json:"topic"`
	ID       int32   `json:"partition"`
	Replicas []int32 `json:"replicas"`
	// Leader is -1 when there is none.
	Leader int32 `json:"-"`
}

// Change is the new assignment of a partition.
type Change struct {
	Topic string  `json:"topic"`
	ID    int32   `json:"partition"`
	From  []int32 `json:"from"`
	To    []int32 `json:"to"`
	// Added get a copy, Removed lose theirs.
	Added   []int32 `json:"added"`
	Removed []int32 `json:"removed"`
	// Copying are those of Added that are observers: their copy is one that no ISR waits for.
	Copying []int32 `json:"copying"`
}

// To gives the change of the partition to the replicas; isObserver says whose copy no ISR waits for.
func (p Partition) To(replicas []int32, isObserver func(int32) bool) Change {
	c := Change{Topic: p.Topic, ID: p.ID, From: p.Replicas, To: replicas, Added: []int32{}, Removed: []int32{}, Copying: []int32{}}
	for _, b := range c.To {
		if !slices.Contains(c.From, b) {
			c.Added = append(c.Added, b)
			if isObserver(b) {
				c.Copying = append(c.Copying, b)
			}
		}
	}
	for _, b := range c.From {
		if !slices.Contains(c.To, b) {
			c.Removed = append(c.Removed, b)
		}
	}
	return c
}

// Differs tells whether anything is to be done.
func (c Change) Differs() bool { return !slices.Equal(c.From, c.To) }

// Step gives the assignment of the first of two steps when an observer is replaced: the new one
// beside the old one, which goes when the new one has everything. It is To when no observer is
// replaced by another one: a controller does not know an observer's lag, so a move in one step
// would drop the only remote copy (R6).
func (c Change) Step(isObserver func(int32) bool) []int32 {
	var old []int32
	for _, b := range c.Removed {
		if isObserver(b) {
			old = append(old, b)
		}
	}
	if len(old) == 0 || len(c.Copying) == 0 {
		return c.To
	}
	return append(slices.Clone(c.To), old...)
}

// Assign finds the partition's new assignment: as many of its present replicas stay as the
// placement allows, the others go to the least loaded brokers that fit, sync replicas come first,
// the present leader's order is kept, observers come last. Loads of the brokers are updated.
func Assign(p Placement, part Partition, brokers []Broker) (Change, error) {
	used := map[int32]bool{}
	sync, err := choose(p.Replicas, part.Replicas, brokers, used, false)
	if err != nil {
		return Change{}, fmt.Errorf("%s-%d: sync replicas: %w", part.Topic, part.ID, err)
	}
	observers, err := choose(p.Observers, part.Replicas, brokers, used, true)
	if err != nil {
		return Change{}, fmt.Errorf("%s-%d: observers: %w", part.Topic, part.ID, err)
	}
	// What stays keeps its order; what is new comes after it.
	order := func(list []int32) []int32 {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(place(part.Replicas, a), place(part.Replicas, b)) })
		return list
	}
	c := part.To(append(order(sync), order(observers)...), func(b int32) bool { return slices.Contains(observers, b) })
	for i := range brokers {
		switch {
		case slices.Contains(c.Added, brokers[i].ID):
			brokers[i].Replicas++
		case slices.Contains(c.Removed, brokers[i].ID):
			brokers[i].Replicas--
		}
	}
	return c, nil
}

// place gives where a replica stands in the present assignment, after all of them when it is new.
func place(replicas []int32, b int32) int {
	if i := slices.Index(replicas, b); i >= 0 {
		return i
	}
	return len(replicas)
}

// choose fills every constraint, those that name a rack first: present replicas first, then the
// least loaded.
func choose(list []Constraint, present []int32, brokers []Broker, used map[int32]bool, observers bool) ([]int32, error) {
	var out []int32
	ordered := slices.Clone(list)
	slices.SortStableFunc(ordered, func(a, b Constraint) int { return cmp.Compare(boolInt(a.Rack == ""), boolInt(b.Rack == "")) })
	for _, c := range ordered {
		var fit []Broker
		for _, b := range brokers {
			if b.Observer == observers && !used[b.ID] && (c.Rack == "" || b.Rack == c.Rack) {
				fit = append(fit, b)
			}
		}
		if len(fit) < c.Count {
			return nil, fmt.Errorf("rack %q has %d brokers that fit, %d are asked for", c.Rack, len(fit), c.Count)
		}
		slices.SortStableFunc(fit, func(a, b Broker) int {
			return cmp.Or(cmp.Compare(boolInt(!slices.Contains(present, a.ID)), boolInt(!slices.Contains(present, b.ID))),
				cmp.Compare(place(present, a.ID), place(present, b.ID)), cmp.Compare(a.Replicas, b.Replicas), cmp.Compare(a.ID, b.ID))
		})
		for _, b := range fit[:c.Count] {
			used[b.ID] = true
			out = append(out, b.ID)
		}
	}
	return out, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Check says where the partition differs from the placement, for people; nothing when it does not.
func Check(p Placement, part Partition, brokers []Broker) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	byID := map[int32]Broker{}
	for _, b := range brokers {
		byID[b.ID] = b
	}
	count := map[bool]map[string]int{false: {}, true: {}}
	last := false
	for _, id := range part.Replicas {
		b, ok := byID[id]
		if !ok {
			say("broker %d is not alive or not known: its rack is not known", id)
			continue
		}
		count[b.Observer][b.Rack]++
		count[b.Observer][""]++
		if last && !b.Observer {
			say("observers are not last in the assignment %v", part.Replicas)
		}
		last = b.Observer
	}
	for observers, list := range map[bool][]Constraint{false: p.Replicas, true: p.Observers} {
		what := "sync replicas"
		if observers {
			what = "observers"
		}
		if got := count[observers][""]; got != sum(list) {
			say("%d %s, the placement asks for %d", got, what, sum(list))
		}
		for _, c := range list {
			if got := count[observers][c.Rack]; c.Rack != "" && got < c.Count {
				say("%d %s in rack %q, the placement asks for %d", got, what, c.Rack, c.Count)
			}
		}
	}
	slices.Sort(out)
	return out
}
