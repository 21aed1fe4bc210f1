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
	"sync"
	"time"

	"observer-patch/internal/observer"
)

// The gauges of a node in its Prometheus exporter, by the names of ops/jmx-exporter.yml.
const (
	hashGauge  = "kafka_observer_ids_hash"
	stateGauge = "kafka_observer_ids_file_state"
)

// Waiting is a node that has not read the list yet, and what is known of why.
type Waiting struct {
	Node  int32
	Cause string
}

// Await waits until every node has the content: its file says so, in a pod the mounted one, and
// where the inventory names a metrics URL, the node's own gauges say that these ids are in force.
// It gives those that have not when ctx ends, and tells progress whenever they change.
func Await(ctx context.Context, nodes []*Transport, content []byte, poll time.Duration, progress func([]Waiting)) []Waiting {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	said := ""
	var left []Waiting
	for {
		looked := waiting(ctx, nodes, content)
		if len(looked) == 0 {
			return nil
		}
		if ctx.Err() != nil && left != nil {
			return left // a look that is cut short says nothing of the nodes
		}
		left = looked
		if now := fmt.Sprint(left); now != said && ctx.Err() == nil {
			said = now
			progress(left)
		}
		select {
		case <-ctx.Done():
			return left
		case <-tick.C:
		}
	}
}

func waiting(ctx context.Context, nodes []*Transport, content []byte) []Waiting {
	causes := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, t := range nodes {
		wg.Go(func() { causes[i] = t.has(ctx, content) })
	}
	wg.Wait()
	var out []Waiting
	for i, err := range causes {
		if err != nil {
			out = append(out, Waiting{nodes[i].Node.ID, err.Error()})
		}
	}
	return out
}

// has tells why a node does not have the content.
func (t *Transport) has(ctx context.Context, content []byte) error {
	look := t.read
	if t.mounted != nil {
		look = t.mounted
	}
	f, err := look(ctx)
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
