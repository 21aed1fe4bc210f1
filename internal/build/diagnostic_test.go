package build

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"observer-patch/internal/patch"
)

func TestDiagnosticsOfBothCompilersAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Diagnostic
		rest       []string
	}{
		{name: "javac", text: "core/src/main/java/A.java:3: error: cannot find symbol\n    x();\n    ^\n  symbol:   method x()\n1 error\n",
			want: []Diagnostic{{Error, "core/src/main/java/A.java", 3, "cannot find symbol", "    x();\n    ^\n  symbol:   method x()"}}},
		{name: "javac lint and note", text: "Note: A.java uses unchecked operations.\nA.java:9: warning: [rawtypes] found raw type: List\n  List l;\n  ^\n1 warning\n",
			want: []Diagnostic{{Warning, "A.java", 9, "[rawtypes] found raw type: List", "  List l;\n  ^"}}},
		{name: "scalac 2.13", text: "a/B.scala:12: warning: private val x in class B is never used\n  private val x = 1\n              ^\n1 warning\n",
			want: []Diagnostic{{Warning, "a/B.scala", 12, "private val x in class B is never used", "  private val x = 1\n              ^"}}},
		{name: "scalac 2.12", text: "a/B.scala:1: error: not found: value y\ny\n^\none error found\n",
			want: []Diagnostic{{Error, "a/B.scala", 1, "not found: value y", "y\n^"}}},
		{name: "two", text: "A.java:1: warning: a\nA.java:2: warning: b\n2 warnings\n",
			want: []Diagnostic{{Warning, "A.java", 1, "a", ""}, {Warning, "A.java", 2, "b", ""}}},
		{name: "trouble without a file", text: "error: bad option: '-foo'\n", rest: []string{"error: bad option: '-foo'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rest := parseDiagnostics(c.text, nil)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.rest, rest)
		})
	}
}

func TestOnlyNewDiagnosticsCountAndTheirHookIsNamed(t *testing.T) {
	const path = "core/src/main/scala/B.scala"
	file := patch.File{Path: path, Before: []byte("1\n2\n3\n4\n"), After: []byte("1\nf\nx\nf\n2\nf\n3!\nf\n4\n"), Edits: []patch.Edit{
		{Owner: "in", OldLines: patch.Lines{First: 2}, NewLines: patch.Lines{First: 2, Count: 3}},
		{Owner: "re", OldLines: patch.Lines{First: 3, Count: 1}, NewLines: patch.Lines{First: 6, Count: 3}},
	}}
	warn := func(line int, text string) Diagnostic {
		return Diagnostic{Severity: Warning, Path: path, Line: line, Message: text}
	}
	for _, c := range []struct {
		name           string
		before, after  []Diagnostic
		owners         []string
		lines          []int
		leaveOutBefore bool
	}{
		{name: "none", before: []Diagnostic{warn(2, "a"), warn(4, "b")}, after: []Diagnostic{warn(5, "a"), warn(9, "b")}},
		{name: "in an insertion", after: []Diagnostic{warn(3, "a")}, owners: []string{"in"}, lines: []int{1}},
		{name: "kept in a replaced line", before: []Diagnostic{warn(3, "a")}, after: []Diagnostic{warn(7, "a")}},
		{name: "another text in a replaced line", before: []Diagnostic{warn(3, "a")}, after: []Diagnostic{warn(7, "b")}, owners: []string{"re"}, lines: []int{1}},
		{name: "twice where once was", before: []Diagnostic{warn(3, "a")}, after: []Diagnostic{warn(7, "a"), warn(7, "a")}, owners: []string{"re"}, lines: []int{1}},
		{name: "outside", after: []Diagnostic{warn(1, "a")}, owners: []string{""}, lines: []int{0}},
		{name: "outside, nothing to compare", after: []Diagnostic{warn(1, "a"), warn(3, "b")}, owners: []string{"in"}, lines: []int{1}, leaveOutBefore: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Module{Files: []patch.File{file}, Unpatched: &Output{Diagnostics: c.before}, Patched: Output{Diagnostics: c.after}}
			if c.leaveOutBefore {
				m.Unpatched = nil
			}
			var owners []string
			var lines []int
			for _, n := range fresh(m) {
				owners, lines = append(owners, n.Owner), append(lines, n.BodyLine)
			}
			assert.Equal(t, c.owners, owners)
			assert.Equal(t, c.lines, lines)
		})
	}
}

func TestModuleComesFromThePath(t *testing.T) {
	for path, want := range map[string]string{
		"core/src/main/scala/kafka/cluster/Partition.scala":                 "core",
		"core/src/main/java/kafka/server/builders/LogManagerBuilder.java":   "core",
		"metadata/src/main/java/org/apache/kafka/controller/Replicas.java":  "metadata",
		"server-common/src/main/java/org/apache/kafka/server/common/X.java": "server-common",
		"clients/src/main/java/org/apache/kafka/clients/X.java":             "",
		"core/src/test/scala/unit/kafka/cluster/PartitionTest.scala":        "",
		"metadata/src/main/resources/common/metadata/PartitionRecord.json":  "",
	} {
		got, err := ModuleOf(path)
		assert.Equal(t, want, got, path)
		assert.Equal(t, want == "", err != nil, path)
	}
}

func TestOutermostClassOfAnEntry(t *testing.T) {
	for entry, want := range map[string]string{
		"kafka/cluster/Partition.class":         "kafka/cluster/Partition",
		"kafka/cluster/Partition$.class":        "kafka/cluster/Partition",
		"kafka/cluster/Partition$$anon$1.class": "kafka/cluster/Partition",
		"kafka/cluster/$plus.class":             "kafka/cluster/$plus",
		"A$B$C.class":                           "A",
	} {
		assert.Equal(t, want, Outermost(entry), entry)
	}
}
