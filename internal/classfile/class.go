package classfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// class is a parsed class file. Attributes are decoded when the class is parsed, so that
// whatever is malformed is found there.
type class struct {
	pool       *pool
	version    string // major.minor
	access     int
	this       string
	super      string // empty for java/lang/Object and modules
	interfaces []string
	fields     []*member
	methods    []*member
	facts      []string          // the class's own attributes, resolved and sorted
	inner      map[string]string // rows of InnerClasses by inner class; their order means nothing
	unknown    []string          // names of attributes that are compared as bytes
}

// member is a field or a method.
type member struct {
	access     int
	name, desc string
	facts      []string // attributes but for Code, resolved and sorted
	code       *code    // nil for fields, abstract and native methods
}

func (m *member) key() string { return m.name + m.desc }

// attribute is one attribute before it is decoded.
type attribute struct {
	name string
	data []byte
}

// parse reads a whole class file; every index it holds is checked.
func parse(data []byte) (*class, error) {
	r := &reader{b: data}
	if r.u4() != 0xcafebabe {
		return nil, errors.New("not a class file: it does not begin with CAFEBABE")
	}
	minor, major := r.u2(), r.u2()
	c := &class{version: fmt.Sprintf("%d.%d", major, minor), pool: readPool(r)}
	c.access = r.u2()
	this, super := r.u2(), r.u2()
	interfaces := make([]int, 0, 4)
	for range r.u2() {
		interfaces = append(interfaces, r.u2())
		if r.err != nil {
			break
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	var err error
	if c.this, err = c.pool.class(this); err != nil {
		return nil, fmt.Errorf("this class: %w", err)
	}
	if super != 0 {
		if c.super, err = c.pool.class(super); err != nil {
			return nil, fmt.Errorf("super class: %w", err)
		}
	}
	for _, i := range interfaces {
		name, err := c.pool.class(i)
		if err != nil {
			return nil, fmt.Errorf("interface: %w", err)
		}
		c.interfaces = append(c.interfaces, name)
	}
	var raw [2][][]attribute
	c.fields, raw[0] = c.readMembers(r)
	c.methods, raw[1] = c.readMembers(r)
	own := c.pool.readAttributes(r)
	if err := r.done(); err != nil {
		return nil, err
	}
	return c, c.decode(raw[0], raw[1], own)
}

func (c *class) readMembers(r *reader) ([]*member, [][]attribute) {
	var members []*member
	var raw [][]attribute
	for range r.u2() {
		m := &member{access: r.u2()}
		var err error
		if m.name, err = c.pool.utf8(r.u2()); err != nil {
			r.fail("name of a member: %w", err)
		}
		if m.desc, err = c.pool.utf8(r.u2()); err != nil {
			r.fail("descriptor of %s: %w", m.name, err)
		}
		attributes := c.pool.readAttributes(r)
		if r.err != nil {
			break
		}
		members, raw = append(members, m), append(raw, attributes)
	}
	return members, raw
}

func (p *pool) readAttributes(r *reader) []attribute {
	var list []attribute
	for range r.u2() {
		name, err := p.utf8(r.u2())
		if err != nil {
			r.fail("attribute name: %w", err)
		}
		data := r.take(int(r.u4()))
		if r.err != nil {
			break
		}
		list = append(list, attribute{name, data})
	}
	return list
}

// decode resolves all attributes; bootstrap methods first, as constants refer to them.
func (c *class) decode(fields, methods [][]attribute, own []attribute) error {
	c.pool.this = c.this
	c.pool.own = make(map[string]bool)
	for _, members := range [][]*member{c.fields, c.methods} {
		seen := make(map[string]bool, len(members))
		for _, m := range members {
			if seen[m.key()] {
				return fmt.Errorf("%s%s is there twice", m.name, m.desc)
			}
			seen[m.key()] = true
		}
	}
	for _, m := range c.methods {
		if generatedStem(m.name) != "" {
			c.pool.own[m.key()] = true
		}
	}
	for _, a := range own {
		if a.name == "BootstrapMethods" {
			if err := c.pool.readBootstraps(a.data); err != nil {
				return fmt.Errorf("attribute BootstrapMethods: %w", err)
			}
		}
	}
	var err error
	if c.facts, err = c.resolveAll(own, nil); err != nil {
		return err
	}
	for i, m := range c.fields {
		if m.facts, err = c.resolveAll(fields[i], nil); err != nil {
			return fmt.Errorf("field %s: %w", m.name, err)
		}
	}
	for i, m := range c.methods {
		if m.facts, err = c.resolveAll(methods[i], m); err != nil {
			return fmt.Errorf("method %s%s: %w", m.name, m.desc, err)
		}
	}
	slices.Sort(c.unknown)
	c.unknown = slices.Compact(c.unknown)
	return nil
}

// resolveAll gives the text of each attribute, sorted, as their order means nothing.
func (c *class) resolveAll(list []attribute, method *member) ([]string, error) {
	var facts []string
	for _, a := range list {
		if a.name == "Code" && method != nil {
			if method.code != nil {
				return nil, errors.New("two Code attributes")
			}
			var err error
			if method.code, err = c.readCode(a.data); err != nil {
				return nil, fmt.Errorf("attribute Code: %w", err)
			}
			continue
		}
		if a.name == "BootstrapMethods" {
			continue // resolved where it is used
		}
		if a.name == "InnerClasses" && method == nil {
			if err := c.readInner(a.data); err != nil {
				return nil, fmt.Errorf("attribute InnerClasses: %w", err)
			}
			continue
		}
		fact, err := c.resolve(a, nil)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", a.name, err)
		}
		facts = append(facts, fact)
	}
	slices.Sort(facts)
	return facts, nil
}

func (c *class) readInner(data []byte) error {
	t := &text{reader: &reader{b: data}, pool: c.pool}
	if c.inner == nil {
		c.inner = make(map[string]string)
	}
	for range t.u2() {
		t.out.Reset()
		t.constant()
		name := t.out.String()
		t.constant()
		t.constant()
		t.flags()
		if _, twice := c.inner[name]; twice {
			return fmt.Errorf("%s is there twice", name)
		}
		c.inner[name] = t.out.String()
		if t.err != nil {
			return t.err
		}
	}
	return t.done()
}

func (p *pool) readBootstraps(data []byte) error {
	r := &reader{b: data}
	for range r.u2() {
		boot := []int{r.u2()}
		for range r.u2() {
			boot = append(boot, r.u2())
			if r.err != nil {
				return r.err
			}
		}
		p.boots = append(p.boots, boot)
		if r.err != nil {
			return r.err
		}
	}
	return r.done()
}

// generatedStem gives the name of a numbered generated method without its number: javac's
// lambda$foo$3 and access$300, scalac's $anonfun$foo$3; empty for any other name.
func generatedStem(name string) string {
	digits := len(name)
	for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
		digits--
	}
	if digits == len(name) {
		return ""
	}
	stem := name[:digits]
	switch {
	case stem == "access$":
		return stem
	case strings.HasPrefix(stem, "lambda$") && strings.HasSuffix(stem, "$") && len(stem) > len("lambda$"):
		// javac 8 calls a lambda in a lambda lambda$null$3, so the middle is compared apart.
		return "lambda$"
	case strings.HasPrefix(stem, "$anonfun$") && strings.HasSuffix(stem, "$"):
		return stem
	}
	return ""
}
