package placement

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, text string) Placement {
	t.Helper()
	p, err := Parse([]byte(text))
	require.NoError(t, err)
	return p
}

const usual = `{"version":2,"replicas":[{"count":1,"constraints":{"rack":"a"}},{"count":1,"constraints":{"rack":"b"}},{"count":1,"constraints":{"rack":"c"}}],
 "observers":[{"count":1,"constraints":{"rack":"r"}}],"observerPromotionPolicy":"under-min-isr"}`

func TestPlacementsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "EOF",
		`[]`:                                     "placement",
		`{"version":3,"replicas":[{"count":1}]}`: "version 3",
		`{"replicas":[{"count":1}]}`:             "version 0",
		`{"version":1,"replicas":[]}`:            "at least one",
		`{"version":1,"replicas":[{"count":0}]}`: "count 0",
		`{"version":1,"replicas":[{"count":-1}]}`:                                                                    "count -1",
		`{"version":1,"replicas":[{"count":1,"constraints":{"rak":"a"}}]}`:                                           `"rak"`,
		`{"version":1,"replicas":[{"count":1,"constraints":{"rack":""}}]}`:                                           "rack",
		`{"version":1,"replicas":[{"count":1},{"count":1}]}`:                                                         "twice",
		`{"version":1,"replicas":[{"count":1}],"observer":[{"count":1}]}`:                                            "observer",
		`{"version":1,"replicas":[{"count":1}]} {}`:                                                                  "after its end",
		`{"version":1,"replicas":[{"count":1}],"observers":[{"count":1}],"observerPromotionPolicy":"under-min-isr"}`: "needs version 2",
		`{"version":2,"replicas":[{"count":1}],"observerPromotionPolicy":"under-min-isr"}`:                           "without observers",
		`{"version":2,"replicas":[{"count":1}],"observers":[{"count":1}],"observerPromotionPolicy":"soon"}`:          `"soon"`,
		`{"version":2,"replicas":[{"count":1000}],"observers":[{"count":1}]}`:                                        "1001",
	} {
		_, err := Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestAPlacementIsReadBack(t *testing.T) {
	p := parse(t, usual)
	assert.Equal(t, 3, p.Sync())
	assert.Equal(t, 1, p.Observing())
	assert.Equal(t, p, parse(t, p.String()))
	q := parse(t, `{"version":1,"replicas":[{"count":3}]}`)
	assert.Equal(t, q, parse(t, q.String()))
}

func FuzzAPlacementIsReadOrRefused(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte(`{"version":1,"replicas":[{"count":3}]}`))
	f.Add([]byte(`{"version":2,"replicas":[{"count":1,"constraints":null}],"observers":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse([]byte(p.String()))
		require.NoError(t, err)
		require.Equal(t, p.String(), again.String())
		require.Positive(t, p.Sync())
	})
}

func brokers() []Broker {
	return []Broker{{ID: 1, Rack: "a"}, {ID: 2, Rack: "b"}, {ID: 3, Rack: "c"}, {ID: 4, Rack: "r", Observer: true}, {ID: 5, Rack: "a"}, {ID: 6, Rack: "r", Observer: true}}
}

func TestLeastMovementAndObserversLast(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, added, removed []int32
	}{
		"nothing to do":                        {[]int32{2, 3, 1, 4}, []int32{2, 3, 1, 4}, nil, nil},
		"observers go last":                    {[]int32{4, 1, 2, 3}, []int32{1, 2, 3, 4}, nil, nil},
		"an observer is missing":               {[]int32{3, 1, 2}, []int32{3, 1, 2, 4}, []int32{4}, nil},
		"the present broker of the rack stays": {[]int32{2, 5, 3}, []int32{2, 5, 3, 4}, []int32{4}, nil},
		"trap 7: it landed on an observer":     {[]int32{1, 4, 2}, []int32{1, 2, 3, 4}, []int32{3}, nil},
		"two in one rack":                      {[]int32{5, 1, 2, 6}, []int32{5, 2, 3, 6}, []int32{3}, []int32{1}},
		"two observers":                        {[]int32{1, 2, 3, 6, 4}, []int32{1, 2, 3, 6}, nil, []int32{4}},
	} {
		got, err := Assign(parse(t, usual), Partition{Topic: "t", Replicas: c.from}, brokers())
		require.NoError(t, err, name)
		assert.Equal(t, c.to, got.To, name)
		assert.ElementsMatch(t, c.added, got.Added, name)
		assert.ElementsMatch(t, c.removed, got.Removed, name)
		assert.Empty(t, Check(parse(t, usual), Partition{Replicas: got.To}, brokers()), name)
		if got.Differs() {
			assert.NotEmpty(t, Check(parse(t, usual), Partition{Replicas: c.from}, brokers()), name)
		}
	}
	_, err := Assign(parse(t, `{"version":1,"replicas":[{"count":2,"constraints":{"rack":"b"}}]}`), Partition{Topic: "t", Replicas: []int32{1}}, brokers())
	assert.ErrorContains(t, err, `rack "b" has 1 brokers`)
}

func TestAnObserverIsReplacedInTwoSteps(t *testing.T) {
	observer := func(b int32) bool { return b == 4 || b == 6 }
	c, err := Assign(parse(t, `{"version":2,"replicas":[{"count":1}],"observers":[{"count":1,"constraints":{"rack":"s"}}]}`), Partition{Topic: "t", Replicas: []int32{1, 4}},
		[]Broker{{ID: 1}, {ID: 4, Rack: "r", Observer: true}, {ID: 6, Rack: "s", Observer: true}})
	require.NoError(t, err)
	assert.Equal(t, []int32{1, 6}, c.To)
	assert.Equal(t, []int32{1, 6, 4}, c.Step(observer), "the old one goes when the new one has everything")
	text, err := Reassignment([]Change{c}, observer)
	require.NoError(t, err)
	var r reassignment
	require.NoError(t, json.Unmarshal(text, &r))
	assert.Equal(t, []moveTo{{Topic: "t", Replicas: []int32{1, 6, 4}, LogDirs: []string{"any", "any", "any"}}}, r.Partitions)
	sync := Change{From: []int32{1, 2, 4}, To: []int32{1, 3, 4}, Added: []int32{3}, Removed: []int32{2}}
	assert.Equal(t, sync.To, sync.Step(observer), "a sync replica is replaced by the controller's own rule")
}

// Whatever there was: the result satisfies the placement, keeps what can be kept, and a second
// plan finds nothing to do.
func TestRandomAssignmentsSettle(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 8))
	p := parse(t, usual)
	for range 2000 {
		b := brokers()
		all := []int32{1, 2, 3, 4, 5, 6}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		from := all[:1+random.IntN(len(all))]
		c, err := Assign(p, Partition{Topic: "t", Replicas: from}, b)
		require.NoError(t, err)
		require.Empty(t, Check(p, Partition{Replicas: c.To}, b), "%v -> %v", from, c.To)
		// Of every rack one is needed: whoever was there stays.
		for _, rack := range [][]int32{{1, 5}, {2}, {3}, {4, 6}} {
			have := slices.ContainsFunc(rack, func(x int32) bool { return slices.Contains(from, x) })
			new := slices.ContainsFunc(rack, func(x int32) bool { return slices.Contains(c.Added, x) })
			require.False(t, have && new, "%v -> %v copies where a copy was", from, c.To)
		}
		again, err := Assign(p, Partition{Topic: "t", Replicas: c.To}, b)
		require.NoError(t, err)
		require.False(t, again.Differs())
	}
}
