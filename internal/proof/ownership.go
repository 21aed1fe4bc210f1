package proof

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"observer-patch/internal/build"
	"observer-patch/internal/classfile"
	"observer-patch/internal/patch"
)

// ownership maps what changed between the unpatched and the patched classes of a module to
// the edits. problems says, for people, what no edit accounts for.
type ownership struct {
	methods  []Method
	owners   map[string][]string // by entry
	problems []string
}

// side is one of the two builds of a class.
type side struct {
	outline classfile.Outline
	origin  origin
	reach   []reach
	// newFile is the hook that adds the whole source file, if one does: it owns whatever
	// was compiled from it, also what the compiler gave no lines.
	newFile string
}

// own compares the two builds of a module class by class.
func own(m build.Module) (ownership, error) {
	o := ownership{owners: map[string][]string{}}
	for _, f := range m.Files {
		o.problems = append(o.problems, strayLines(f)...)
	}
	names := maps.Clone(m.Patched.Classes)
	maps.Copy(names, m.Unpatched.Classes)
	for _, entry := range slices.Sorted(maps.Keys(names)) {
		before, had := m.Unpatched.Classes[entry]
		after, has := m.Patched.Classes[entry]
		if bytes.Equal(before, after) {
			continue
		}
		var sides [2]*side
		for i, class := range [][]byte{before, after} {
			if i == 0 && !had || i == 1 && !has {
				continue
			}
			s, err := readSide(m.Files, entry, class, i == 1)
			if err != nil {
				return o, fmt.Errorf("%s: %w", entry, err)
			}
			sides[i] = s
		}
		o.class(entry, sides[0], sides[1])
	}
	return o, nil
}

func readSide(files []patch.File, entry string, class []byte, after bool) (*side, error) {
	s := &side{}
	var err error
	if s.outline, err = classfile.Methods(class); err != nil {
		return nil, err
	}
	if s.origin, err = readOrigin(class); err != nil {
		return nil, err
	}
	found := false
	for _, f := range files {
		// The package usually is the folder; where several files have one name it decides.
		if path.Base(f.Path) != s.origin.file || found && !strings.HasSuffix(path.Dir(f.Path), path.Dir(entry)) {
			continue
		}
		found = true
		s.reach = reaches(f, after)
		s.newFile = ""
		if f.Before == nil && len(f.Edits) == 1 {
			s.newFile = f.Edits[0].Owner
		}
	}
	return s, nil
}

// class compares two builds of a class; either may be missing.
func (o *ownership) class(entry string, before, after *side) {
	var changes []Method
	owners := map[string]bool{}
	methods := diffMethods(before, after)
	// Initialisers and the table of lambdas come last: they may follow from the others.
	for round := range 2 {
		for _, c := range methods {
			follows := c.method.Name == "<init>" || c.method.Name == "<clinit>" || c.method.Name == "$deserializeLambda$"
			if follows != (round == 1) {
				continue
			}
			list := c.owners()
			if follows && len(list) == 0 {
				list = inherited(c, changes)
			}
			if len(list) == 0 {
				o.problems = append(o.problems, fmt.Sprintf("%s: method %s%s is %s, but no hook stands in its source (lines %s)", entry, c.method.Name, c.method.Descriptor, c.what, lineList(c.side.origin.lines[c.method.Name+c.method.Descriptor])))
			}
			for _, w := range list {
				owners[w] = true
			}
			changes = append(changes, Method{Entry: entry, Name: c.method.Name, Desc: c.method.Descriptor, Change: c.what, Owners: list})
		}
	}
	o.parts(entry, before, after, owners)
	slices.SortFunc(changes, func(a, b Method) int {
		return strings.Compare(a.Name+a.Desc+a.Change, b.Name+b.Desc+b.Change)
	})
	o.methods = append(o.methods, changes...)
	o.owners[entry] = slices.Sorted(maps.Keys(owners))
}

// parts accounts for fields and the class's own header. A new field belongs to the hook that
// writes its name, a changed one to a hook that does so in place of a line of upstream's. A
// header (members listed in attributes, scalac's signature, nested classes) changes only
// together with something that has an owner in the same source file.
func (o *ownership) parts(entry string, before, after *side, owners map[string]bool) {
	old, now := map[string]string{}, map[string]string{}
	var reach []reach
	if before != nil {
		old, reach = before.outline.Parts, append(reach, before.reach...)
	}
	if after != nil {
		now, reach = after.outline.Parts, append(reach, after.reach...)
	}
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, part := range slices.Sorted(maps.Keys(all)) {
		if old[part] == now[part] {
			continue
		}
		field, isField := strings.CutPrefix(part, "field ")
		var list []string
		for _, r := range reach {
			_, in := old[part]
			_, still := now[part]
			written := says(r.text, fieldName(field)) && (r.replaces || !in || !still)
			if !isField || written || before == nil || after == nil {
				list = append(list, r.owner)
			}
		}
		if !isField && len(owners) > 0 {
			continue
		}
		if list = unique(list); len(list) == 0 {
			o.problems = append(o.problems, fmt.Sprintf("%s: %s differs, but no hook accounts for it", entry, part))
		}
		for _, w := range list {
			owners[w] = true
		}
	}
}

// fieldName takes the source name out of a field's name and descriptor: scalac writes
// kafka$cluster$Partition$$name for some.
func fieldName(key string) string {
	i := strings.IndexAny(key, "[BCDFIJLSZ")
	for i >= 0 && i < len(key) {
		// The descriptor begins at the first position whose rest is a field descriptor.
		if descriptor.MatchString(key[i:]) {
			key = key[:i]
			break
		}
		next := strings.IndexAny(key[i+1:], "[BCDFIJLSZ")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return key[strings.LastIndexByte(key, '$')+1:]
}

var descriptor = regexp.MustCompile(`^\[*(?:[BCDFIJSZ]|L[^;]+;)$`)

// says tells whether a text has a name as a word.
func says(text, name string) bool {
	if name == "" {
		return false
	}
	return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`).MatchString(text)
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func lineList(lines []int) string {
	if len(lines) == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d to %d", lines[0], lines[len(lines)-1])
}
