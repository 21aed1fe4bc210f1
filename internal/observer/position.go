package observer

import (
	"cmp"
	"fmt"
)

// Position is how far one replica's log goes.
type Position struct {
	Broker int32 `json:"broker"`
	// Epoch is the leader epoch of the last batch, -1 for a log that never had one.
	Epoch int32 `json:"epoch"`
	// End is the log end offset.
	End int64 `json:"end"`
	// Cause says why the position is not known; empty when it is.
	Cause string `json:"cause,omitempty"`
}

// Known tells whether the replica has told its position.
func (p Position) Known() bool { return p.Cause == "" }

// String gives the pair that is compared.
func (p Position) String() string {
	if !p.Known() {
		return fmt.Sprintf("%d: unknown (%s)", p.Broker, p.Cause)
	}
	return fmt.Sprintf("%d: epoch %d, end %d", p.Broker, p.Epoch, p.End)
}

// Compare orders logs: by the leader epoch of the last batch, then by the log end offset. The
// offset alone does not order them: an old leader's unacknowledged tail may be longer (R3).
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Epoch, q.Epoch), cmp.Compare(p.End, q.End))
}
