package history

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Recorder writes events to a gzip file of JSON lines as they happen, and keeps them.
// It may be used from several goroutines.
type Recorder struct {
	start time.Time
	mu    sync.Mutex
	file  *os.File
	zip   *gzip.Writer
	buf   *bufio.Writer
	err   error
	all   History
}

// NewRecorder creates path; times count from now.
func NewRecorder(path string) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	z := gzip.NewWriter(f)
	return &Recorder{start: time.Now(), file: f, zip: z, buf: bufio.NewWriter(z)}, nil
}

// Now gives milliseconds since the run began, from the monotonic clock, rounded to 0.1 ms.
func (r *Recorder) Now() float64 { return r.At(time.Now()) }

// At gives t as milliseconds since the run began.
func (r *Recorder) At(t time.Time) float64 {
	return float64(t.Sub(r.start).Round(100*time.Microsecond)) / float64(time.Millisecond)
}

// Record adds e, completed now, and gives its time.
func (r *Recorder) Record(e Event) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = r.Now()
	r.all = append(r.all, e)
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.buf.Write(append(line, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write history: %w", err)
	}
	return e.At
}

// Mark records a named number.
func (r *Recorder) Mark(name string, value int64, text string) float64 {
	return r.Record(Event{Mark: &Mark{Name: name, Value: value, Text: text}})
}

// History gives what was recorded so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[:len(r.all):len(r.all)]
}

// Close completes the file and gives the first error of any write.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.buf.Flush(), r.zip.Close(), r.file.Sync(), r.file.Close())
}
