package promoter

import (
	"slices"
	"strings"
	"time"

	"observer-patch/internal/observer"
)

// RecordingsFile is the document of a store with what was recorded.
const RecordingsFile = "positions.json"

// Recordings gives what was recorded of partitions while their brokers lived, by topic-partition;
// nothing recorded is an empty map.
func (s *Store) Recordings() (map[string]observer.Recording, error) {
	var list []observer.Recording
	if _, err := s.load(RecordingsFile, &list); err != nil {
		return nil, err
	}
	out := map[string]observer.Recording{}
	for _, r := range list {
		out[key(r.Topic, r.ID)] = r
	}
	return out, nil
}

// Record adds one look to the recordings and stores them: for every partition with an observer
// under the ids in force, how far it is committed, and the log ends of its observers. A partition
// that is led and whose watermark is not known is left as it was. Partitions that are gone are
// dropped.
func (s *Store) Record(v observer.View, ids []int32, p Positions, at time.Time) error {
	all, err := s.Recordings()
	if err != nil {
		return err
	}
	var list []observer.Recording
	for _, q := range v.Partitions {
		name := q.String()
		r, had := all[name]
		observers := q.Observers(ids)
		if len(observers) == 0 && !had {
			continue
		}
		r.Topic, r.ID = q.Topic, q.ID
		hw, known := p.Watermarks[name]
		switch {
		case q.Error != "":
		case q.Leader == observer.NoLeader:
			r.NoteLost(at)
		case known:
			ends := map[int32]int64{}
			for _, b := range observers {
				// Who does not answer is where it was, at least.
				ends[b] = r.Ends[b]
				if pos, ok := p.Replicas[name][b]; ok && pos.Known() {
					ends[b] = pos.End
				}
			}
			r.Note(at, hw, ends)
		}
		if len(r.Marks) > 0 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b observer.Recording) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	return s.save(RecordingsFile, list)
}

func key(topic string, id int32) string { return observer.Partition{Topic: topic, ID: id}.String() }
