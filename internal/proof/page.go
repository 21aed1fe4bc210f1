package proof

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"observer-patch/internal/classfile"
)

// Page gives the proof for people, in Markdown. A nil Verdict says that nothing was proven.
func (v *Verdict) Page(target string) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Proof of %s\n\n", target)
	if v == nil {
		b.WriteString("NOT PROVEN: the build was told to skip the proof (--no-proof).\n")
		return []byte(b.String()), nil
	}
	fmt.Fprintf(&b, "Unpatched files compiled anew are **%s** to the release's own classes. Only the classes below differ\nfrom the release's jars, and each changed method belongs to a hook.\n", v.Level)
	for _, t := range v.Toolchain {
		fmt.Fprintf(&b, "Compiled by %s", t.Javac)
		if t.Scalac != "" {
			fmt.Fprintf(&b, " and scalac %s", t.Scalac)
		}
		b.WriteString(".\n")
	}
	for _, m := range v.Modules {
		m.page(&b)
	}
	return []byte(b.String()), nil
}

func (m Module) page(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s (module %s)\n\n", m.Jar, m.Module)
	counts := map[classfile.Level]int{}
	for _, c := range m.Unpatched {
		counts[c.Level]++
	}
	fmt.Fprintf(b, "Rebuilt without hooks: %d classes", len(m.Unpatched))
	for _, l := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, ", %d %s", counts[l], l)
	}
	b.WriteString(".\n")
	for _, c := range m.Unpatched {
		if c.Level == classfile.Identical {
			continue
		}
		fmt.Fprintf(b, "- `%s` %s", c.Entry, c.Level)
		for _, name := range slices.Sorted(maps.Keys(c.Idioms)) {
			fmt.Fprintf(b, ", %s x%d", name, c.Idioms[name])
		}
		if c.Debug {
			b.WriteString(", debug attributes differ")
		}
		b.WriteString("\n")
	}
	if len(m.Rebuilt) > 0 {
		fmt.Fprintf(b, "\nThe jar was built whole. Classes whose bytes are another compiler run's, compared one by one: %d.\n", len(m.Rebuilt))
		for _, c := range m.Rebuilt {
			fmt.Fprintf(b, "- `%s` %s\n", c.Entry, c.Level)
		}
	}
	fmt.Fprintf(b, "\nEntries with the release's own content: %d (SHA-256 over them %s).\n\n| entry | what | owners |\n| --- | --- | --- |\n", m.Entries.Identical, m.Entries.Digest)
	for _, l := range []struct {
		what string
		list []Change
	}{{"replaced", m.Entries.Replaced}, {"added", m.Entries.Added}, {"removed", m.Entries.Removed}} {
		for _, c := range l.list {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", c.Entry, l.what, strings.Join(c.Owners, ", "))
		}
	}
	if len(m.Methods) == 0 {
		return
	}
	b.WriteString("\n| class | method | what | owners |\n| --- | --- | --- | --- |\n")
	for _, c := range m.Methods {
		fmt.Fprintf(b, "| `%s` | `%s%s` | %s | %s |\n", strings.TrimSuffix(c.Entry, ".class"), c.Name, c.Desc, c.Change, strings.Join(c.Owners, ", "))
	}
}
