package overview_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/cluster"
	"observer-patch/internal/hosts"
	"observer-patch/internal/overview"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// three is the recommended layout: brokers 1, 2, 3 in zones a, b, c with a controller each, and an
// observer 4 in zone d.
func three(parts ...cluster.Partition) *cluster.Snapshot {
	s := &cluster.Snapshot{Time: now, ClusterID: "c", Controller: cluster.Known[int32](101), Missing: []string{}, Reassignments: cluster.Known(0),
		Quorum: &cluster.Quorum{Leader: 101, Epoch: 5}}
	for i, zone := range []string{"a", "b", "c", "d"} {
		s.Brokers = append(s.Brokers, cluster.Broker{ID: int32(i + 1), Rack: zone, Alive: true})
	}
	for id := int32(101); id <= 103; id++ {
		s.Quorum.Voters = append(s.Quorum.Voters, cluster.Voter{ID: id, Fetched: cluster.Known(now)})
	}
	s.Topics = []cluster.Topic{{Name: "t", MinISR: cluster.Known[int32](2), Partitions: parts}}
	for i := range s.Topics[0].Partitions {
		s.Topics[0].Partitions[i].ID = int32(i)
	}
	return s
}

func part(leader int32, isr ...int32) cluster.Partition {
	return cluster.Partition{Leader: leader, Replicas: []int32{1, 2, 3, 4}, ISR: isr}
}

// inventory are the controllers in zones of their own choice, and the brokers, all with one list.
func inventory(list string, zones ...string) []hosts.Seen {
	file := hosts.File{Exists: true, Content: []byte(list), Mode: 0o644, ModTime: now}
	var out []hosts.Seen
	for id := int32(1); id <= 4; id++ {
		out = append(out, hosts.Seen{Node: hosts.Node{ID: id, Roles: []hosts.Role{hosts.Broker}, File: "/f"}, File: file})
	}
	for i, zone := range zones {
		out = append(out, hosts.Seen{Node: hosts.Node{ID: int32(101 + i), Roles: []hosts.Role{hosts.Controller}, Zone: zone, File: "/f"}, File: file})
	}
	return out
}

func TestAHealthyClusterIsCalledSo(t *testing.T) {
	r := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3)), Seen: inventory("4\n", "a", "b", "c"), Limit: 10})
	assert.True(t, r.Healthy(), "%+v", r)
	assert.Equal(t, overview.Observers{IDs: []int32{4}, Source: "files", Certain: true, Doubts: []string{}}, r.Observers)
	assert.Equal(t, overview.Counts{Total: 1, WithObservers: 1}, r.Partitions)
	no := cluster.Known(false)
	assert.Equal(t, []overview.Loss{{Zone: "a", Brokers: []int32{1}, Quorum: no}, {Zone: "b", Brokers: []int32{2}, Quorum: no}, {Zone: "c", Brokers: []int32{3}, Quorum: no},
		{Zone: "d", Brokers: []int32{4}, Quorum: no}}, r.Zones)
	assert.Equal(t, "kraft", r.Mode)
}

func TestEveryStateOfAPartitionIsCounted(t *testing.T) {
	unknown := part(1, 1, 2, 3)
	for _, c := range []struct {
		name  string
		part  cluster.Partition
		min   cluster.Value[int32]
		ids   []int32
		want  overview.Counts
		state string
	}{
		{"whole", part(1, 1, 2, 3), cluster.Known[int32](2), []int32{4}, overview.Counts{Total: 1, WithObservers: 1}, ""},
		{"at minISR", part(1, 1, 2), cluster.Known[int32](2), []int32{4}, overview.Counts{Total: 1, WithObservers: 1, AtMinISR: 1, UnderReplicated: 1}, ""},
		{"under minISR", part(1, 1), cluster.Known[int32](2), []int32{4}, overview.Counts{Total: 1, WithObservers: 1, UnderMinISR: 1, UnderReplicated: 1}, "under min.insync.replicas: no acks=all writes"},
		{"an observer in the ISR does not count as in sync", part(1, 1, 4), cluster.Known[int32](2), []int32{4},
			overview.Counts{Total: 1, WithObservers: 1, UnderMinISR: 1, UnderReplicated: 1, ObserverInISR: 1}, "under min.insync.replicas: no acks=all writes"},
		{"without the mark it does", part(1, 1, 4), cluster.Known[int32](2), []int32{}, overview.Counts{Total: 1, AtMinISR: 1, UnderReplicated: 1}, ""},
		{"offline", part(cluster.None, 1), cluster.Known[int32](2), []int32{4}, overview.Counts{Total: 1, WithObservers: 1, Offline: 1, UnderMinISR: 1, UnderReplicated: 1}, "offline: it has no leader"},
		{"led by an observer", part(4, 1, 2, 4), cluster.Known[int32](2), []int32{4},
			overview.Counts{Total: 1, WithObservers: 1, ObserverLeads: 1, ObserverInISR: 1, AtMinISR: 1, UnderReplicated: 1}, "led by an observer"},
		{"all marked has no observers", part(4, 1, 2, 3, 4), cluster.Known[int32](2), []int32{1, 2, 3, 4}, overview.Counts{Total: 1, AllMarked: 1}, ""},
		{"minISR not known", unknown, cluster.Value[int32]{}, []int32{4}, overview.Counts{Total: 1, WithObservers: 1, Unknown: 1}, ""},
		{"minISR above the replication factor", part(1, 1, 2, 3), cluster.Known[int32](9), []int32{4}, overview.Counts{Total: 1, WithObservers: 1, UnderMinISR: 1}, "under min.insync.replicas: no acks=all writes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := three(c.part)
			s.Topics[0].MinISR = c.min
			r := overview.Make(overview.Input{Snapshot: s, Observers: c.ids, Limit: 10})
			assert.Equal(t, c.want, r.Partitions)
			if c.state == "" {
				assert.Empty(t, r.Trouble)
			} else if assert.Len(t, r.Trouble, 1) {
				assert.Equal(t, c.state, r.Trouble[0].State)
			}
		})
	}
}

func TestWhatALossWouldStopIsSaid(t *testing.T) {
	// Two of the ISR in one zone; minISR 2.
	s := three(part(1, 1, 2, 3), part(1, 1, 2), part(1, 1))
	s.Brokers[1].Rack = "a"
	r := overview.Make(overview.Input{Snapshot: s, Seen: inventory("4\n", "a", "a", "c"), Limit: 10})
	zones := map[string]overview.Loss{}
	for _, l := range r.Zones {
		zones[l.Zone] = l
	}
	assert.Equal(t, overview.Loss{Zone: "a", Brokers: []int32{1, 2}, Stops: 2, Offline: 1, Example: "t-0", Quorum: cluster.Known(true)}, zones["a"], "t-2 takes no writes already")
	assert.Equal(t, overview.Loss{Zone: "c", Brokers: []int32{3}, Quorum: cluster.Known(false)}, zones["c"])
	assert.NotContains(t, zones, "b")
	restarts := map[int32]overview.Loss{}
	for _, l := range r.Restarts {
		restarts[l.Brokers[0]] = l
	}
	assert.Equal(t, 1, restarts[1].Stops, "t-1 is left with one")
	assert.Equal(t, "t-1", restarts[1].Example)
	assert.Zero(t, restarts[1].Offline)
	assert.Zero(t, restarts[3].Stops)
	assert.Zero(t, restarts[4].Stops, "an observer may always be restarted")
	assert.Equal(t, []int32{4}, restarts[1].StandIns)
	assert.Empty(t, restarts[3].StandIns, "nothing stops, so nobody needs to stand in")
}

func TestWhoCanStandInForARestartHelpsEveryPartitionThatWouldStop(t *testing.T) {
	on := func(replicas ...int32) cluster.Partition {
		return cluster.Partition{Leader: 1, Replicas: replicas, ISR: []int32{1, 2}}
	}
	for _, c := range []struct {
		name  string
		parts []cluster.Partition
		dead  int32
		want  []int32
	}{
		{"both", []cluster.Partition{on(1, 2, 3, 4), on(2, 1, 4, 3)}, 0, []int32{3, 4}},
		{"one holds both partitions", []cluster.Partition{on(1, 2, 3, 4), on(2, 1, 4)}, 0, []int32{4}},
		{"none does", []cluster.Partition{on(1, 2, 3), on(2, 1, 4)}, 0, nil},
		{"one partition has no observer", []cluster.Partition{on(1, 2, 3), on(2, 1)}, 0, nil},
		{"a dead one does not", []cluster.Partition{on(1, 2, 3, 4)}, 3, []int32{4}},
	} {
		s := three(c.parts...)
		if c.dead > 0 {
			s.Brokers[c.dead-1].Alive = false
		}
		for _, l := range overview.Make(overview.Input{Snapshot: s, Observers: []int32{3, 4}}).Restarts {
			if l.Brokers[0] == 1 {
				assert.Equal(t, len(c.parts), l.Stops, c.name)
				assert.ElementsMatch(t, c.want, l.StandIns, c.name)
			}
		}
	}
}

func TestWhichZoneHasTheQuorumIsSaidOnlyWhenItIsKnown(t *testing.T) {
	loses := func(s *cluster.Snapshot, zones ...string) map[string]cluster.Value[bool] {
		out := map[string]cluster.Value[bool]{}
		for _, l := range overview.Make(overview.Input{Snapshot: s, Seen: inventory("4\n", zones...)}).Zones {
			out[l.Zone] = l.Quorum
		}
		return out
	}
	two := loses(three(), "a", "a", "b")
	assert.Equal(t, cluster.Known(true), two["a"])
	assert.Equal(t, cluster.Known(false), two["b"])
	unknownZones := loses(three(), "a", "", "b")
	assert.False(t, unknownZones["a"].Known)
	assert.False(t, loses(three(), "", "", "")["d"].Known, "a controller may be there")
	down := three()
	down.Quorum.Voters[1].Fetched = cluster.Known(now.Add(-time.Minute))
	one := loses(down, "a", "b", "c")
	assert.Equal(t, cluster.Known(true), one["a"], "another controller is down already")
	assert.Equal(t, cluster.Known(false), one["b"])
	zookeeper := three()
	zookeeper.Quorum = nil
	assert.False(t, loses(zookeeper)["a"].Known)
}

func TestTheControllersMajorityIsNotGuessed(t *testing.T) {
	make := func(change func(*cluster.Snapshot)) *overview.Report {
		s := three(part(1, 1, 2, 3))
		change(s)
		return overview.Make(overview.Input{Snapshot: s, Seen: inventory("4\n", "a", "b", "c")})
	}
	assert.Equal(t, cluster.Known(true), make(func(*cluster.Snapshot) {}).Majority)
	assert.Equal(t, cluster.Known(false), make(func(s *cluster.Snapshot) { s.Quorum.Leader = -1 }).Majority)
	assert.Equal(t, cluster.Known(false), make(func(s *cluster.Snapshot) {
		s.Quorum.Voters[1].Fetched, s.Quorum.Voters[2].Fetched = cluster.Known(now.Add(-time.Minute)), cluster.Value[time.Time]{}
	}).Majority)
	refused := make(func(s *cluster.Snapshot) { s.Quorum, s.Controller = nil, cluster.Value[int32]{} })
	assert.False(t, refused.Majority.Known)
	assert.Equal(t, "unknown", refused.Mode)
	zookeeper := make(func(s *cluster.Snapshot) { s.Quorum, s.Controller = nil, cluster.Known[int32](2) })
	assert.Equal(t, cluster.Known(true), zookeeper.Majority)
	assert.Equal(t, "zookeeper", zookeeper.Mode)
}

func TestLagIsUnknownRatherThanNought(t *testing.T) {
	at := func(leader, own cluster.Value[int64]) cluster.Partition {
		p := part(1, 1, 2, 3)
		p.Positions = []cluster.Position{{Broker: 1, LogEnd: leader}, {Broker: 4, LogEnd: own}}
		return p
	}
	known := cluster.Known[int64]
	offline := at(known(9), known(9))
	offline.Leader = cluster.None
	r := overview.Make(overview.Input{Snapshot: three(at(known(10), known(10)), at(known(10), known(7)), at(known(10), cluster.Value[int64]{}), at(cluster.Value[int64]{}, known(7)), offline,
		at(known(5), known(8))), Observers: []int32{4}})
	assert.Equal(t, []overview.Lag{{Broker: 4, Replicas: 6, CaughtUp: 2, Unknown: 3, Max: known(3), Total: known(3), Worst: "t-1"}}, r.Lags)
	none := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3)), Observers: []int32{4}})
	assert.Equal(t, []overview.Lag{{Broker: 4, Replicas: 1, Unknown: 1}}, none.Lags)
}

func TestDoubtsAboutTheListAreSaid(t *testing.T) {
	seen := inventory("4\n", "a", "b", "c")
	seen[1].File.Content = []byte("")
	seen[4].Err = errors.New("no route")
	r := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3)), Seen: seen})
	assert.False(t, r.Observers.Certain)
	assert.False(t, r.Healthy())
	assert.Equal(t, []int32{4}, r.Observers.IDs)
	codes := []string{}
	for _, f := range r.Findings {
		codes = append(codes, f.Code)
	}
	assert.Equal(t, []string{"differs", "unreadable"}, codes)
	noZone := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3)), Seen: inventory("4\n", "a", "b", "")})
	require.Len(t, noZone.Findings, 1)
	assert.Equal(t, "103 no-zone", fmt.Sprint(noZone.Findings[0].Node, " ", noZone.Findings[0].Code))
	other := inventory("4\n", "a", "b", "c")
	other[0].Node.Zone = "x"
	contradicts := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3)), Seen: other})
	require.Len(t, contradicts.Findings, 1)
	assert.Equal(t, "zone", contradicts.Findings[0].Code)
	nothing := overview.Make(overview.Input{Snapshot: three(part(1, 1, 2, 3))})
	assert.Equal(t, "unknown", nothing.Observers.Source)
	assert.False(t, nothing.Healthy())
}

func TestEachReplicaHasALine(t *testing.T) {
	p := part(1, 1, 2)
	p.HighWatermark = cluster.Known[int64](8)
	p.ELR = cluster.Known([]int32{3})
	p.Positions = []cluster.Position{{Broker: 1, LogEnd: cluster.Known[int64](10)}, {Broker: 2, LogEnd: cluster.Known[int64](10)}, {Broker: 3, Problem: "its broker is not alive"},
		{Broker: 4, LogEnd: cluster.Known[int64](7), Missing: cluster.Known(now.Add(-1500 * time.Millisecond))}}
	s := three(p)
	s.Brokers[2].Alive = false
	rows := overview.Replicas(s, overview.Observers{IDs: []int32{4}})
	assert.Equal(t, overview.Replica{Partition: "t-0", Broker: 1, Alive: true, Leader: true, Eligible: true, InISR: true, CaughtUp: cluster.Known(true), Lag: cluster.Known[int64](0), BehindMillis: cluster.Known[int64](0), LogEnd: cluster.Known[int64](10)}, rows[0])
	assert.Equal(t, overview.Replica{Partition: "t-0", Broker: 3, Eligible: true, InELR: true, Problem: "its broker is not alive"}, rows[2])
	assert.Equal(t, overview.Replica{Partition: "t-0", Broker: 4, Alive: true, Observer: true, CaughtUp: cluster.Known(false), Lag: cluster.Known[int64](3), BehindMillis: cluster.Known[int64](1500), LogEnd: cluster.Known[int64](7)}, rows[3])
}

// Whatever is committed lies below the end of the leader's log: who has all of it lacks nothing.
func TestALeaderThatCannotTellItsWatermarkVouchesForWhoHasAllOfItsLog(t *testing.T) {
	p := part(1, 1, 2)
	p.CommittedBelow = cluster.Known[int64](10)
	p.Positions = []cluster.Position{{Broker: 1, LogEnd: cluster.Known[int64](11)}, {Broker: 2, LogEnd: cluster.Known[int64](10)}, {Broker: 3, LogEnd: cluster.Known[int64](9)}, {Broker: 4, Problem: "not answered"}}
	rows := overview.Replicas(three(p), overview.Observers{IDs: []int32{4}})
	var got []cluster.Value[bool]
	for _, r := range rows {
		got = append(got, r.CaughtUp)
	}
	assert.Equal(t, []cluster.Value[bool]{cluster.Known(true), cluster.Known(true), {}, {}}, got)
}
