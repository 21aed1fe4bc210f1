package bundle

import (
	"bytes"
	"fmt"
	"strings"

	"observer-patch/internal/release"
)

// ourNotice is what we have to say for ourselves.
const ourNotice = "observer-patch for upstream Kafka\nAn observer replica state, added to the files listed below.\n"

// checkText refuses a text with conflict markers, which a careless merge leaves behind.
func checkText(name string, text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s is empty", name)
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, mark := range []string{"<<<<<<< ", ">>>>>>> ", "||||||| ", "======="} {
			if strings.HasPrefix(line, mark) && (mark != "=======" || strings.TrimSpace(line) == mark) {
				return fmt.Errorf("%s has a conflict marker in line %d: %q", name, i+1, line)
			}
		}
	}
	return nil
}

// notice gives the NOTICE: upstream's whole, the statement of modification with the list
// of files (Apache License 2.0, section 4 b and d), and ours.
func (c Contents) notice() ([]byte, error) {
	if err := checkText("upstream's NOTICE", c.Notice); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Write(bytes.TrimRight(c.Notice, "\n"))
	b.WriteString("\n\n----\n\nMODIFIED: this is not a release of the upstream project. The jars in this folder are those of\n")
	how := "with"
	if c.Gradle != nil {
		how = "built anew from its source by its own build, with"
	}
	fmt.Fprintf(&b, "upstream Kafka %s %s changes to these source files:\n\n", c.Target.Release, how)
	for _, f := range c.Tree.Files {
		what := "modified"
		if f.Before == nil {
			what = "added"
		}
		fmt.Fprintf(&b, "%s %s\n", what, f.Path)
	}
	b.WriteString("\nThe text above the line is upstream's own, unchanged.\n\n")
	b.WriteString(ourNotice)
	return []byte(b.String()), nil
}

// changes gives the statement of change per file.
func (c Contents) changes() []byte {
	var b strings.Builder
	who := "observer-patch"
	if c.Foreign {
		who = "a patch given with --patch"
	}
	fmt.Fprintf(&b, "# Changed files\n\nUpstream Kafka %s, mode %s, changed by %s. The full text of every change is in %s.\n", c.Target.Release, c.Target.Mode, who, DiffFile)
	for _, f := range c.Tree.Files {
		fmt.Fprintf(&b, "\n## %s\n\n", f.Path)
		if f.Before == nil {
			fmt.Fprintf(&b, "New file, added by %s.\n", f.Edits[0].Owner)
			continue
		}
		for _, e := range f.Edits {
			fmt.Fprintf(&b, "- %s: %d lines inserted, %d replaced, at line %d of upstream's text\n", e.Owner, e.NewLines.Count-e.OldLines.Count, e.OldLines.Count, e.OldLines.First)
		}
	}
	fmt.Fprintf(&b, "\n# Changed jars\n")
	for _, j := range c.Jars {
		fmt.Fprintf(&b, "\n## %s\n\n", j.Name)
		for _, l := range []struct {
			what string
			list []string
		}{{"replaced", j.Replaced}, {"added", j.Added}, {"removed", j.Removed}} {
			for _, name := range l.list {
				fmt.Fprintf(&b, "- %s %s\n", l.what, name)
			}
		}
	}
	return []byte(b.String())
}

// properties gives META-INF/observer-patch.properties for a jar.
func (c Contents) properties() []byte {
	var b strings.Builder
	b.WriteString("# observer-patch for upstream Kafka: this jar was changed, see NOTICE and CHANGES.md of its bundle\n")
	if c.Foreign {
		fmt.Fprintf(&b, "patch=foreign\n")
	} else {
		fmt.Fprintf(&b, "generation=%d\nset=%s\n", release.Generation, c.Target.Set)
	}
	fmt.Fprintf(&b, "mode=%s\nrelease=%s\nscala=%s\nhooks=%s\nhooks.sha256=%s\n", c.Target.Mode, c.Target.Release, c.Target.Scala, strings.Join(c.Tree.Hooks(), ","), c.HookDigest)
	return []byte(b.String())
}
