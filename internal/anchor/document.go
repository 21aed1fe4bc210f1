package anchor

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document is the shape of one YAML file; docs/hooks.md describes it.
type document struct {
	File     string      `yaml:"file"`
	Releases string      `yaml:"releases"`
	Hooks    []hookEntry `yaml:"hooks"`
	// The rest is for a new file.
	ID    string   `yaml:"id"`
	New   string   `yaml:"new"`
	Sets  []string `yaml:"sets"`
	Modes []string `yaml:"modes"`
}

type hookEntry struct {
	ID     string       `yaml:"id"`
	Sets   []string     `yaml:"sets"`
	Modes  []string     `yaml:"modes"`
	Absent string       `yaml:"absent"`
	Body   string       `yaml:"body"`
	Places []placeEntry `yaml:"places"`

	line int
}

type placeEntry struct {
	Releases string        `yaml:"releases"`
	In       headers       `yaml:"in"`
	Before   lineList      `yaml:"before"`
	After    lineList      `yaml:"after"`
	Replace  *replaceEntry `yaml:"replace"`
	Body     string        `yaml:"body"`

	line int
}

type replaceEntry struct {
	Line lineList `yaml:"line"`
	Text string   `yaml:"text"`
}

// lineList is a string or a list of strings.
type lineList []string

// headers is a list whose elements are lineLists, or one string.
type headers []lineList

// UnmarshalYAML reads the entry and keeps its line.
func (h *hookEntry) UnmarshalYAML(n ast.Node) error {
	type plain hookEntry
	if err := strictly(n, (*plain)(h)); err != nil {
		return err
	}
	h.line = lineOf(n)
	return nil
}

// UnmarshalYAML reads the place and keeps its line.
func (p *placeEntry) UnmarshalYAML(n ast.Node) error {
	type plain placeEntry
	if err := strictly(n, (*plain)(p)); err != nil {
		return err
	}
	p.line = lineOf(n)
	return nil
}

// UnmarshalYAML takes a string or a list of strings.
func (l *lineList) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.SequenceType {
		return strictly(n, (*[]string)(l))
	}
	var one string
	if err := strictly(n, &one); err != nil {
		return err
	}
	*l = lineList{one}
	return nil
}

// UnmarshalYAML takes a string or a list of strings and of lists of strings.
func (h *headers) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.SequenceType {
		return strictly(n, (*[]lineList)(h))
	}
	var one lineList
	if err := strictly(n, &one); err != nil {
		return err
	}
	*h = headers{one}
	return nil
}

func strictly(n ast.Node, into any) error {
	return yaml.NodeToValue(n, into, yaml.Strict())
}

func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// parseDocument reads one YAML file. Errors bear "name:line".
func parseDocument(name string, text []byte) (*document, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, positioned(name, err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s: the file is empty; expected file and hooks as docs/hooks.md says, or no file", name)
	}
	if len(file.Docs) != 1 {
		return nil, fmt.Errorf("%s: expected one YAML document, found %d; write one file per upstream file", name, len(file.Docs))
	}
	var d document
	if err := strictly(file.Docs[0].Body, &d); err != nil {
		return nil, positioned(name, err)
	}
	return &d, nil
}

func positioned(name string, err error) error {
	var ye yaml.Error
	if errors.As(err, &ye) {
		if t := ye.GetToken(); t != nil && t.Position != nil {
			return fmt.Errorf("%s:%d: %s; the form is described in docs/hooks.md", name, t.Position.Line, ye.GetMessage())
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}
