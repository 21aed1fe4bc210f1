package classfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Method describes one method so that two builds of a class can be compared method by method.
type Method struct {
	Name, Descriptor string
	Access           int // JVMS table 4.6-A
	// Digest is a SHA-256 over access, attributes and code with every constant resolved and
	// jump targets as instruction numbers. Line numbers and local variable names do not
	// count, nor do the numbers of generated methods: for those the digest of their body does.
	Digest string
	// Debug is Digest with line numbers and local variable tables.
	Debug string
	// Of is the source method a generated one belongs to, by its name: foo for lambda$foo$3
	// and $anonfun$foo$3$adapted; empty for others, and for javac 8's lambda$null$3 of which
	// the caller is the only hint (see Callers).
	Of string
	// Callers are the methods of the same class (name and descriptor) that refer to a
	// generated one, sorted.
	Callers []string
}

// Outline is a class in parts that have a digest each.
type Outline struct {
	Name string // internal, with slashes
	// Parts are the class's own header with its attributes, under "class", the rows of
	// InnerClasses, under "inner classes", and its fields, under "field " and name and
	// descriptor, each with its digest.
	Parts   map[string]string
	Methods []Method // in the order of the file
}

// Methods reads a class file and gives its outline.
func Methods(data []byte) (Outline, error) {
	c, err := parse(data)
	if err != nil {
		return Outline{}, err
	}
	out := Outline{Name: c.this, Parts: map[string]string{
		"class":         digest(c.header(c.access)),
		"inner classes": digest(slices.Sorted(maps.Values(c.inner))),
	}}
	for _, f := range c.fields {
		out.Parts["field "+f.key()] = digest(append(f.outline(), f.name))
	}
	d := &digester{methods: byKey(c.methods), plain: make(map[string]string), debug: make(map[string]string), names: mnemonics()}
	callers := c.callers()
	for _, m := range c.methods {
		out.Methods = append(out.Methods, Method{
			Name: m.name, Descriptor: m.desc, Access: m.access,
			Digest: d.of(m.key(), false, nil), Debug: d.of(m.key(), true, nil),
			Of: sourceMethod(m.name), Callers: callers[m.key()],
		})
	}
	return out, nil
}

func digest(lines []string) string {
	h := sha256.New()
	for _, line := range lines {
		fmt.Fprintf(h, "%d %s\n", len(line), line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digester keeps the digests of generated methods, which their users' digests contain.
type digester struct {
	methods      map[string]*member
	plain, debug map[string]string
	names        []string
}

// of gives the digest of a method; path are the methods it is asked for by, so that a
// recursive lambda ends.
func (d *digester) of(key string, debug bool, path []string) string {
	known := d.plain
	if debug {
		known = d.debug
	}
	if sum, ok := known[key]; ok {
		return sum
	}
	m, ok := d.methods[key]
	if !ok {
		return "missing"
	}
	if i := slices.Index(path, key); i >= 0 || len(path) >= maxNesting {
		return fmt.Sprintf("recursive %d", len(path)-i)
	}
	path = append(slices.Clone(path), key)
	lines := captured(m.outline())
	if generatedStem(m.name) == "" {
		lines = append(lines, m.name)
	}
	if m.code != nil {
		for i := range m.code.instructions {
			lines = append(lines, sameLoad(m.code.instructions[i].line(d.names, func(o *operand) string {
				text := o.shape
				for _, ref := range o.refs {
					text += " " + d.of(ref, debug, path)
				}
				return text
			})))
		}
		facts, tables, err := m.code.facts(m.code.number)
		if err != nil {
			facts = append(facts, err.Error()) // cannot be: parse resolved them already
		}
		lines = append(lines, facts...)
		if debug {
			lines = append(lines, tables...)
		}
	}
	sum := digest(lines)
	if len(path) == 1 || generatedStem(m.name) == "" {
		known[key] = sum
	}
	return sum
}

// sameLoad writes ldc_w as ldc: which of the two a compiler takes depends on the constant's index, and
// a hook elsewhere in the class can move that past 255.
func sameLoad(line string) string {
	if rest, wide := strings.CutPrefix(line, "ldc_w "); wide {
		return "ldc " + rest
	}
	return line
}

// captureNumber is what scalac puts after the name of a captured variable; it counts through
// the whole class (partition$9), so that one more lambda elsewhere changes it.
var captureNumber = regexp.MustCompile(`\$\d+\b`)

// captured takes those numbers out of the names of parameters.
func captured(facts []string) []string {
	out := slices.Clone(facts)
	for i, f := range out {
		if strings.Contains(f, "MethodParameters") {
			out[i] = captureNumber.ReplaceAllString(f, "$$")
		}
	}
	return out
}

// callers maps each generated method to the methods that refer to it.
func (c *class) callers() map[string][]string {
	users := make(map[string][]string)
	for _, m := range c.methods {
		if m.code == nil {
			continue
		}
		for i := range m.code.instructions {
			if ref := m.code.instructions[i].ref; ref != nil {
				for _, name := range ref.refs {
					if !slices.Contains(users[name], m.key()) {
						users[name] = append(users[name], m.key())
					}
				}
			}
		}
	}
	for _, list := range users {
		slices.Sort(list)
	}
	return users
}

// sourceMethod takes the source method's name out of a generated name.
func sourceMethod(name string) string {
	for _, prefix := range []string{"lambda$", "$anonfun$"} {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(name, "$adapted"), prefix)
		if !ok {
			continue
		}
		i := strings.LastIndexByte(rest, '$')
		if i <= 0 || rest[:i] == "null" {
			return ""
		}
		return rest[:i]
	}
	return ""
}
