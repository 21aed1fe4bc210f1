package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"observer-patch/internal/cluster"
	"observer-patch/internal/exit"
	"observer-patch/internal/hosts"
	"observer-patch/internal/observer"
	"observer-patch/internal/promoter"
)

// connection are the flags that say which cluster is meant.
type connection struct {
	bootstrap []string
	settings  cluster.Settings
	context   string
	// again is the pause after a first question that nobody answered, before it is asked again; 0 gives
	// up. A service is started while brokers die, too.
	again time.Duration
}

func (c *connection) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&c.bootstrap, "bootstrap-server", nil, "host:port of some brokers; default: $"+cluster.BootstrapVariable+", else the context's")
	f.StringVar(&c.settings.CommandConfig, "command-config", "", "client.properties for the connection; default: $"+cluster.CommandConfigVariable+", else the context's")
	f.StringVar(&c.settings.Inventory, "inventory", "", "inventory of the nodes' identity files; default: $"+cluster.InventoryVariable+", else the context's")
	f.StringVar(&c.context, "context", "", "named cluster of the file of contexts; default: $"+cluster.ContextVariable+", else its current one")
	f.StringVar(&c.settings.ClusterID, "cluster-id", "", "refuse to work on a cluster that calls itself otherwise")
}

// resolve gives what the flags, the environment and the context say together.
func (c *connection) resolve() (cluster.Settings, error) {
	s := c.settings
	s.Bootstrap = c.bootstrap
	s, err := cluster.Resolve(s, c.context, os.Getenv)
	return s, exit.With(exit.Usage, err)
}

// connect opens the way to the cluster, to its nodes' files and to what is kept of it below the
// state folder, and refuses a cluster that is not the one that flags, context or inventory name.
func (c *connection) connect(ctx context.Context, env *Env, state string, do func(*promoter.Connection, *promoter.Inventory, *promoter.Store) error) (err error) {
	s, err := c.resolve()
	if err != nil {
		return err
	}
	if s.Inventory == "" {
		return exit.With(exit.Usage, fmt.Errorf("no inventory is named: say --inventory FILE, set %s, or name it in the context", cluster.InventoryVariable))
	}
	inv, err := hosts.ReadInventory(s.Inventory)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	client, err := cluster.Connect(s, env.Log)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	defer client.Close()
	conn := &promoter.Connection{Client: client, Now: time.Now}
	v, err := c.firstLook(ctx, env, conn)
	if err != nil {
		return err
	}
	for source, want := range map[string]string{"--cluster-id or the context": s.ClusterID, "the inventory " + s.Inventory: inv.Cluster} {
		if want != "" && want != v.ClusterID {
			return exit.With(exit.Refused, fmt.Errorf("%s names cluster %s, the brokers say %s; correct one of them", source, want, v.ClusterID))
		}
	}
	store, err := promoter.OpenStore(state, v.ClusterID)
	if err != nil {
		return err
	}
	machine, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("this machine's name, for the journal: %w", err)
	}
	journal, err := hosts.OpenJournal(store.Path("changes.jsonl"), whoami(), machine, time.Now)
	if err != nil {
		return err
	}
	files := promoter.NewInventory(inv, func(ctx context.Context, n hosts.Node) (*hosts.Transport, error) {
		return hosts.Open(ctx, n, hosts.Options{Getenv: os.Getenv, Journal: journal, ClusterID: v.ClusterID, Why: strings.Join(os.Args, " ")})
	}, time.Now)
	defer func() { err = errors.Join(err, files.Close()) }()
	return do(conn, files, store)
}

// firstLook asks which cluster this is, where that is wanted until somebody answers, or refuses to.
func (c *connection) firstLook(ctx context.Context, env *Env, conn *promoter.Connection) (observer.View, error) {
	for {
		v, err := conn.Look(ctx)
		if err == nil || c.again == 0 || !cluster.Transient(err) {
			return v, err
		}
		env.Log.Warn("no broker has answered yet; asking again", "pause", c.again, "error", err)
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(c.again):
		}
	}
}
