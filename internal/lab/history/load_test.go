package history

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadRefusesWhatNoRecorderWrites(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"as written":          {`{"t":1,"mark":{"name":"a","value":1}}` + "\n" + `{"t":1,"line":{"node":1,"text":"x"}}`, ""},
		"an unknown event":    {`{"t":1,"verdict":{"ok":true}}`, "unknown field"},
		"an unknown field":    {`{"t":1,"mark":{"name":"a","value":1,"colour":"red"}}`, "unknown field"},
		"no kind":             {`{"t":1}`, "0 kinds"},
		"two kinds":           {`{"t":1,"mark":{"name":"a","value":1},"line":{"node":1,"text":"x"}}`, "2 kinds"},
		"back in time":        {`{"t":2,"mark":{"name":"a","value":1}}` + "\n" + `{"t":1,"mark":{"name":"b","value":1}}`, "order of time"},
		"cut in the middle":   {`{"t":1,"mark":{"na`, "unexpected EOF"},
		"something else":      {`hello`, "invalid character"},
		"an event of no type": {`[1]`, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events")
			f, err := os.Create(path)
			require.NoError(t, err)
			z := gzip.NewWriter(f)
			_, err = z.Write([]byte(c.text))
			require.NoError(t, err)
			require.NoError(t, z.Close())
			require.NoError(t, f.Close())
			h, err := Load(path)
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, h, 2)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}
