package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/lab/history"
)

const topic = "t"

func acked(seq, offset int64) history.Event {
	return history.Event{Op: &history.Op{Producer: "p", Topic: topic, Seq: seq, Offset: offset}}
}

func unknown(seq int64) history.Event {
	return history.Event{Op: &history.Op{Producer: "p", Topic: topic, Seq: seq, Offset: -1, Outcome: history.Unknown}}
}

func read(runs ...history.Run) []history.Event {
	var out []history.Event
	for _, committed := range []bool{false, true} {
		out = append(out, history.Event{Read: &history.Read{Topic: topic, Committed: committed, Runs: runs}})
	}
	return out
}

func run(offset, seq, n int64) history.Run {
	return history.Run{Offset: offset, Producer: "p", Seq: seq, N: n}
}

func bound(at float64, n int64) history.Event {
	return history.Event{At: at, Mark: &history.Mark{Name: LossBound, Value: n}}
}

// bad gives the rules that do not hold.
func bad(fs ...Finding) []string {
	var out []string
	for _, f := range fs {
		if !f.OK {
			out = append(out, f.Rule)
		}
	}
	return out
}

func TestRecords(t *testing.T) {
	const (
		loses   = "no acknowledged record is lost"
		bounded = "no more acknowledged records are lost than was printed before the election"
		twice   = "no record is in a log twice"
		order   = "a producer's records keep their order in every partition"
		phantom = "every record in a log was sent"
		same    = "read_committed consumers see the same log without aborted transactions"
	)
	cases := map[string]struct {
		h    history.History
		want []string
	}{
		"all there":                       {append(history.History{acked(0, 0), acked(1, 1)}, read(run(0, 0, 2))...), nil},
		"unknown may be there":            {append(history.History{acked(0, 0), unknown(1)}, read(run(0, 0, 2))...), nil},
		"unknown may be missing":          {append(history.History{acked(0, 0), unknown(1)}, read(run(0, 0, 1))...), nil},
		"last one lost":                   {append(history.History{acked(0, 0), acked(1, 1)}, read(run(0, 0, 1))...), []string{loses}},
		"middle one lost":                 {append(history.History{acked(0, 0), acked(1, 1), acked(2, 2)}, read(run(0, 0, 1), run(2, 2, 1))...), []string{loses}},
		"lost within the bound":           {append(history.History{acked(0, 0), acked(1, 1), bound(1, 1)}, read(run(0, 0, 1))...), nil},
		"lost beyond the bound":           {append(history.History{acked(0, 0), acked(1, 1), acked(2, 2), bound(1, 1)}, read(run(0, 0, 1))...), []string{bounded}},
		"at another offset":               {append(history.History{acked(0, 0), acked(1, 1)}, read(run(0, 0, 1), run(5, 1, 1))...), []string{loses}},
		"nothing acknowledged":            {append(history.History{unknown(0)}, read(run(0, 0, 1))...), []string{loses}},
		"not read":                        {history.History{acked(0, 0)}, []string{loses}},
		"twice":                           {append(history.History{acked(0, 0), acked(1, 1)}, read(run(0, 0, 2), run(2, 1, 1))...), []string{twice, order}},
		"swapped":                         {append(history.History{acked(0, 1), acked(1, 0)}, read(run(0, 1, 1), run(1, 0, 1))...), []string{order}},
		"never sent":                      {append(history.History{acked(0, 0)}, read(run(0, 0, 1), run(1, 1, 1))...), []string{phantom}},
		"read_committed sees another log": {append(history.History{acked(0, 0)}, read(run(0, 0, 1))[0], history.Event{Read: &history.Read{Topic: topic, Committed: true}}), []string{same}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, bad(Records(c.h)...)) })
	}
}

func view(at float64, p history.Partition) history.Event {
	p.Topic = topic
	if p.Replicas == nil {
		p.Replicas = []int32{1, 2, 3, 4}
	}
	return history.Event{At: at, View: &history.View{From: at - 10, Via: 1, Partitions: []history.Partition{p}}}
}

func TestWatermarks(t *testing.T) {
	hw := func(at float64, w int64) history.Event { return view(at, history.Partition{HW: w}) }
	require.True(t, Watermarks(history.History{hw(20, 5), hw(30, -1), hw(40, 5), hw(50, 9)}, topic).OK, "grows, once unknown")
	require.False(t, Watermarks(history.History{hw(20, 5), hw(30, 4)}, topic).OK, "goes back")
	require.True(t, Watermarks(history.History{hw(20, 5), bound(25, 2), hw(30, 3)}, topic).OK, "goes back by what was printed")
	require.False(t, Watermarks(history.History{hw(20, 5), bound(25, 2), hw(30, 2)}, topic).OK, "goes back by more")
	require.False(t, Watermarks(history.History{hw(20, 5), bound(25, 2), hw(30, 3), hw(40, 2)}, topic).OK, "goes back twice")
	require.False(t, Watermarks(history.History{hw(20, 5), hw(22, 3), bound(25, 2)}, topic).OK, "goes back before it was printed")
	require.False(t, Watermarks(nil, topic).OK, "nothing sampled")
}

func TestEpochs(t *testing.T) {
	led := func(at float64, epoch, leader int32) history.Event {
		return view(at, history.Partition{Epoch: epoch, Leader: leader})
	}
	require.True(t, Epochs(history.History{led(20, 0, 1), led(30, 1, -1), led(40, 2, 2)}, topic).OK)
	require.False(t, Epochs(history.History{led(20, 3, 1), led(30, 2, 1)}, topic).OK, "goes back")
	require.False(t, Epochs(history.History{led(20, 3, 1), led(30, 3, 2)}, topic).OK, "two leaders in one epoch")
	require.False(t, Epochs(nil, topic).OK, "nothing sampled")
}

func TestReplicas(t *testing.T) {
	log := func(broker int32, digest string, damage string) history.Event {
		return history.Event{Log: &history.ReplicaLog{Broker: broker, Topic: topic, Batches: 1, End: 1, SHA256: digest, Err: damage}}
	}
	seen := view(20, history.Partition{Replicas: []int32{1, 4}})
	require.True(t, Replicas(history.History{seen, log(1, "aa", ""), log(4, "aa", "")}, topic).OK)
	require.False(t, Replicas(history.History{seen, log(1, "aa", ""), log(4, "ab", "")}, topic).OK, "differs")
	require.False(t, Replicas(history.History{seen, log(1, "aa", ""), log(4, "aa", "bad checksum")}, topic).OK, "damaged")
	require.False(t, Replicas(history.History{seen, log(1, "aa", "")}, topic).OK, "one was not read")
	require.False(t, Replicas(nil, topic).OK, "nothing sampled")
}

func TestObservers(t *testing.T) {
	const (
		inISR = OutOfISR
		leads = NoneLeads
	)
	edit := func(began, at float64, ids []int32, nodes ...int32) history.Event {
		return history.Event{At: at, Edit: &history.Edit{Began: began, Nodes: nodes, IDs: ids}}
	}
	initial := history.Event{At: 1, Edit: &history.Edit{Nodes: []int32{1, 2}, IDs: []int32{4}, Initial: true}}
	isr := func(at float64, isr ...int32) history.Event {
		return view(at, history.Partition{Leader: 1, ISR: isr})
	}
	led := func(at float64, leader int32, isr ...int32) history.Event {
		return view(at, history.Partition{Leader: leader, ISR: isr})
	}
	move := func(at float64, target ...int32) history.Event {
		return history.Event{At: at, Move: &history.Move{Topic: topic, Began: at, Target: target}}
	}
	kill := func(at float64, phase string, nodes ...int32) history.Event {
		return history.Event{At: at, Fault: &history.Fault{Name: "kill -9", Phase: phase, Targets: nodes, Began: at}}
	}
	const window = 1000
	cases := map[string]struct {
		h    history.History
		want []string
	}{
		"stays out":                          {history.History{initial, isr(50, 1, 2)}, nil},
		"in from the start":                  {history.History{initial, isr(50, 1, 4)}, []string{inISR}},
		"promoted":                           {history.History{initial, edit(60, 70, nil, 1, 2), isr(80, 1, 4)}, nil},
		"in although one node still says no": {history.History{initial, edit(60, 70, nil, 1), isr(80, 1, 4)}, []string{inISR}},
		"demoted, leaves in time":            {history.History{initial, edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), isr(1000, 1, 4), isr(1200, 1)}, nil},
		"demoted, stays":                     {history.History{initial, edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), isr(1200, 1, 4)}, []string{inISR}},
		"leads":                              {history.History{initial, view(50, history.Partition{Leader: 4, ISR: []int32{1}})}, []string{leads}},
		"all replicas are marked":            {history.History{initial, view(50, history.Partition{Leader: 4, ISR: []int32{4}, Replicas: []int32{4}}), isr(60, 1)}, nil},
		"a sitting leader stays":             {history.History{initial, isr(50, 1, 2), edit(60, 70, []int32{1, 4}, 1, 2), isr(2000, 1, 2)}, nil},
		"it hands over and leaves":           {history.History{initial, isr(50, 1, 2), edit(60, 70, []int32{1, 4}, 1, 2), isr(2000, 1, 2), led(2100, 2, 1, 2), led(3500, 2, 2)}, nil},
		"it hands over and does not leave":   {history.History{initial, isr(50, 1, 2), edit(60, 70, []int32{1, 4}, 1, 2), isr(2000, 1, 2), led(2100, 2, 1, 2), led(3500, 2, 1, 2)}, []string{inISR}},
		"it comes back":                      {history.History{initial, isr(50, 1, 2), edit(60, 70, []int32{1, 4}, 1, 2), led(2100, 2, 2), led(3500, 1, 2)}, []string{leads}},
		"in the ISR of a lost leader":        {history.History{initial, isr(30, 1, 2), edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), led(2000, -1, 1, 4), led(3000, 1, 1, 4)}, nil},
		"its leader is dead":                 {history.History{initial, isr(30, 1, 2), edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), kill(110, history.Inject, 1), isr(2000, 1, 4)}, nil},
		"its leader was dead and is back":    {history.History{initial, isr(30, 1, 2), edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), kill(110, history.Inject, 1), isr(2000, 1, 4), kill(2010, history.Heal, 1), isr(3100, 1, 4)}, []string{inISR}},
		"somebody else is dead":              {history.History{initial, isr(30, 1, 2), edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), kill(110, history.Inject, 2), isr(2000, 1, 4)}, []string{inISR}},
		"enters while its leader is dead":    {history.History{initial, isr(30, 1, 2), kill(40, history.Inject, 1), isr(2000, 1, 4)}, []string{inISR}},
		"stays when a leader is back":        {history.History{initial, isr(30, 1, 2), edit(60, 70, nil, 1, 2), isr(80, 1, 4), edit(90, 100, []int32{4}, 1, 2), led(2000, -1, 1, 4), led(3100, 1, 1, 4)}, []string{inISR}},
		"enters without a leader":            {history.History{initial, isr(30, 1, 2), led(2000, -1, 1, 4)}, []string{inISR}},
		"all targets are marked":             {history.History{initial, isr(30, 1, 2), move(40, 4), isr(50, 1, 4)}, nil},
		"one target is not":                  {history.History{initial, move(40, 2, 4), isr(50, 1, 4)}, []string{inISR}},
		"cancelled back to full members":     {history.History{initial, move(40, 4), isr(50, 1, 4), move(60), isr(900, 1, 4), isr(1200, 1, 4)}, []string{inISR}},
		"no edit recorded":                   {history.History{isr(50, 1)}, []string{inISR}},
		"nothing sampled":                    {history.History{initial}, []string{inISR}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, bad(Observers(c.h, topic, window)...)) })
	}
}
