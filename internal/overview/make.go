package overview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"observer-patch/internal/cluster"
	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
)

// Input is what a report is made from.
type Input struct {
	Snapshot *cluster.Snapshot
	// Seen are the nodes of the inventory, nil when there is none.
	Seen []hosts.Seen
	// Observers are the ids that the user gave, nil when none were given.
	Observers []int32
	// Limit is how many partitions in trouble are listed.
	Limit int
}

// Decide gives the ids that count as observers: those that the user gave, else those of the files.
func Decide(in Input) Observers {
	if in.Observers != nil {
		return Observers{IDs: observer.With(in.Observers), Source: "flag", Certain: true, Doubts: []string{}}
	}
	if in.Seen == nil {
		return Observers{IDs: []int32{}, Source: "unknown", Doubts: []string{"no inventory and no list was given: every replica is taken for a sync one"}}
	}
	v := observer.View{Nodes: nodesOf(in.Seen)}
	for _, b := range in.Snapshot.Brokers {
		if b.Alive {
			v.Live = append(v.Live, b.ID)
		}
	}
	if q := in.Snapshot.Quorum; q != nil {
		for _, voter := range q.Voters {
			v.Voters = append(v.Voters, voter.ID)
		}
	}
	ids, refusals := v.InForce()
	o := Observers{IDs: append([]int32{}, ids...), Source: "files", Certain: len(refusals) == 0, Doubts: []string{}}
	for _, r := range refusals {
		o.Doubts = append(o.Doubts, r.Reason)
	}
	return o
}

func nodesOf(seen []hosts.Seen) []observer.Node {
	var out []observer.Node
	for _, s := range seen {
		n := observer.Node{ID: s.Node.ID, Broker: s.Node.Has(hosts.Broker), Controller: s.Node.Has(hosts.Controller)}
		n.IDs, n.Known, n.Cause = listOf(s)
		n.Absent = n.Known && !s.File.Exists
		out = append(out, n)
	}
	return out
}

// listOf gives what a file says, whether it is known, and why not. A missing file is an empty list.
func listOf(s hosts.Seen) (ids []int32, known bool, cause string) {
	if s.Err != nil {
		return nil, false, s.Err.Error()
	}
	f := s.File.IDs()
	if len(f.IDs) == 0 && !f.Blank && !f.None {
		return nil, false, fmt.Sprintf("no broker id among its tokens %s", f.UnknownTokens())
	}
	return f.IDs, true, ""
}

// Make makes the report. The snapshot's positions, where it has any, are those of leaders and
// observers.
func Make(in Input) *Report {
	s := in.Snapshot
	r := &Report{Time: s.Time, ClusterID: s.ClusterID, Mode: "kraft", Controller: s.Controller, Quorum: s.Quorum, Moving: s.Reassignments,
		Observers: Decide(in), Findings: hosts.Findings(in.Seen), Missing: s.Missing, Trouble: []Trouble{}, Lags: []Lag{}, Zones: []Loss{}, Restarts: []Loss{}}
	switch {
	case s.Quorum != nil:
		r.Majority = cluster.Known(s.Quorum.Leader >= 0 && 2*len(s.Quorum.Following()) > len(s.Quorum.Voters))
	case s.Controller.Known:
		r.Mode, r.Majority = "zookeeper", cluster.Known(s.Broker(s.Controller.V).Alive)
	default:
		r.Mode = "unknown"
	}
	r.nodes(in)
	losses := newLosses(r, s)
	lags := map[int32]*Lag{}
	for i := range s.Topics {
		t := &s.Topics[i]
		if t.Problem != "" {
			r.Partitions.Total++
			r.Partitions.Unknown++
			r.trouble(in.Limit, Trouble{Partition: t.Name, State: "unknown: " + t.Problem, Leader: cluster.None})
		}
		for j := range t.Partitions {
			r.partition(in.Limit, t, &t.Partitions[j], losses, lags)
		}
	}
	r.Zones, r.Restarts = losses.zones(), losses.restarts()
	for _, l := range lags {
		r.Lags = append(r.Lags, *l)
	}
	slices.SortFunc(r.Lags, func(a, b Lag) int { return cmp.Compare(a.Broker, b.Broker) })
	return r
}

// partition counts one partition.
func (r *Report) partition(limit int, t *cluster.Topic, p *cluster.Partition, l *losses, lags map[int32]*Lag) {
	q := partitionOf(t, p)
	marked := q.Observers(r.Observers.IDs)
	c := &r.Partitions
	c.Total++
	need := cluster.Value[int]{}
	if t.MinISR.Known {
		need = cluster.Known(q.EffectiveMinISR())
	}
	bad := Trouble{Partition: q.String(), Leader: p.Leader, Replicas: p.Replicas, ISR: p.ISR, Observers: marked, MinISR: need}
	say := func(state string) {
		bad.State = state
		r.trouble(limit, bad)
	}
	if len(marked) > 0 {
		c.WithObservers++
	} else if len(r.Observers.IDs) > 0 && len(p.Replicas) > 0 && !slices.ContainsFunc(q.Target(), func(b int32) bool { return !slices.Contains(r.Observers.IDs, b) }) {
		c.AllMarked++
	}
	sync := slices.DeleteFunc(slices.Clone(p.ISR), func(b int32) bool { return slices.Contains(marked, b) })
	switch {
	case p.Leader < 0:
		c.Offline++
		say("offline: it has no leader")
	case slices.Contains(marked, p.Leader):
		c.ObserverLeads++
		say("led by an observer")
	}
	if len(sync) < len(p.ISR) {
		c.ObserverInISR++
	}
	if q.UnderReplicated(r.Observers.IDs) {
		c.UnderReplicated++
	}
	switch {
	case !need.Known:
		c.Unknown++
	case len(sync) < need.V:
		c.UnderMinISR++
		if p.Leader >= 0 {
			say("under min.insync.replicas: no acks=all writes")
		}
	case len(sync) == need.V:
		c.AtMinISR++
	}
	if need.Known && p.Leader >= 0 && len(sync) >= need.V {
		standIns := slices.DeleteFunc(slices.Clone(marked), func(b int32) bool { return slices.Contains(p.Removing, b) || !r.alive(b) })
		l.add(q.String(), sync, need.V, standIns)
	}
	r.count(p)
	r.lag(q.String(), p, marked, lags)
}

func (r *Report) lag(name string, p *cluster.Partition, marked []int32, lags map[int32]*Lag) {
	for _, b := range marked {
		l := lags[b]
		if l == nil {
			l = &Lag{Broker: b}
			lags[b] = l
		}
		l.Replicas++
		own, leader := p.Position(b).LogEnd, p.Position(p.Leader).LogEnd
		if p.Leader < 0 || !own.Known || !leader.Known {
			l.Unknown++
			continue
		}
		behind := max(0, leader.V-own.V)
		if behind == 0 {
			l.CaughtUp++
		}
		l.Total = cluster.Known(l.Total.V + behind)
		if !l.Max.Known || behind > l.Max.V {
			l.Max, l.Worst = cluster.Known(behind), name
		}
	}
}

func (r *Report) trouble(limit int, t Trouble) {
	if len(r.Trouble) < limit {
		if t.Observers == nil {
			t.Observers = []int32{}
		}
		r.Trouble = append(r.Trouble, t)
	}
}

// count adds a partition to its brokers' numbers.
func (r *Report) count(p *cluster.Partition) {
	for _, b := range p.Replicas {
		if n := r.node(b); n != nil {
			n.Replicas++
			if b == p.Leader {
				n.Leads++
			}
		}
	}
}

func (r *Report) alive(broker int32) bool {
	n := r.node(broker)
	return n != nil && n.Alive.V
}

func (r *Report) node(id int32) *Node {
	i, found := slices.BinarySearchFunc(r.Nodes, id, func(n Node, id int32) int { return cmp.Compare(n.ID, id) })
	if !found {
		return nil
	}
	return &r.Nodes[i]
}

// nodes lists brokers, voters and the inventory's nodes, and finds zones that contradict.
func (r *Report) nodes(in Input) {
	byID := map[int32]*Node{}
	get := func(id int32) *Node {
		if byID[id] == nil {
			byID[id] = &Node{ID: id, File: "not asked"}
		}
		return byID[id]
	}
	for _, b := range in.Snapshot.Brokers {
		n := get(b.ID)
		n.Broker, n.Zone, n.Alive = true, b.Rack, cluster.Known(b.Alive)
	}
	if q := in.Snapshot.Quorum; q != nil {
		following := q.Following()
		for _, v := range q.Voters {
			n := get(v.ID)
			n.Controller = true
			if !n.Broker {
				n.Alive = cluster.Known(slices.Contains(following, v.ID))
			}
		}
	}
	for _, s := range in.Seen {
		n := get(s.Node.ID)
		n.Broker, n.Controller = n.Broker || s.Node.Has(hosts.Broker), n.Controller || s.Node.Has(hosts.Controller)
		if n.Zone != "" && s.Node.Zone != "" && n.Zone != s.Node.Zone {
			r.Findings = append(r.Findings, hosts.Finding{Node: n.ID, Code: "zone", Text: fmt.Sprintf("broker.rack is %q, the inventory says zone %q", n.Zone, s.Node.Zone), Do: "correct the inventory"})
		}
		n.Zone = cmp.Or(n.Zone, s.Node.Zone)
		n.look(s)
		if s.JarsErr != nil {
			r.Findings = append(r.Findings, hosts.Finding{Node: n.ID, Code: "jars", Text: s.JarsErr.Error(), Do: "correct home in the inventory, or take it out"})
		}
	}
	zoned := false
	for _, n := range byID {
		zoned = zoned || n.Zone != ""
	}
	for _, n := range byID {
		if zoned && n.Zone == "" {
			r.Findings = append(r.Findings, hosts.Finding{Node: n.ID, Code: "no-zone", Text: "it has no zone: what the loss of a zone would do is not known whole", Do: "name its zone in the inventory, or set broker.rack"})
		}
		n.Observer = n.Broker && slices.Contains(r.Observers.IDs, n.ID)
		r.Nodes = append(r.Nodes, *n)
	}
	slices.SortFunc(r.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(r.Findings, func(a, b hosts.Finding) int { return cmp.Compare(a.Node, b.Node) })
}

// look takes over what was seen of the node's file.
func (n *Node) look(s hosts.Seen) {
	n.Jars = s.Jars
	ids, known, _ := listOf(s)
	switch {
	case s.Err != nil:
		n.File = "unreadable"
		return
	case !s.File.Exists:
		n.File = "absent"
		return
	case !known:
		n.File = "unusable"
	default:
		n.File, n.IDs = "ok", cluster.Known(append([]int32{}, ids...))
	}
	n.Mode, n.Owner = fmt.Sprintf("%04o", s.File.Mode), fmt.Sprintf("%d:%d", s.File.UID, s.File.GID)
	if !s.File.ModTime.IsZero() {
		n.Changed = cluster.Known(s.File.ModTime.UTC().Truncate(time.Second))
	}
}
