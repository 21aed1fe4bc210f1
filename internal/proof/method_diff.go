package proof

import (
	"slices"
	"strings"

	"observer-patch/internal/classfile"
)

// methodDiff is a method that is not the same in both builds.
type methodDiff struct {
	what   string // changed, added or removed
	method classfile.Method
	side   *side
}

// diffMethods pairs the methods of two builds: by name and descriptor, and generated ones,
// whose numbers mean nothing, by what they do.
func diffMethods(before, after *side) []methodDiff {
	old, used := map[string]classfile.Method{}, map[string]bool{}
	var pool []string // keys of generated methods
	if before != nil {
		for _, m := range before.outline.Methods {
			old[m.Name+m.Descriptor] = m
			if generated(m) {
				pool = append(pool, m.Name+m.Descriptor)
			}
		}
	}
	var diffs []methodDiff
	if after != nil {
		for _, m := range after.outline.Methods {
			key := m.Name + m.Descriptor
			if generated(m) {
				i := slices.IndexFunc(pool, func(k string) bool { return !used[k] && old[k].Digest == m.Digest && old[k].Of == m.Of })
				if i >= 0 {
					used[pool[i]] = true
					continue
				}
				diffs = append(diffs, methodDiff{"added", m, after})
				continue
			}
			o, had := old[key]
			used[key] = true
			switch {
			case !had:
				diffs = append(diffs, methodDiff{"added", m, after})
			case o.Digest != m.Digest:
				diffs = append(diffs, methodDiff{"changed", m, after})
			}
		}
	}
	if before != nil {
		for _, m := range before.outline.Methods {
			if !used[m.Name+m.Descriptor] {
				diffs = append(diffs, methodDiff{"removed", m, before})
			}
		}
	}
	return diffs
}

func generated(m classfile.Method) bool {
	return m.Of != "" || strings.HasPrefix(m.Name, "access$") || strings.HasPrefix(m.Name, "lambda$")
}

// owners gives the hooks in whose source member a method stands. An initialiser has the
// lines of many members: only those of edits, and of members that it runs, count.
func (d methodDiff) owners() []string {
	if d.side.newFile != "" {
		return []string{d.side.newFile}
	}
	lines := d.side.origin.lines[d.method.Name+d.method.Descriptor]
	init := d.method.Name == "<init>" || d.method.Name == "<clinit>"
	var out []string
	for _, r := range d.side.reach {
		in := func(s span) bool { return slices.ContainsFunc(lines, s.has) }
		if in(r.edit) || (!init || !r.method) && in(r.member) {
			out = append(out, r.owner)
		}
		// Abstract methods and bridges have no lines: the hook that writes their name.
		if len(lines) == 0 && !init && says(r.text, d.method.Name) {
			out = append(out, r.owner)
		}
	}
	return unique(out)
}

// inherited gives the owners of the generated methods that an initialiser or the table of
// lambdas refers to, where those changed.
func inherited(d methodDiff, changes []Method) []string {
	var out []string
	for _, c := range changes {
		for _, m := range d.side.outline.Methods {
			if m.Name == c.Name && m.Descriptor == c.Desc && slices.Contains(m.Callers, d.method.Name+d.method.Descriptor) {
				out = append(out, c.Owners...)
			}
		}
		// A lambda that is gone has left the table of the patched class.
		if d.method.Name == "$deserializeLambda$" && c.Change == "removed" && strings.HasPrefix(c.Name, "$anonfun$") {
			out = append(out, c.Owners...)
		}
	}
	return unique(out)
}
