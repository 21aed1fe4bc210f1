package arm64

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMappedGivesEachFileOnceAlsoADeletedOne(t *testing.T) {
	require.Equal(t, []Mapping{{"/usr/lib/a.so", "55e0-55e1"}, {"/tmp/with blanks/b.so", "7f01-7f02"}, {"/tmp/c.so", "7f02-7f03"}}, Mapped(`55e0-55e1 r--p 00000000 fd:00 1 /usr/lib/a.so
55e1-55e2 r-xp 00001000 fd:00 1 /usr/lib/a.so
7f00-7f01 rw-p 00000000 00:00 0
7f01-7f02 r--p 00000000 fd:00 2                          /tmp/with blanks/b.so
7f02-7f03 r--p 00000000 fd:00 3 /tmp/c.so (deleted)
7ffd-7ffe rw-p 00000000 00:00 0                          [stack]
`))
}

func TestAProcessThatIsNoARM64JVMIsAnError(t *testing.T) {
	_, err := Loaded(os.Getpid(), nil)
	require.ErrorContains(t, err, "no libjvm.so for aarch64")
}

func TestEveryPairMakesTheBrokerRecompress(t *testing.T) {
	require.Len(t, Pairs(), 9)
	for _, p := range Pairs() {
		require.NotEqual(t, p.From, p.To)
	}
	require.True(t, Pair{From: "gzip", To: "lz4"}.Uses("lz4"))
	require.False(t, Pair{From: "gzip", To: "lz4"}.Uses("zstd"))
}

func TestThePageSaysWhichLibrariesWereNotLoaded(t *testing.T) {
	r := Report{Release: "4.1.0", Runs: []Run{{Name: "control", Control: "the library is gone", Pairs: []Pair{{From: "gzip", To: "lz4"}, {From: "gzip", To: "zstd", Error: "no zstd\nmore"}},
		Libraries: []Library{{Codec: "lz4"}, {Codec: "snappy", Loaded: true}}}}}
	require.Equal(t, []string{"gzip-to-zstd"}, r.Runs[0].Failed())
	page := r.Page()
	require.Contains(t, page, "| 1 of 2 | snappy | lz4 |")
	require.Contains(t, page, "- gzip-to-zstd: no zstd\n")
	require.Contains(t, page, "- gzip-to-lz4: came back\n")
}
