package sentinel_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"

	"observer-patch/internal/sentinel"
)

// sarifSchema gives the standard's JSON schema, which the module go-sarif carries as a constant
// (in which one property's name, originalUriBaseIds, was spelled anew; reports have no need of it).
func sarifSchema(t *testing.T) string {
	t.Helper()
	// No package of it is built here, so on a new machine it has to be fetched.
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/owenrumney/go-sarif/v3").Output()
	require.NoError(t, err)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(module.Dir, "pkg/report/v210/sarif/schema.go"), nil, 0)
	require.NoError(t, err)
	var schema string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "schema" {
			schema, err = strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		}
		return err == nil
	})
	require.NoError(t, err)
	require.Contains(t, schema, "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema")
	return schema
}

func TestSARIFIsValidByTheStandardsSchema(t *testing.T) {
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(sarifSchema(t)))
	require.NoError(t, err)
	valid := func(text []byte) []string {
		result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
		require.NoError(t, err)
		var wrong []string
		for _, e := range result.Errors() {
			wrong = append(wrong, e.String())
		}
		return wrong
	}
	for _, r := range []sentinel.Report{sample(), {Tool: "test", Started: "2026-01-02T03:04:05Z"}} {
		text, err := r.SARIF()
		require.NoError(t, err)
		assert.Empty(t, valid(text))
	}
	text, err := sample().SARIF()
	require.NoError(t, err)
	assert.NotEmpty(t, valid(bytes.Replace(text, []byte(`"startLine": 15`), []byte(`"startLine": 0`), 1)), "the schema is really asked")
	assert.NotEmpty(t, valid(bytes.Replace(text, []byte(`"ruleId"`), []byte(`"rule"`), 1)), "the schema is really asked")
}

func TestSARIFPointsAtTheAnchorsLine(t *testing.T) {
	text, err := sample().SARIF()
	require.NoError(t, err)
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &log))
	results := log.Runs[0].Results
	require.Len(t, results, 4, "one miss in three targets is one result")
	first := results[0]
	assert.Equal(t, "anchor-renamed", first.RuleID)
	assert.Equal(t, "anchors/Barn.yaml", first.Locations[0].PhysicalLocation.ArtifactLocation.URI)
	assert.Equal(t, 15, first.Locations[0].PhysicalLocation.Region.StartLine)
	assert.Contains(t, first.Message.Text, "4.2.0-kraft, 4.2.0-kraft-base, 4.4.0-kraft")
	for _, r := range results {
		assert.Equal(t, r.RuleID, log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID)
	}
}

// JUnit has no standard; this is the structure of the schema that Ant's JUnit task and the CI
// engines agree on: elements, their attributes, and in testcase the order skipped, error,
// failure, each at most once. The schema itself is published in no module, so it is written
// down here from its description.
var junit = map[string]struct{ required, optional, children []string }{
	"testsuites": {[]string{"name", "tests", "failures", "errors", "skipped", "time"}, nil, []string{"testsuite"}},
	"testsuite":  {[]string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}, nil, []string{"testcase"}},
	"testcase":   {[]string{"name", "classname", "time"}, nil, []string{"skipped", "error", "failure"}},
	"skipped":    {nil, []string{"message", "type"}, nil},
	"error":      {[]string{"message", "type"}, nil, nil},
	"failure":    {[]string{"message", "type"}, nil, nil},
}

// junitErrors gives what breaks the structure, and counts the elements.
func junitErrors(text []byte) (wrong []string, count map[string]int) {
	count = map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(text))
	var stack []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return wrong, count
		}
		if err != nil {
			return append(wrong, err.Error()), count
		}
		switch e := tok.(type) {
		case xml.StartElement:
			name := e.Name.Local
			rule, known := junit[name]
			if !known || len(stack) == 0 != (name == "testsuites") || len(stack) > 0 && !slices.Contains(junit[stack[len(stack)-1]].children, name) {
				wrong = append(wrong, "element "+name+" in "+strings.Join(stack, "/"))
			}
			var have []string
			for _, a := range e.Attr {
				have = append(have, a.Name.Local)
				if !slices.Contains(rule.required, a.Name.Local) && !slices.Contains(rule.optional, a.Name.Local) {
					wrong = append(wrong, "attribute "+a.Name.Local+" of "+name)
				}
				if _, err := strconv.ParseFloat(a.Value, 64); err != nil && slices.Contains([]string{"tests", "failures", "errors", "time"}, a.Name.Local) {
					wrong = append(wrong, a.Name.Local+" of "+name+": "+a.Value)
				}
			}
			for _, want := range rule.required {
				if !slices.Contains(have, want) {
					wrong = append(wrong, name+" has no "+want)
				}
			}
			count[name]++
			stack = append(stack, name)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}

func TestJUnitHasTheStructureThatCIEnginesRead(t *testing.T) {
	text, err := sample().JUnit()
	require.NoError(t, err)
	wrong, count := junitErrors(text)
	assert.Empty(t, wrong)
	var totals struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	require.NoError(t, xml.Unmarshal(text, &totals))
	assert.Equal(t, []int{count["testcase"], count["failure"], count["error"], count["skipped"]}, []int{totals.Tests, totals.Failures, totals.Errors, totals.Skipped})
	assert.Equal(t, 4, count["failure"], "three times drift, one proof")
	assert.Equal(t, 2, count["error"])
	for _, c := range [][2]string{{"<testcase", "<case"}, {` classname="`, ` class="`}, {"<failure", "<fail"}} {
		bad := strings.Replace(strings.ReplaceAll(string(text), strings.Replace(c[0], "<", "</", 1)+">", strings.Replace(c[1], "<", "</", 1)+">"), c[0], c[1], 1)
		found, _ := junitErrors([]byte(bad))
		assert.NotEmpty(t, found, "the structure is really asked: %v", c)
	}
}
