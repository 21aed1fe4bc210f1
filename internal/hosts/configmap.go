package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// configMap is a key of a ConfigMap that is mounted into the pods of several nodes. What counts is
// what a node sees, so it is read in its pod. A write reaches all nodes, each when its kubelet gets
// to it, up to a minute or two later; it is over when the node of this transport has it.
type configMap struct {
	node Node
	run  func(ctx context.Context, argv []string, input []byte) ([]byte, error)
}

func (m configMap) kubectl(args ...string) []string {
	program := m.node.Transport.Kubectl
	if len(program) == 0 {
		program = []string{"kubectl"}
	}
	return append(slices.Clone(program), args...)
}

// get gives the object and the text of the key.
func (m configMap) get(ctx context.Context) (map[string]any, File, error) {
	t := m.node.Transport
	out, err := m.run(ctx, m.kubectl("--namespace="+t.Namespace, "get", "--output=json", "--", "configmap/"+t.Name), nil)
	if err != nil {
		return nil, File{}, err
	}
	var object map[string]any
	if err := json.Unmarshal(out, &object); err != nil {
		return nil, File{}, fmt.Errorf("configmap %s: %w", t.Name, err)
	}
	data, _ := object["data"].(map[string]any)
	text, ok := data[t.Item].(string)
	return object, File{Exists: ok, Content: []byte(text), Mode: 0o644}, nil
}

// write replaces the object, unless it says so already for another node's sake; its resource
// version makes the API server refuse when somebody else has changed it meanwhile.
func (m configMap) write(ctx context.Context, content []byte, expect File) error {
	object, now, err := m.get(ctx)
	if err != nil {
		return err
	}
	if now.Exists && bytes.Equal(now.Content, content) {
		return nil
	}
	if digest(now) != digest(expect) {
		return ErrChanged
	}
	if immutable, _ := object["immutable"].(bool); immutable {
		return errors.New("the ConfigMap is immutable")
	}
	data, ok := object["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		object["data"] = data
	}
	data[m.node.Transport.Item] = string(content)
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = m.run(ctx, m.kubectl("--namespace="+m.node.Transport.Namespace, "replace", "--filename=-"), text)
	return err
}

// mounted reads the file as it is mounted in the node's pod.
func (m configMap) mounted(ctx context.Context) (File, error) {
	f, err := scriptRead(func(r []byte) ([]byte, error) { return m.run(ctx, words(m.node), r) }, m.node.File)
	if err == nil && f.Exists && !f.Link {
		return f, errors.New("it is no symbolic link in the pod: a ConfigMap that is mounted with subPath is never updated there")
	}
	return f, err
}
