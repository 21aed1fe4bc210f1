package classfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Result says how alike two class files are.
type Result struct {
	Level Level
	// Idioms counts what was accepted as another compiler's way to write the same.
	Idioms map[string]int
	// DebugDiffers: line numbers or local variable names differ; they do not touch Level.
	DebugDiffers bool
	// Unknown names attributes that were compared as bytes.
	Unknown []string
	// Diff shows the first members that differ, the way javap prints them; empty unless
	// Level is Different.
	Diff []string
}

// maxDiffs bounds the members that a diff shows.
const maxDiffs = 5

// Compare compares two class files; an error means that one of them is malformed. Bytes that
// are equal are not parsed.
func Compare(a, b []byte) (Result, error) {
	if bytes.Equal(a, b) {
		return Result{Level: Identical}, nil
	}
	return compareParsed(a, b)
}

func compareParsed(a, b []byte) (Result, error) {
	x, err := parse(a)
	if err != nil {
		return Result{}, fmt.Errorf("first class: %w", err)
	}
	y, err := parse(b)
	if err != nil {
		return Result{}, fmt.Errorf("second class: %w", err)
	}
	c := &comparison{a: x, b: y, pairs: make(map[string]string), back: make(map[string]string),
		result: Result{Level: Equivalent, Idioms: make(map[string]int)}}
	c.run()
	return c.result, nil
}

// comparison is one run of Compare. Generated methods (lambdas, accessors) are paired by where
// they are used: the pairing has to be one to one, and the bodies of a pair have to fit.
type comparison struct {
	a, b   *class
	pairs  map[string]string // method of a → method of b
	back   map[string]string
	queue  []string // generated methods of a that are paired and not yet compared
	shown  int      // differences so far
	result Result
}

func (c *comparison) run() {
	c.header()
	c.fields()
	c.mergeValues()
	methodsA, methodsB := byKey(c.a.methods), byKey(c.b.methods)
	for _, m := range c.a.methods {
		if c.a.pool.own[m.key()] {
			continue
		}
		other, ok := methodsB[m.key()]
		if !ok {
			c.differ("method "+m.name+m.desc, []string{m.title()}, nil)
			continue
		}
		c.method(m, other)
	}
	for _, m := range c.b.methods {
		if _, ok := methodsA[m.key()]; !ok && !c.b.pool.own[m.key()] {
			c.differ("method "+m.name+m.desc, nil, []string{m.title()})
		}
	}
	c.generated(methodsA, methodsB)
	c.order()
	c.result.Unknown = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(c.a.unknown), c.b.unknown...))))
	if c.result.Level == Different {
		c.result.Idioms = nil
	} else if len(c.result.Idioms) > 0 {
		c.result.Level = Idioms
	}
}

// mergeValues undoes $values when only one of two enums has it.
func (c *comparison) mergeValues() {
	initA, keyA := c.a.enumValues()
	initB, keyB := c.b.enumValues()
	if (initA == nil) == (initB == nil) {
		return
	}
	k, init, key, other := c.a, initA, keyA, c.b
	if initB != nil {
		k, init, key, other = c.b, initB, keyB, c.a
	}
	if _, both := byKey(other.methods)[key]; both {
		return
	}
	k.methods = slices.DeleteFunc(k.methods, func(m *member) bool { return m.key() == key })
	k.methods[slices.IndexFunc(k.methods, func(m *member) bool { return m.key() == init.key() })] = init
	c.result.Idioms[IdiomEnumValues]++
}

// generated compares the generated methods pair by pair, those that nothing refers to by name.
func (c *comparison) generated(methodsA, methodsB map[string]*member) {
	drain := func() {
		for len(c.queue) > 0 {
			key := c.queue[0]
			c.queue = c.queue[1:]
			c.method(methodsA[key], methodsB[c.pairs[key]])
		}
	}
	drain()
	for _, m := range c.a.methods {
		if key := m.key(); c.a.pool.own[key] && c.pairs[key] == "" {
			if _, ok := methodsB[key]; !ok || !c.pair(key, key) {
				c.differ("method "+m.name+m.desc, []string{m.title()}, nil)
			}
			drain()
		}
	}
	for _, m := range c.b.methods {
		if key := m.key(); c.b.pool.own[key] && c.back[key] == "" {
			c.differ("method "+m.name+m.desc, nil, []string{m.title()})
		}
	}
}

// pair notes that a's method x is used where b uses y; false when either is paired otherwise,
// or when the names differ in more than the number and javac 8's 'null'.
func (c *comparison) pair(x, y string) bool {
	if had, ok := c.pairs[x]; ok {
		return had == y
	}
	if _, taken := c.back[y]; taken || !c.a.pool.own[x] || !c.b.pool.own[y] {
		return false
	}
	if !sameStem(keyName(x), keyName(y)) || x[len(keyName(x)):] != y[len(keyName(y)):] {
		return false
	}
	c.pairs[x], c.back[y] = y, x
	c.queue = append(c.queue, x)
	if x != y {
		c.result.Idioms[IdiomLambdaName]++
	}
	return true
}

// keyName cuts the descriptor off a key.
func keyName(key string) string {
	name, _, _ := strings.Cut(key, "(")
	return name
}

// sameStem compares names without their numbers; lambda$null$ stands for any lambda.
func sameStem(x, y string) bool {
	x, y = strings.TrimRight(x, "0123456789"), strings.TrimRight(y, "0123456789")
	return x == y || strings.HasPrefix(x, "lambda$") && strings.HasPrefix(y, "lambda$") && (x == "lambda$null$" || y == "lambda$null$")
}

func byKey(members []*member) map[string]*member {
	m := make(map[string]*member, len(members))
	for _, x := range members {
		m[x.key()] = x
	}
	return m
}

func (c *comparison) method(x, y *member) {
	name := "method " + x.name + x.desc
	a, b := x.outline(), y.outline()
	idioms, same := outlineIdioms(a, b, x.name == "<init>" && c.a.anonymous())
	if !same {
		c.differ(name, a, b)
		return
	}
	for _, idiom := range idioms {
		c.result.Idioms[idiom]++
	}
	if x.code == nil || y.code == nil {
		if x.code != y.code {
			c.differ(name, x.listing(), y.listing())
		}
		return
	}
	l, numbers := align(x.code, y.code, c.pair), false
	if !l.fits() {
		r := align(x.code.renumbered(x.parameters()), y.code.renumbered(y.parameters()), c.pair)
		if !r.fits() {
			c.show(name, l.diff())
			return
		}
		l, numbers = r, true
	}
	factsA, debugA, errA := l.facts(x.code, l.labelA)
	factsB, debugB, errB := l.facts(y.code, l.labelB)
	if numbers {
		factsA, factsB = withoutLocals(x.code, factsA), withoutLocals(y.code, factsB)
		c.result.Idioms[IdiomLocals]++
	}
	if errA != nil || errB != nil || !c.sameFacts(factsA, factsB) {
		c.differ(name, factsA, factsB)
		return
	}
	if !slices.Equal(debugA, debugB) {
		c.result.DebugDiffers = true
	}
	for idiom, n := range l.idioms {
		c.result.Idioms[idiom] += n
	}
}

// sameFacts compares what a code says besides instructions; types in frames may differ.
func (c *comparison) sameFacts(a, b []string) bool {
	types := 0
	same := slices.EqualFunc(a, b, func(x, y string) bool {
		if x == y {
			return true
		}
		if !strings.HasPrefix(x, "StackMapTable ") {
			return false
		}
		n, ok := otherTypes(x, y)
		types += n
		return ok
	})
	if same && types > 0 {
		c.result.Idioms[IdiomFrameType] += types
	}
	return same
}

// otherTypes counts the class names in which two resolved StackMapTables differ; false when
// they differ in anything else.
func otherTypes(x, y string) (int, bool) {
	a, b := strings.Split(x, " "), strings.Split(y, " ")
	if len(a) != len(b) {
		return 0, false
	}
	count := 0
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		// A type is written "7 class name", with a bracket or semicolon after it.
		if i < 2 || a[i-1] != "class" || a[i-2] != "7" || tail(a[i]) != tail(b[i]) {
			return 0, false
		}
		count++
	}
	return count, true
}

// tail is the punctuation that a name in a list ends with; names have none, but for arrays.
func tail(s string) string {
	return s[len(strings.TrimRight(s, ";]")):]
}

// facts gives what a code says with the alignment's labels. Where no instruction was passed over
// those are the instructions' numbers.
func (l *alignment) facts(k *code, labels []int32) (facts, debug []string, err error) {
	if k.said != nil && l.idioms[IdiomCheckcast] == 0 {
		return k.said, k.debug, nil
	}
	return k.facts(l.label(k, labels))
}

// label gives the alignment's number of an offset, -1 where no instruction begins.
func (l *alignment) label(k *code, labels []int32) func(int) int {
	return func(pc int) int {
		if i := k.at(pc); i >= 0 {
			return int(labels[i])
		}
		return -1
	}
}

// order notes members that stand in another order, generated methods under their pair's name.
func (c *comparison) order() {
	keys := func(members []*member, names map[string]string) []string {
		list := make([]string, 0, len(members))
		for _, m := range members {
			key := m.key()
			if other, ok := names[key]; ok {
				key = other
			}
			list = append(list, key)
		}
		return list
	}
	if !slices.Equal(keys(c.a.methods, c.pairs), keys(c.b.methods, nil)) {
		c.result.Idioms[IdiomMemberOrder]++
	}
	if !slices.Equal(keys(c.a.fields, nil), keys(c.b.fields, nil)) {
		c.result.Idioms[IdiomMemberOrder]++
	}
}

// differ notes a difference and shows the lines in which two texts differ.
func (c *comparison) differ(title string, a, b []string) { c.show(title, diffLines(a, b)) }

func (c *comparison) show(title string, diff []string) {
	c.result.Level = Different
	c.shown++
	switch {
	case c.shown <= maxDiffs:
		c.result.Diff = append(append(c.result.Diff, "@@ "+title), diff...)
	case c.shown == maxDiffs+1:
		c.result.Diff = append(c.result.Diff, "@@ … and more")
	}
}
