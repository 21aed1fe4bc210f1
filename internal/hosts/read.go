package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
)

// defaultFile is where a node looks for the list when it is told nothing else.
const defaultFile = "/opt/kafka/observer.ids"

// inventoryFile is an inventory as it is written: what is the same for all nodes stands once.
type inventoryFile struct {
	Cluster  string `yaml:"cluster"`
	Defaults Node   `yaml:"defaults"`
	Nodes    []Node `yaml:"nodes"`
}

// ReadInventory reads an inventory file. Relative paths of keys and of known hosts in it are
// relative to its folder.
func ReadInventory(name string) (*Inventory, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	inv, err := ParseInventory(text)
	if err != nil {
		return nil, fmt.Errorf("inventory %s: %w", name, err)
	}
	for i := range inv.Nodes {
		s := &inv.Nodes[i].Transport
		for _, p := range []*string{&s.Key, &s.KnownHosts} {
			if *p != "" && !filepath.IsAbs(*p) {
				*p = filepath.Join(filepath.Dir(name), *p)
			}
		}
	}
	return inv, nil
}

// ParseInventory reads an inventory: nodes, and defaults for whatever a node does not say itself.
// Every mistake in it is named.
func ParseInventory(text []byte) (*Inventory, error) {
	f, err := decodeInventory(text)
	if err != nil {
		return nil, err
	}
	inv := &Inventory{Cluster: f.Cluster, Nodes: f.Nodes}
	var errs []error
	if len(f.Nodes) == 0 {
		errs = append(errs, errors.New("it has no nodes"))
	}
	if f.Defaults.ID != 0 {
		errs = append(errs, errors.New("defaults: an id is a node's own"))
	}
	seen := map[int32]bool{}
	for i := range inv.Nodes {
		n := &inv.Nodes[i]
		n.fill(f.Defaults)
		for _, err := range n.check() {
			errs = append(errs, fmt.Errorf("node %d: %w", n.ID, err))
		}
		if seen[n.ID] {
			errs = append(errs, fmt.Errorf("node %d stands there twice", n.ID))
		}
		seen[n.ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(inv.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return inv, nil
}

// decodeInventory reads the YAML. The decoder panics on some texts, such as a scalar with a tag of
// its own where a list is expected (goccy/go-yaml 1.19.2).
func decodeInventory(text []byte) (f inventoryFile, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("expected an inventory in YAML, found what cannot be read: %v", r)
		}
	}()
	err = yaml.UnmarshalWithOptions(text, &f, yaml.Strict())
	return f, err
}

func (n *Node) fill(d Node) {
	if len(n.Roles) == 0 {
		n.Roles = d.Roles
	}
	n.Address, n.Zone = cmp.Or(n.Address, d.Address), cmp.Or(n.Zone, d.Zone)
	n.File, n.Service = cmp.Or(n.File, d.File, defaultFile), cmp.Or(n.Service, d.Service)
	n.Home, n.Metrics = cmp.Or(n.Home, d.Home), cmp.Or(n.Metrics, d.Metrics)
	// A node with a transport of its own kind takes nothing from the defaults' transport.
	if n.Transport.Kind == "" || n.Transport.Kind == d.Transport.Kind {
		own, s := n.Transport, d.Transport
		s.Kind = cmp.Or(own.Kind, s.Kind)
		s.User, s.Port, s.Key = cmp.Or(own.User, s.User), cmp.Or(own.Port, s.Port), cmp.Or(own.Key, s.Key)
		s.KnownHosts, s.Jump = cmp.Or(own.KnownHosts, s.KnownHosts), cmp.Or(own.Jump, s.Jump)
		s.Forced = own.Forced || s.Forced
		s.Namespace, s.Name, s.Item = cmp.Or(own.Namespace, s.Namespace), cmp.Or(own.Name, s.Name), cmp.Or(own.Item, s.Item)
		for _, l := range []struct {
			own  []string
			into *[]string
		}{{own.Become, &s.Become}, {own.Proxy, &s.Proxy}, {own.Run, &s.Run}, {own.Kubectl, &s.Kubectl}} {
			if len(l.own) > 0 {
				*l.into = l.own
			}
		}
		n.Transport = s
	}
}

// check gives every mistake of a node.
func (n *Node) check() []error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n.ID < 0 {
		say("id %d: expected 0 or more", n.ID)
	}
	if len(n.Roles) == 0 {
		say("no roles: expected broker, controller or both")
	}
	for _, r := range n.Roles {
		if r != Broker && r != Controller {
			say("role %q: expected broker or controller", r)
		}
	}
	if !path.IsAbs(n.File) || path.Clean(n.File) != n.File || n.File == "/" {
		say("file %q: expected an absolute path without . or ..", n.File)
	}
	if n.Home != "" && (!path.IsAbs(n.Home) || path.Clean(n.Home) != n.Home) {
		say("home %q: expected an absolute path without . or ..", n.Home)
	}
	s := n.Transport
	for name, value := range map[string]string{"address": n.Address, "zone": n.Zone, "file": n.File, "service": n.Service, "home": n.Home, "metrics": n.Metrics,
		"user": s.User, "key": s.Key, "knownHosts": s.KnownHosts, "jump": s.Jump, "namespace": s.Namespace, "name": s.Name, "item": s.Item} {
		if strings.ContainsFunc(value, unicode.IsControl) {
			say("%s %q: it has control characters", name, value)
		}
		// A program could take it for one of its flags.
		if strings.HasPrefix(value, "-") {
			say("%s %q: it begins with a dash", name, value)
		}
	}
	for _, list := range [][]string{s.Become, s.Proxy, s.Run, s.Kubectl} {
		for _, word := range list {
			if strings.Contains(word, "\x00") {
				say("%q: it has a zero byte", word)
			}
		}
	}
	return append(errs, s.check(n.Address)...)
}

// check gives the mistakes of a transport's settings; settings of another kind are mistakes too.
func (s TransportSpec) check(address string) []error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	wants := map[Kind][]string{
		Local: {}, SSH: {"user", "port", "key", "knownHosts", "jump", "proxy", "become", "forced"}, Command: {"run"},
		ConfigMap: {"namespace", "name", "item", "kubectl", "run"},
	}
	allowed, ok := wants[s.Kind]
	if !ok {
		say("transport %q: expected %s, %s, %s or %s", s.Kind, Local, SSH, Command, ConfigMap)
		return errs
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"user", s.User != ""}, {"port", s.Port != 0}, {"key", s.Key != ""}, {"knownHosts", s.KnownHosts != ""}, {"jump", s.Jump != ""}, {"proxy", len(s.Proxy) > 0},
		{"become", len(s.Become) > 0}, {"forced", s.Forced}, {"run", len(s.Run) > 0}, {"namespace", s.Namespace != ""}, {"name", s.Name != ""}, {"item", s.Item != ""},
		{"kubectl", len(s.Kubectl) > 0}} {
		if f.given && !slices.Contains(allowed, f.name) {
			say("%s is not a setting of transport %s", f.name, s.Kind)
		}
	}
	switch s.Kind {
	case SSH:
		if address == "" {
			say("transport ssh needs an address")
		}
		if s.Port < 0 || s.Port > 65535 {
			say("port %d: expected 1 to 65535", s.Port)
		}
		if s.Jump != "" && len(s.Proxy) > 0 {
			say("jump and proxy: expected one of them")
		}
		if s.Forced && len(s.Become) > 0 {
			say("forced and become: the server chooses the command, so expected one of them")
		}
	case Command:
		if len(s.Run) == 0 {
			say("transport command needs run, the program and its arguments")
		}
	case ConfigMap:
		if s.Name == "" || s.Item == "" || s.Namespace == "" {
			say("transport configmap needs namespace, name and item")
		}
		if len(s.Run) == 0 {
			say("transport configmap needs run, the program that reads the mounted file in the node's pod")
		}
	}
	return errs
}
