package hosts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"observer-patch/internal/hosts"
)

func TestAnInventoryTakesFromItsDefaultsWhatANodeDoesNotSay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "inventory.yaml")
	write(t, path, `
cluster: abc
defaults:
  roles: [broker]
  file: /etc/kafka/observer.ids
  service: kafka
  transport: {kind: ssh, user: kafka, key: keys/op, become: [sudo, -n], jump: bastion}
nodes:
- {id: 101, roles: [controller], address: c1, zone: a, transport: {user: other}}
- {id: 2, address: k2, zone: b}
- {id: 1, address: k1, zone: a, file: /x/ids, transport: {kind: local}}
`)
	inv, err := hosts.ReadInventory(path)
	require.NoError(t, err)
	ssh := hosts.TransportSpec{Kind: hosts.SSH, User: "kafka", Key: filepath.Join(dir, "keys/op"), Become: []string{"sudo", "-n"}, Jump: "bastion"}
	other := ssh
	other.User = "other"
	assert.Equal(t, &hosts.Inventory{Cluster: "abc", Nodes: []hosts.Node{
		{ID: 1, Roles: []hosts.Role{hosts.Broker}, Address: "k1", Zone: "a", File: "/x/ids", Service: "kafka", Transport: hosts.TransportSpec{Kind: hosts.Local}},
		{ID: 2, Roles: []hosts.Role{hosts.Broker}, Address: "k2", Zone: "b", File: "/etc/kafka/observer.ids", Service: "kafka", Transport: ssh},
		{ID: 101, Roles: []hosts.Role{hosts.Controller}, Address: "c1", Zone: "a", File: "/etc/kafka/observer.ids", Service: "kafka", Transport: other},
	}}, inv)
	assert.Len(t, inv.With(hosts.Broker), 2)
}

func TestEveryMistakeOfAnInventoryIsNamed(t *testing.T) {
	node := func(rest string) string { return "nodes:\n- {id: 1, " + rest + "}\n" }
	for text, want := range map[string]string{
		"nodes: []": "it has no nodes",
		"nodes: 1":  "nodes",
		"node: []":  "node",
		node("roles: [], transport: {kind: local}"):                                                                  "no roles",
		node("roles: [x], transport: {kind: local}"):                                                                 `role "x"`,
		node("roles: [broker]"):                                                                                      `transport ""`,
		node("roles: [broker], transport: {kind: telnet}"):                                                           `transport "telnet"`,
		node("roles: [broker], transport: {kind: local, run: [x]}"):                                                  "run is not a setting of transport local",
		node("roles: [broker], transport: {kind: ssh}"):                                                              "needs an address",
		node("roles: [broker], address: -oProxyCommand=x, transport: {kind: ssh}"):                                   "begins with a dash",
		node(`roles: [broker], address: "a\nb", transport: {kind: ssh}`):                                             "control characters",
		node(`roles: [broker], file: "/a\nb", transport: {kind: local}`):                                             "control characters",
		node("roles: [broker], file: a, transport: {kind: local}"):                                                   "expected an absolute path",
		node("roles: [broker], file: /a/../b, transport: {kind: local}"):                                             "expected an absolute path",
		node("roles: [broker], address: a, transport: {kind: ssh, jump: b, proxy: [c]}"):                             "jump and proxy",
		node("roles: [broker], address: a, transport: {kind: ssh, forced: true, become: [sudo]}"):                    "forced and become",
		node("roles: [broker], transport: {kind: command}"):                                                          "needs run",
		node("roles: [broker], transport: {kind: configmap}"):                                                        "needs namespace",
		node("roles: [broker], transport: {kind: local}") + "- {id: 1, roles: [broker], transport: {kind: local}}\n": "stands there twice",
		node("roles: [broker], transport: {kind: local}, x: 1"):                                                      "x",
		"defaults: {id: 1}\n" + node("roles: [broker], transport: {kind: local}"):                                    "an id is a node's own",
	} {
		_, err := hosts.ParseInventory([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestOddFilesAreFound(t *testing.T) {
	node := func(id int32) hosts.Node { return hosts.Node{ID: id, File: "/etc/kafka/it's"} }
	seen := func(id int32, text string, mode os.FileMode) hosts.Seen {
		return hosts.Seen{Node: node(id), File: hosts.File{Exists: true, Content: []byte(text), Mode: mode}}
	}
	found := hosts.Findings([]hosts.Seen{seen(1, "4\n", 0o644), seen(2, "5\n", 0o664), seen(3, "# c\n4", 0o640), seen(4, "x y", 0o644), seen(5, "4 x", 0o600),
		{Node: node(6)}, {Node: node(7), Err: os.ErrPermission}, seen(8, "4,4", 0o602)})
	var codes []string
	for _, f := range found {
		codes = append(codes, fmt.Sprintf("%d %s", f.Node, f.Code))
	}
	assert.Equal(t, []string{"2 writable", "2 differs", "4 unusable", "5 tokens", "6 missing", "7 unreadable", "8 writable"}, codes)
	assert.Equal(t, `chmod go-w '/etc/kafka/it'\''s'`, found[0].Do, "what people copy into a shell is quoted")
	assert.Contains(t, found[1].Text, "it says [5], most nodes say [4]")
	assert.Empty(t, hosts.Findings([]hosts.Seen{seen(1, "4", 0o644), seen(2, " 4 # same\n", 0o640)}))
}

func FuzzAnInventoryIsReadOrRefused(f *testing.F) {
	f.Add([]byte("nodes: !tag 0"))
	f.Add([]byte("cluster: a\ndefaults: {roles: [broker], transport: {kind: ssh, forced: true}}\nnodes: [{id: 1, address: k}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv, err := hosts.ParseInventory(text)
		if (err == nil) != (inv != nil) {
			t.Fatalf("%q: inventory %v, error %v", text, inv, err)
		}
	})
}
