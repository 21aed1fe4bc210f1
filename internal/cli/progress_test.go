package cli

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressOffATerminalIsWholeLines(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a counter keeps its last state", "Compressing: 1%\rCompressing: 50%\rCompressing: 100%, done.\nTotal 5\n", "Compressing: 100%, done.\nTotal 5\n"},
		{"plain lines pass", "one\ntwo\n", "one\ntwo\n"},
		{"a line may end as on Windows", "done.\r\n", "done.\n"},
		{"empty lines do not", "\r\n\n \nx\n", "x\n"},
		{"an unfinished line waits", "half", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var whole, bytewise bytes.Buffer
			_, err := io.WriteString(progress(&whole), c.in)
			require.NoError(t, err)
			w := progress(&bytewise)
			for i := range len(c.in) {
				_, err := io.WriteString(w, c.in[i:i+1])
				require.NoError(t, err)
			}
			require.Equal(t, c.want, whole.String())
			require.Equal(t, c.want, bytewise.String())
		})
	}
}
