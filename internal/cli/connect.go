package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
)

// nodeLimit bounds reading one node's file: an unreachable node is a finding, not a wait.
const nodeLimit = 15 * time.Second

// viewing are the flags of commands that only look: the inventory is not needed, and the list of
// observers can be given instead.
type viewing struct {
	connection
	observers string
	format    string

	inventory *hosts.Inventory
	given     []int32
}

func (v *viewing) flags(cmd *cobra.Command) {
	v.connection.flags(cmd.Flags())
	cmd.Flags().StringVar(&v.observers, "observers", "", "broker ids that count as observers (4,5), or none, instead of those of the nodes' files")
	formatFlag(cmd, &v.format)
}

// open checks the flags, reads the inventory when one is named, and makes a client. The caller
// closes it.
func (v *viewing) open(env *Env) (*cluster.Client, error) {
	if err := checkFormat(v.format); err != nil {
		return nil, err
	}
	s, err := v.resolve()
	if err != nil {
		return nil, err
	}
	if v.given, err = brokerIDs(v.observers); err != nil {
		return nil, err
	}
	if s.Inventory != "" {
		if v.inventory, err = hosts.ReadInventory(s.Inventory); err != nil {
			return nil, exit.With(exit.Usage, err)
		}
	}
	client, err := cluster.Connect(s, env.Log)
	return client, exit.With(exit.Usage, err)
}

// brokerIDs reads --observers, nil when it is not given.
func brokerIDs(text string) ([]int32, error) {
	switch text {
	case "":
		return nil, nil
	case "none":
		return []int32{}, nil
	}
	var out []int32
	for word := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || id < 0 {
			return nil, exit.With(exit.Usage, fmt.Errorf("--observers %q: expected broker ids with commas between them, or none", text))
		}
		out = append(out, int32(id))
	}
	return out, nil
}

// check refuses another cluster than the one that was meant, by the flags or by the inventory.
func (v *viewing) check(found string) error {
	refuse := func(who, want string) error {
		return exit.With(exit.Refused, fmt.Errorf("%s names cluster %s, the brokers say %s; correct one of them", who, want, found))
	}
	s, err := v.resolve()
	switch {
	case err != nil:
		return err
	case s.ClusterID != "" && s.ClusterID != found:
		return refuse("--cluster-id or the context", s.ClusterID)
	case v.inventory != nil && v.inventory.Cluster != "" && v.inventory.Cluster != found:
		return refuse("the inventory "+s.Inventory, v.inventory.Cluster)
	}
	return nil
}

// seen reads the identity files, nil without an inventory.
func (v *viewing) seen(ctx context.Context) []hosts.Seen {
	if v.inventory == nil {
		return nil
	}
	return hosts.ReadAll(ctx, v.inventory, hosts.Options{Getenv: os.Getenv}, nodeLimit)
}
