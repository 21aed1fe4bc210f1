package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"observer-patch/internal/observer"
)

// The gauges of a node in its Prometheus exporter, by the names of ops/jmx-exporter.yml.
const (
	hashGauge  = "kafka_observer_ids_hash"
	stateGauge = "kafka_observer_ids_file_state"
)

// poll is the pause between two looks while a node has not read a list yet.
const poll = 500 * time.Millisecond

// await waits until the node has the content: its file says so, and where the inventory names a
// metrics URL, the node's own gauges say that these ids are in force. When ctx ends it says what
// is missing still.
func (t *Transport) await(ctx context.Context, content []byte) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last error
	for {
		err := t.has(ctx, content)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err // a look that is cut short says nothing of the node
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ConfigMap is written, and the node has not read it in time: %w", last)
		case <-tick.C:
		}
	}
}

// has tells why a node does not have the content.
func (t *Transport) has(ctx context.Context, content []byte) error {
	f, err := t.read(ctx)
	if err != nil {
		return err
	}
	if !f.Exists || !bytes.Equal(f.Content, content) {
		return errors.New("its file is another one still")
	}
	if t.Node.Metrics == "" {
		return nil
	}
	return inForce(ctx, t.Node.Metrics, observer.ParseFile(content).IDs)
}

// inForce asks a node's exporter whether the ids are in force there.
func inForce(ctx context.Context, url string, ids []int32) error {
	gauges, err := scrape(ctx, url)
	if err != nil {
		return err
	}
	hash, ok := gauges[hashGauge]
	if !ok {
		return fmt.Errorf("%s shows no %s: is the node patched?", url, hashGauge)
	}
	if state := gauges[stateGauge]; state != float64(observer.OK) {
		return fmt.Errorf("%s says %g: the node cannot use its file", stateGauge, state)
	}
	if want := idsHash(ids); hash != float64(want) {
		return fmt.Errorf("%s is %.0f, expected %d for %v: the node has not read the list", hashGauge, hash, want, ids)
	}
	return nil
}

// idsHash gives what the gauge ObserverIdsHash shows for ids, ascending: 0 for none, else
// java.util.Arrays.hashCode of them.
func idsHash(ids []int32) int32 {
	if len(ids) == 0 {
		return 0
	}
	h := int32(1)
	for _, id := range ids {
		h = 31*h + id
	}
	return h
}

// scrape reads the plain gauges of a Prometheus exporter, in its text format.
func scrape(ctx context.Context, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // only read from
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != hashGauge && fields[0] != stateGauge {
			continue
		}
		if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
			out[fields[0]] = v
		}
	}
	return out, nil
}
