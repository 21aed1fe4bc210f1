// Package traffic produces numbered records with acks=all and idempotence, and reads logs back.
package traffic

import (
	"bytes"
	"fmt"
	"strconv"
)

// encode gives a record's value: producer, a space, the number, a space, padding up to size.
func encode(producer string, seq int64, size int) []byte {
	v := fmt.Appendf(make([]byte, 0, size), "%s %d ", producer, seq)
	return append(v, bytes.Repeat([]byte{'.'}, max(0, size-len(v)))...)
}

// decode undoes encode.
func decode(value []byte) (producer string, seq int64, err error) {
	parts := bytes.SplitN(value, []byte{' '}, 3)
	if len(parts) != 3 {
		return "", 0, fmt.Errorf("record value %.40q: expected producer, number and padding", value)
	}
	seq, err = strconv.ParseInt(string(parts[1]), 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("record value %.40q: %w", value, err)
	}
	return string(parts[0]), seq, nil
}
