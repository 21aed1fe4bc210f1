//go:build upstream

package kerneltest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// counted are the tests of one class with an outcome each.
type counted struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func (c counted) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

func (c *counted) add(outcome string) {
	switch outcome {
	case "passed":
		c.Passed++
	case "failed":
		c.Failed++
	default:
		c.Skipped++
	}
}

// row is one test class of a release, on both sides.
type row struct {
	Release string  `json:"release"`
	Module  string  `json:"module"`
	Class   string  `json:"class"`
	Own     counted `json:"own"`
	Patched counted `json:"patched"`
	// Same tells that every test has the same outcome on both sides.
	Same bool `json:"same"`
	// Failed has what failed on either side, with what it said there.
	Failed []failed `json:"notPassed,omitempty"`
}

type failed struct {
	Test    string `json:"test"`
	Own     string `json:"own"`
	Patched string `json:"patched"`
}

// upstreamTable is evidence/upstream-tests.json.
type upstreamTable struct {
	JDK string `json:"jdk"`
	// Diff is the SHA-256 of each release's patch, as in outputs.lock.
	Diff map[string]string `json:"diff"`
	Rows []row             `json:"rows"`
	// NotRun names releases and modules that lack a side in the folder.
	NotRun []string `json:"notRun,omitempty"`
}

// writeTable counts the runs in a folder. What lacks a side there is named, not counted.
func writeTable(t *testing.T, dir, into string) {
	t.Helper()
	out := upstreamTable{Diff: map[string]string{}}
	for _, version := range withTestJars {
		for _, module := range []string{"metadata", "core"} {
			if !hasRun(dir, version, module, ownSide) || !hasRun(dir, version, module, patchedSide) {
				out.NotRun = append(out.NotRun, version+" "+module)
				continue
			}
			own, patched := readRun(t, dir, version, module, ownSide), readRun(t, dir, version, module, patchedSide)
			out.JDK, out.Diff[version] = patched.JDK, patched.Diff
			require.Equal(t, own.JDK, patched.JDK)
			classes := maps.Clone(own.Classes)
			maps.Copy(classes, patched.Classes)
			for _, class := range slices.Sorted(maps.Keys(classes)) {
				r := row{Release: version, Module: module, Class: class}
				sides := [2]map[string]upstreamCase{byName(own.Classes[class], &r.Own), byName(patched.Classes[class], &r.Patched)}
				names := maps.Clone(sides[0])
				maps.Copy(names, sides[1])
				r.Same = true
				for _, name := range slices.Sorted(maps.Keys(names)) {
					a, b := sides[0][name], sides[1][name]
					r.Same = r.Same && a.Outcome == b.Outcome
					if a.Outcome != "passed" || b.Outcome != "passed" {
						r.Failed = append(r.Failed, failed{name, a.says(), b.says()})
					}
				}
				out.Rows = append(out.Rows, r)
			}
		}
	}
	text, err := json.MarshalIndent(out, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(into, "upstream-tests.json"), append(text, '\n'), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(into, "upstream-tests.md"), []byte(out.page()), 0o644))
}

func hasRun(dir, version, module, side string) bool {
	_, err := os.Stat(runFile(dir, version, module, side))
	return err == nil
}

func (c upstreamCase) says() string {
	switch {
	case c.Outcome == "":
		return "not run"
	case c.Cause == "":
		return c.Outcome
	}
	return c.Outcome + ": " + c.Cause
}

// byName counts cases and gives them by name; a name that comes twice gets a number.
func byName(cases []upstreamCase, count *counted) map[string]upstreamCase {
	out := map[string]upstreamCase{}
	for _, c := range cases {
		count.add(c.Outcome)
		name := c.Name
		for n := 2; out[name].Outcome != ""; n++ {
			name = fmt.Sprintf("%s #%d", c.Name, n)
		}
		out[name] = c
	}
	return out
}

// page is the table for people.
func (u upstreamTable) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Upstream's own tests, without an identity file\n\nWritten by `make upstream-tests`. Each test class of upstream's published test jars ran on the release's own jars\nand on jars patched with set `full`, in a JVM of its own for each release, module and side (JDK %s, Scala 2.13).\n\n", u.JDK)
	b.WriteString("| release | module | tests | own jars | patched jars | the same outcome test by test | patch |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, version := range withTestJars {
		for _, module := range []string{"metadata", "core"} {
			var own, patched counted
			same := "yes"
			for _, r := range u.Rows {
				if r.Release != version || r.Module != module {
					continue
				}
				own.Passed, own.Failed, own.Skipped = own.Passed+r.Own.Passed, own.Failed+r.Own.Failed, own.Skipped+r.Own.Skipped
				patched.Passed, patched.Failed, patched.Skipped = patched.Passed+r.Patched.Passed, patched.Failed+r.Patched.Failed, patched.Skipped+r.Patched.Skipped
				if !r.Same {
					same = "NO"
				}
			}
			if tests := own.Passed + own.Failed + own.Skipped; tests > 0 {
				fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %.16s |\n", version, module, tests, own, patched, same, u.Diff[version])
			}
		}
	}
	if len(u.NotRun) > 0 {
		fmt.Fprintf(&b, "\nNot run on both sides, and so not counted: %s.\n", strings.Join(u.NotRun, ", "))
	}
	b.WriteString("\n| release | class | own jars | patched jars |\n| --- | --- | --- | --- |\n")
	for _, r := range u.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Release, r.Class, r.Own, r.Patched)
	}
	b.WriteString("\n## Tests that did not pass on both sides\n\n")
	none := true
	for _, r := range u.Rows {
		for _, f := range r.Failed {
			none = false
			fmt.Fprintf(&b, "- %s %s `%s`: own jars: %s; patched jars: %s\n", r.Release, r.Class, f.Test, f.Own, f.Patched)
		}
	}
	if none {
		b.WriteString("None.\n")
	}
	return b.String()
}
