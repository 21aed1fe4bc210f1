package traffic

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"observer-patch/internal/lab/history"
)

func TestRecordsCarryTheirNumber(t *testing.T) {
	v := encode("load", 4711, 300)
	require.Len(t, v, 300)
	producer, seq, err := decode(v)
	require.NoError(t, err)
	require.Equal(t, "load", producer)
	require.Equal(t, int64(4711), seq)

	_, _, err = decode([]byte("somebody else's record"))
	require.Error(t, err)
	_, _, err = decode(nil)
	require.Error(t, err)
}

func TestRunsJoinOnlyNeighbours(t *testing.T) {
	var runs []history.Run
	runs = extend(runs, 0, "a", 0)
	runs = extend(runs, 1, "a", 1)
	runs = extend(runs, 2, "b", 0)
	runs = extend(runs, 3, "a", 2)
	runs = extend(runs, 5, "a", 3) // offset 4 is a transaction marker
	runs = extend(runs, 6, "a", 5) // number 4 is missing
	require.Equal(t, []history.Run{
		{Offset: 0, Producer: "a", Seq: 0, N: 2}, {Offset: 2, Producer: "b", Seq: 0, N: 1}, {Offset: 3, Producer: "a", Seq: 2, N: 1},
		{Offset: 5, Producer: "a", Seq: 3, N: 1}, {Offset: 6, Producer: "a", Seq: 5, N: 1},
	}, runs)
}

func TestOnlyARefusalProvesThatARecordIsNotThere(t *testing.T) {
	require.Equal(t, history.Acked, outcome(nil))
	require.Equal(t, history.Failed, outcome(kerr.MessageTooLarge))
	require.Equal(t, history.Unknown, outcome(kerr.NotEnoughReplicasAfterAppend), "appended, and perhaps kept")
	require.Equal(t, history.Unknown, outcome(errors.New("connection closed")))
}

func TestARecordSharesTheFateOfItsTransaction(t *testing.T) {
	lost := errors.New("connection closed")
	require.Equal(t, history.Acked, ended(history.Acked, kgo.TryCommit, nil))
	require.Equal(t, history.Aborted, ended(history.Acked, kgo.TryAbort, nil))
	require.Equal(t, history.Aborted, ended(history.Unknown, kgo.TryAbort, nil))
	require.Equal(t, history.Unknown, ended(history.Acked, kgo.TryCommit, lost), "the commit may have happened")
	require.Equal(t, history.Unknown, ended(history.Acked, kgo.TryAbort, lost), "an open transaction is aborted later, but by whom and when is not known")
	require.Equal(t, history.Failed, ended(history.Failed, kgo.TryCommit, lost))
}
