package observer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"observer-patch/internal/observer"
)

func TestTheLossBoundComesFromWhatWasRecorded(t *testing.T) {
	zero := time.Unix(1000, 0)
	at := func(s int) time.Time { return zero.Add(time.Duration(s) * time.Second) }
	var r observer.Recording
	assert.False(t, r.Bound(5, at(0)).Known, "nothing recorded is not a loss of 0")
	r.Note(at(0), 100, map[int32]int64{4: 100})
	r.Note(at(10), 200, map[int32]int64{4: 150})
	r.Note(at(20), 300, map[int32]int64{4: 150})
	r.NoteLost(at(29))
	r.NoteLost(at(60))
	b := r.Bound(150, at(100))
	assert.Equal(t, observer.Bound{Known: true, Records: 150, Seconds: 29, SecondsKnown: true, Unseen: 9, Seen: at(20)}, b)
	b = r.Bound(300, at(100))
	assert.Equal(t, observer.Bound{Known: true, Records: 0, Seconds: 9, SecondsKnown: true, Unseen: 9, Seen: at(20)}, b, "caught up at the last look: only what came after it may be missing")
	b = r.Bound(50, at(100))
	assert.Equal(t, int64(250), b.Records)
	assert.False(t, b.SecondsKnown, "no look is on record when so little was committed")
	r.Note(at(70), 310, map[int32]int64{4: 310})
	assert.Equal(t, 1, len(r.Marks), "what every observer has passed says nothing more")
	assert.True(t, r.Lost.IsZero(), "it has a leader again")
	assert.Equal(t, 30.0, r.Bound(310, at(100)).Unseen, "no look has seen the loss: now stands for it")
}

// A model keeps everything; the recording, which thins, never promises less loss than the model.
func TestThinningNeverPromisesLess(t *testing.T) {
	zero := time.Unix(1000, 0)
	var r observer.Recording
	var all []observer.Mark
	for i := range 2000 {
		at, hw := zero.Add(time.Duration(i)*time.Second), int64(10*i)
		r.Note(at, hw, map[int32]int64{4: 500})
		all = append(all, observer.Mark{At: at, HW: hw})
		if i%97 != 0 {
			continue
		}
		for _, end := range []int64{500, 505, int64(5 * i), hw} {
			want := 0.0
			for _, m := range all {
				if m.HW <= end {
					want = at.Sub(m.At).Seconds()
				}
			}
			b := r.Bound(end, at)
			assert.Equal(t, max(0, hw-end), b.Records)
			if b.SecondsKnown {
				assert.GreaterOrEqual(t, b.Seconds, want)
			}
			if end == hw {
				assert.True(t, b.SecondsKnown)
				assert.Zero(t, b.Seconds)
			}
		}
	}
	assert.LessOrEqual(t, len(r.Marks), 257)
}
