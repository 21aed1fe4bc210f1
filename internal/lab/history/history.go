package history

import "slices"

// History is the events of one run in the order in which they were recorded.
type History []Event

// Ops gives the produced records.
func (h History) Ops() []Op {
	var out []Op
	for _, e := range h {
		if e.Op != nil {
			out = append(out, *e.Op)
		}
	}
	return out
}

// Reads gives what consumers read from leaders, with the given isolation level.
func (h History) Reads(committed bool) []Read {
	var out []Read
	for _, e := range h {
		if e.Read != nil && e.Read.Committed == committed && e.Read.Rack == "" {
			out = append(out, *e.Read)
		}
	}
	return out
}

// RackReads gives what read_committed consumers with a rack read.
func (h History) RackReads() []Read {
	var out []Read
	for _, e := range h {
		if e.Read != nil && e.Read.Committed && e.Read.Rack != "" {
			out = append(out, *e.Read)
		}
	}
	return out
}

// Logs gives the replicas' logs.
func (h History) Logs() []ReplicaLog {
	var out []ReplicaLog
	for _, e := range h {
		if e.Log != nil {
			out = append(out, *e.Log)
		}
	}
	return out
}

// Marks gives the events that carry the named mark.
func (h History) Marks(name string) []Event {
	var out []Event
	for _, e := range h {
		if e.Mark != nil && e.Mark.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// Mark gives the first event that carries the named mark.
func (h History) Mark(name string) (Event, bool) {
	if all := h.Marks(name); len(all) > 0 {
		return all[0], true
	}
	return Event{}, false
}

// Faults gives the events of a fault's phase. An empty name stands for any fault.
func (h History) Faults(name, phase string) []Event {
	var out []Event
	for _, e := range h {
		if e.Fault != nil && e.Fault.Phase == phase && (name == "" || e.Fault.Name == name) {
			out = append(out, e)
		}
	}
	return out
}

// Sample is one partition at one time.
type Sample struct {
	// From and At are when the sample began and ended, milliseconds since the run began.
	From, At   float64
	Via        int32
	Controller int32
	// Brokers are those that the metadata lists, Eligible tells whether the ELR is known.
	Brokers  []int32
	Eligible bool
	Partition
}

// Samples gives all samples of a topic, in order of time; an empty topic stands for all.
func (h History) Samples(topic string) []Sample {
	var out []Sample
	for _, e := range h {
		if e.View == nil {
			continue
		}
		for _, p := range e.View.Partitions {
			if topic == "" || p.Topic == topic {
				out = append(out, Sample{From: e.View.From, At: e.At, Via: e.View.Via, Controller: e.View.Controller,
					Brokers: e.View.Brokers, Eligible: e.View.Eligible, Partition: p})
			}
		}
	}
	return out
}

// First gives the first sample that began at or after from and meets the condition.
func (h History) First(topic string, from float64, cond func(Sample) bool) (Sample, bool) {
	for _, s := range h.Samples(topic) {
		if s.From >= from && cond(s) {
			return s, true
		}
	}
	return Sample{}, false
}

// AllParts gives the time, in milliseconds since the run began, at which the last of the topic's
// partitions first met the condition in a sample that began at or after from.
func (h History) AllParts(topic string, from float64, cond func(Sample) bool) (float64, bool) {
	met, seen := map[int32]float64{}, map[int32]bool{}
	for _, s := range h.Samples(topic) {
		seen[s.ID] = true
		if _, ok := met[s.ID]; !ok && s.From >= from && cond(s) {
			met[s.ID] = s.At
		}
	}
	if len(met) < len(seen) || len(seen) == 0 {
		return 0, false
	}
	last := 0.0
	for _, at := range met {
		last = max(last, at)
	}
	return last, true
}

// InISR tells whether broker is in the sample's ISR.
func (s Sample) InISR(broker int32) bool { return slices.Contains(s.ISR, broker) }
