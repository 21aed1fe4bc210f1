package evidence

import (
	"fmt"
	"regexp"
	"strings"

	"observer-patch/internal/lab/cluster"
)

// perNode bounds how many lines of a node go into the evidence.
const perNode = 60

// relevant are the lines about who is in the ISR, who leads, and what the patch says.
var relevant = regexp.MustCompile(`(?i)observer|Rejecting AlterPartition|INELIGIBLE|Shrinking ISR|Expanding ISR|ISR updated|fenc(ed|ing) broker|unclean|Elect|Becoming the|as the new controller|FATAL`)

// LogEnds gives the present sizes of all nodes' logs.
func LogEnds(c *cluster.Cluster) (map[int32]int64, error) {
	out := map[int32]int64{}
	for _, n := range c.Nodes {
		end, err := n.LogEnd()
		if err != nil {
			return nil, err
		}
		out[n.ID] = end
	}
	return out, nil
}

// Lines gives the relevant lines that the nodes have written since, without the machine's paths.
func Lines(c *cluster.Cluster, since map[int32]int64) ([]string, error) {
	var out []string
	for _, n := range c.Nodes {
		// The folder's own name must not make a line relevant.
		lines, err := n.Lines(since[n.ID], perNode, func(l string) bool { return relevant.MatchString(strings.ReplaceAll(l, c.Dir, "")) })
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			out = append(out, fmt.Sprintf("node %d: %s", n.ID, strings.ReplaceAll(l, c.Dir, "CLUSTER")))
		}
	}
	return out, nil
}
