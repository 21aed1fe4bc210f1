package classfile

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// text turns one attribute into a line in which every constant is resolved and every code
// offset is a label. Two attributes mean the same when their lines are equal.
type text struct {
	*reader
	pool  *pool
	label func(pc int) int
	out   strings.Builder
}

func (t *text) put(format string, args ...any) {
	if t.writable() {
		fmt.Fprintf(&t.out, format, args...)
	}
}

func (t *text) writable() bool {
	if t.err == nil && t.out.Len() > maxText {
		t.fail("resolves to more than %d bytes", maxText)
	}
	return t.err == nil
}

// raw writes a text as it is: what put does, for the tables that make up most of a class.
func (t *text) raw(s string) {
	if t.writable() {
		t.out.WriteString(s)
	}
}

// word writes a blank and a word.
func (t *text) word(s string) {
	if t.writable() {
		t.out.WriteByte(' ')
		t.out.WriteString(s)
	}
}

func (t *text) number(prefix string, n int) {
	if t.writable() {
		var digits [20]byte
		t.out.WriteByte(' ')
		t.out.WriteString(prefix)
		t.out.Write(strconv.AppendInt(digits[:0], int64(n), 10))
	}
}

// constant reads an index and writes what it means; 0 is written as none.
func (t *text) constant() {
	i := t.u2()
	if t.err != nil {
		return
	}
	if i == 0 {
		t.word("none")
		return
	}
	o, err := t.pool.operand(i)
	if err != nil {
		t.fail("%w", err)
		return
	}
	t.word(o.text)
}

func (t *text) flags() { t.put(" 0x%04x", t.u2()) }

// at writes a code offset.
func (t *text) at(pc int) {
	label := -1
	if t.label != nil {
		label = t.label(pc)
	}
	if label < 0 {
		t.fail("offset %d is not at an instruction", pc)
		return
	}
	t.number("@", label)
}

// list reads a count of the size and calls item as often.
func (t *text) list(count int, item func()) {
	t.raw(" [")
	for i := 0; i < count && t.err == nil; i++ {
		if i > 0 {
			t.raw(";")
		}
		item()
	}
	t.raw("]")
}

// resolve decodes an attribute. What it does not know is taken as bytes and noted, as bytes
// may hold indexes that another constant pool gives another meaning.
func (c *class) resolve(a attribute, label func(int) int) (string, error) {
	t := &text{reader: &reader{b: a.data}, pool: c.pool, label: label}
	t.out.Grow(len(a.name) + 4*len(a.data))
	t.raw(symbol(a.name))
	if !t.attribute(a.name) {
		c.unknown = append(c.unknown, a.name)
		return symbol(a.name) + " bytes " + hex.EncodeToString(a.data), nil
	}
	if err := t.done(); err != nil {
		return "", err
	}
	return t.out.String(), nil
}

// attribute decodes by name (JVMS table 4.7-A, and scalac's own); false when it is unknown.
func (t *text) attribute(name string) bool {
	switch name {
	case "ConstantValue", "Signature", "SourceFile", "NestHost", "ModuleMainClass":
		t.constant()
	case "Deprecated", "Synthetic", "Scala":
	case "ScalaSig", "ScalaInlineInfo", "TASTY":
		t.scala(name)
	case "Exceptions", "NestMembers", "PermittedSubclasses", "ModulePackages":
		t.list(t.u2(), t.constant)
	case "EnclosingMethod":
		t.constant()
		t.constant()
	case "MethodParameters":
		t.list(t.u1(), func() { t.constant(); t.flags() })
	case "Record":
		t.list(t.u2(), func() { t.constant(); t.constant(); t.nested() })
	case "SourceDebugExtension":
		t.put(" %q", t.take(len(t.b)))
	case "AnnotationDefault":
		t.elementValue(maxNesting)
	case "RuntimeVisibleAnnotations", "RuntimeInvisibleAnnotations":
		t.list(t.u2(), func() { t.annotation(maxNesting) })
	case "RuntimeVisibleParameterAnnotations", "RuntimeInvisibleParameterAnnotations":
		t.list(t.u1(), func() { t.list(t.u2(), func() { t.annotation(maxNesting) }) })
	case "RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations":
		t.list(t.u2(), t.typeAnnotation)
	case "Module":
		t.module()
	case "StackMapTable":
		t.frames()
	case "LineNumberTable":
		t.list(t.u2(), func() { t.at(t.u2()); t.number("line ", t.u2()) })
	case "LocalVariableTable", "LocalVariableTypeTable":
		t.list(t.u2(), t.variable)
	default:
		return false
	}
	return true
}

// nested are the attributes of a record component.
func (t *text) nested() {
	for _, a := range t.pool.readAttributes(t.reader) {
		inner := &text{reader: &reader{b: a.data}, pool: t.pool}
		if !inner.attribute(a.name) {
			t.put(" %s bytes %x", symbol(a.name), a.data)
			continue
		}
		if err := inner.done(); err != nil {
			t.fail("attribute %s: %w", a.name, err)
		}
		t.put(" %s%s", symbol(a.name), inner.out.String())
	}
}

func (t *text) variable() {
	start := t.u2()
	length := t.u2()
	t.at(start)
	t.at(start + length)
	t.constant()
	t.constant()
	t.number("slot ", t.u2())
}

func (t *text) module() {
	t.constant()
	t.flags()
	t.constant()
	t.list(t.u2(), func() { t.constant(); t.flags(); t.constant() }) // requires
	opened := func() { t.constant(); t.flags(); t.list(t.u2(), t.constant) }
	t.list(t.u2(), opened)                                              // exports
	t.list(t.u2(), opened)                                              // opens
	t.list(t.u2(), t.constant)                                          // uses
	t.list(t.u2(), func() { t.constant(); t.list(t.u2(), t.constant) }) // provides
}

// scala decodes scalac's attributes: a version of bytes, and what its inliner may do
// (scala.tools.nsc.backend.jvm.opt.InlineInfoAttribute, version 1 and 2).
func (t *text) scala(name string) {
	if name != "ScalaInlineInfo" {
		t.put(" %x", t.take(len(t.b)))
		return
	}
	version, flags := t.u1(), t.u1()
	t.put(" version %d flags %d", version, flags)
	if version != 1 {
		t.fail("version %d, expected 1", version)
		return
	}
	if flags&2 != 0 {
		t.constant() // the class and descriptor of the single abstract method
		t.constant()
	}
	if flags&4 != 0 {
		t.constant()
	}
	t.list(t.u2(), func() { t.constant(); t.constant(); t.put(" %d", t.u1()) })
}

// frames decodes StackMapTable, JVMS 4.7.4; offsets become absolute.
func (t *text) frames() {
	pc := -1
	t.list(t.u2(), func() {
		tag := t.u1()
		step := func(delta int) { pc += delta + 1; t.at(pc) }
		switch {
		case tag < 64:
			step(tag)
			t.word("same")
		case tag < 128:
			step(tag - 64)
			t.word("stack")
			t.verification()
		case tag == 247:
			step(t.u2())
			t.word("stack")
			t.verification()
		case tag >= 248 && tag < 251:
			step(t.u2())
			t.put(" chop %d", 251-tag)
		case tag == 251:
			step(t.u2())
			t.word("same")
		case tag > 251 && tag < 255:
			step(t.u2())
			t.put(" append")
			t.list(tag-251, t.verification)
		case tag == 255:
			step(t.u2())
			t.put(" full")
			t.list(t.u2(), t.verification)
			t.list(t.u2(), t.verification)
		default:
			t.fail("stack map frame has reserved tag %d", tag)
		}
	})
}

func (t *text) verification() {
	tag := t.u1()
	t.number("", tag)
	switch {
	case tag < 7:
	case tag == 7:
		t.constant()
	case tag == 8:
		t.at(t.u2())
	default:
		t.fail("verification type has unknown tag %d", tag)
	}
}

// facts gives what a Code attribute says besides its instructions, and apart from that what
// only debuggers read. Offsets are written as label has them.
func (k *code) facts(label func(pc int) int) (facts, debug []string, err error) {
	facts = append(facts, fmt.Sprintf("stack %d locals %d", k.stack, k.locals))
	for _, h := range k.handlers {
		facts = append(facts, fmt.Sprintf("catch @%d-@%d to @%d %s", label(h.start), label(h.end), label(h.target), h.caught))
	}
	for _, a := range k.attributes {
		line, err := k.class.resolve(a, label)
		if err != nil {
			return nil, nil, fmt.Errorf("attribute %s: %w", a.name, err)
		}
		switch a.name {
		case "LineNumberTable", "LocalVariableTable", "LocalVariableTypeTable":
			debug = append(debug, line)
		default:
			facts = append(facts, line)
		}
	}
	return facts, debug, nil
}
