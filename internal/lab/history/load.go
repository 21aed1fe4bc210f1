package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
)

// Load reads a file that a Recorder wrote. What a Recorder does not write is an error: an unknown
// field, an event of no kind or of several, a time before the one above it.
func Load(path string) (History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("history %s: expected gzip: %w", path, err)
	}
	dec := json.NewDecoder(z)
	dec.DisallowUnknownFields()
	var h History
	for {
		var e Event
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err == nil {
			err = sound(e, h)
		}
		if err != nil {
			return nil, fmt.Errorf("history %s, event %d: %w", path, len(h)+1, err)
		}
		h = append(h, e)
	}
}

func sound(e Event, before History) error {
	kinds := 0
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("%d kinds in one event, expected 1", kinds)
	}
	if n := len(before); n > 0 && e.At < before[n-1].At {
		return fmt.Errorf("at %.1f ms after one at %.1f ms, expected them in order of time", e.At, before[n-1].At)
	}
	return nil
}
