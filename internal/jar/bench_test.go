package jar

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRewrite rewrites a jar of the size of Kafka's core (1,500 entries, 6 MB) with 50
// entries replaced; the bound is 0.3 s.
func BenchmarkRewrite(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	entries := make([]content, 1500)
	for i := range entries {
		text := make([]byte, 4000)
		for k := range text {
			text[k] = byte(random.IntN(32))
		}
		entries[i] = content{fmt.Sprintf("kafka/server/Class%d.class", i), string(text)}
	}
	src := makeJar(b, true, entries...)
	put := make(map[string][]byte, 50)
	for _, e := range entries[700:750] {
		put[e.name] = []byte(e.text + "changed")
	}
	for b.Loop() {
		_, err := Rewrite(io.Discard, src, Changes{Put: put})
		require.NoError(b, err)
	}
}
