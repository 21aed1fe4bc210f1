package classfile

import (
	"fmt"
	"slices"
	"strings"
)

func (c *comparison) header() {
	access := c.b.access
	if c.a.anonymous() && c.b.anonymous() && (c.a.access^access)&^anonymousFlags == 0 && access != c.a.access {
		access = c.a.access
		c.result.Idioms[IdiomAnonymous]++
	}
	if a, b := c.a.header(c.a.access), c.b.header(access); !slices.Equal(a, b) {
		c.differ("class "+c.a.this, a, b)
	}
	c.innerClasses()
}

// innerClasses compares the rows of InnerClasses; those of this class and its members must be
// there on both sides.
func (c *comparison) innerClasses() {
	for name, row := range c.a.inner {
		other, ok := c.b.inner[name]
		if ok && other != row && sameAnonymous(row, other) {
			c.result.Idioms[IdiomAnonymous]++
		} else if ok && other != row || !ok && c.a.owns(row) {
			c.differ("inner class"+name, []string{row}, []string{other})
		} else if !ok {
			c.result.Idioms[IdiomInnerClasses]++
		}
	}
	for name, row := range c.b.inner {
		if _, ok := c.a.inner[name]; !ok && c.b.owns(row) {
			c.differ("inner class"+name, nil, []string{row})
		} else if !ok {
			c.result.Idioms[IdiomInnerClasses]++
		}
	}
}

// owns says whether a row of InnerClasses is about this class or a class in it.
func (c *class) owns(row string) bool {
	inner, rest, _ := strings.Cut(strings.TrimPrefix(row, " class "), " ")
	return inner == symbol(c.this) || strings.HasPrefix(rest, "class "+symbol(c.this)+" ") ||
		strings.HasPrefix(inner, c.this+"$")
}

// header is what a class says of itself, apart from its members; access is given, as an idiom
// may have changed it.
func (c *class) header(access int) []string {
	lines := []string{
		fmt.Sprintf("class %s version %s access 0x%04x", c.this, c.version, access),
		"extends " + c.super,
		"implements " + strings.Join(c.interfaces, ", "),
	}
	return append(lines, c.facts...)
}

func (c *comparison) fields() {
	fieldsA, fieldsB := byKey(c.a.fields), byKey(c.b.fields)
	for _, f := range c.a.fields {
		if other, ok := fieldsB[f.key()]; !ok {
			c.differ("field "+f.name, f.outline(), nil)
		} else if a, b := f.outline(), other.outline(); !slices.Equal(a, b) {
			c.differ("field "+f.name, a, b)
		}
	}
	for _, f := range c.b.fields {
		if _, ok := fieldsA[f.key()]; !ok {
			c.differ("field "+f.name, nil, f.outline())
		}
	}
}

func (m *member) title() string { return fmt.Sprintf("0x%04x %s%s", m.access, m.name, m.desc) }

// outline is a member without its code and, of a generated method, without its number.
func (m *member) outline() []string {
	return append([]string{fmt.Sprintf("access 0x%04x %s", m.access, m.desc)}, m.facts...)
}
