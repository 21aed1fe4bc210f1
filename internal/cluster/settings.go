package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Settings say which cluster is meant and how it is reached.
type Settings struct {
	// Bootstrap are host:port of some brokers.
	Bootstrap []string
	// CommandConfig is the path of a client.properties; empty for none.
	CommandConfig string
	// Inventory is the path of the nodes' inventory; empty for none.
	Inventory string
	// ClusterID is what the cluster has to call itself; empty for whatever.
	ClusterID string
}

// Named is a cluster in the file of contexts.
type Named struct {
	// Bootstrap are host:port of some brokers, with commas between them.
	Bootstrap     string `yaml:"bootstrap-servers"`
	CommandConfig string `yaml:"command-config"`
	Inventory     string `yaml:"inventory"`
	ClusterID     string `yaml:"cluster-id"`
}

// Contexts is the file of named clusters.
type Contexts struct {
	// Current is the one that is taken when none is named.
	Current  string           `yaml:"current"`
	Contexts map[string]Named `yaml:"contexts"`
}

// The environment of the commands that talk to a cluster; flags win over it, and it wins over
// the context.
const (
	BootstrapVariable     = "OBSERVER_PATCH_BOOTSTRAP_SERVER"
	CommandConfigVariable = "OBSERVER_PATCH_COMMAND_CONFIG"
	InventoryVariable     = "OBSERVER_PATCH_INVENTORY"
	ContextVariable       = "OBSERVER_PATCH_CONTEXT"
	ContextsVariable      = "OBSERVER_PATCH_CONFIG"
)

// ContextsFile gives the path of the file of contexts, which need not exist.
func ContextsFile(getenv func(string) string) (string, error) {
	if path := getenv(ContextsVariable); path != "" {
		return path, nil
	}
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "observer-patch", "config.yaml"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "observer-patch", "config.yaml"), nil
	}
	return "", fmt.Errorf("neither %s nor HOME is set", ContextsVariable)
}

// ReadContexts reads the file of contexts. Relative paths in it are relative to its folder. A
// file that is not there has no contexts.
func ReadContexts(path string) (*Contexts, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &Contexts{}, nil
	}
	if err != nil {
		return nil, err
	}
	var c Contexts
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	beside := func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(filepath.Dir(path), p)
	}
	for name, n := range c.Contexts {
		n.CommandConfig, n.Inventory = beside(n.CommandConfig), beside(n.Inventory)
		c.Contexts[name] = n
	}
	return &c, nil
}

// Resolve fills in what the flags leave open: from the environment, then from the named context
// (context, else the environment's, else the file's current one).
func Resolve(flags Settings, context string, getenv func(string) string) (Settings, error) {
	s := flags
	if len(s.Bootstrap) == 0 {
		s.Bootstrap = splitList(getenv(BootstrapVariable))
	}
	if s.CommandConfig == "" {
		s.CommandConfig = getenv(CommandConfigVariable)
	}
	if s.Inventory == "" {
		s.Inventory = getenv(InventoryVariable)
	}
	if context == "" {
		context = getenv(ContextVariable)
	}
	path, err := ContextsFile(getenv)
	if err != nil {
		if context != "" {
			return s, err
		}
		return s, nil
	}
	c, err := ReadContexts(path)
	if err != nil {
		return s, err
	}
	if context == "" {
		// A cluster that is named by its brokers is not mixed with the settings of another one.
		if len(s.Bootstrap) > 0 || c.Current == "" {
			return s, nil
		}
		context = c.Current
	}
	n, ok := c.Contexts[context]
	if !ok {
		names := []string{}
		for name := range c.Contexts {
			names = append(names, name)
		}
		slices.Sort(names)
		return s, fmt.Errorf("no context %q in %s, which has [%s]", context, path, strings.Join(names, ", "))
	}
	if len(s.Bootstrap) == 0 {
		s.Bootstrap = splitList(n.Bootstrap)
	}
	if s.CommandConfig == "" {
		s.CommandConfig = n.CommandConfig
	}
	if s.Inventory == "" {
		s.Inventory = n.Inventory
	}
	if s.ClusterID == "" {
		s.ClusterID = n.ClusterID
	}
	return s, nil
}

func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// options gives what a client is made with. Warnings name keys that have no effect; a key that
// security depends on and that is not supported is an error.
func (s Settings) options(warn func(string)) ([]kgo.Opt, error) {
	p := newProperties(nil)
	if s.CommandConfig != "" {
		text, err := os.ReadFile(s.CommandConfig)
		if err != nil {
			return nil, err
		}
		list, err := ParseProperties(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.CommandConfig, err)
		}
		p = newProperties(list)
	}
	opts, err := s.fromProperties(p, warn)
	if err != nil && s.CommandConfig != "" {
		err = fmt.Errorf("%s: %w", s.CommandConfig, err)
	}
	return opts, err
}

func (s Settings) fromProperties(p *properties, warn func(string)) ([]kgo.Opt, error) {
	servers := splitList(p.take("bootstrap.servers"))
	if len(s.Bootstrap) > 0 {
		servers = s.Bootstrap
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("no brokers are named: say --bootstrap-server HOST:PORT, set %s, or name a context", BootstrapVariable)
	}
	for _, server := range servers {
		if _, _, err := net.SplitHostPort(server); err != nil {
			return nil, fmt.Errorf("bootstrap server %q: expected HOST:PORT: %w", server, err)
		}
	}
	id := p.take("client.id")
	if id == "" {
		id = "observer-patch"
	}
	dial, err := millis(p, "socket.connection.setup.timeout.ms", 10*time.Second)
	if err != nil {
		return nil, err
	}
	request, err := millis(p, "request.timeout.ms", requestTimeout)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{kgo.SeedBrokers(servers...), kgo.ClientID(id), kgo.DialTimeout(dial), kgo.RequestTimeoutOverhead(request)}
	safe, err := secure(p, warn)
	if err != nil {
		return nil, err
	}
	relevant, other := p.rest()
	if len(relevant) > 0 {
		return nil, fmt.Errorf("security may depend on what is not supported here: %s; take it out, or use upstream's own tools", strings.Join(relevant, ", "))
	}
	if len(other) > 0 {
		warn("without effect: " + strings.Join(other, ", "))
	}
	return append(opts, safe...), nil
}

func millis(p *properties, key string, otherwise time.Duration) (time.Duration, error) {
	text := p.take(key)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s=%s: expected milliseconds, at least 1", key, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
