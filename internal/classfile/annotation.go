package classfile

import "strconv"

// annotation decodes JVMS 4.7.16.
func (t *text) annotation(depth int) {
	t.constant()
	t.list(t.u2(), func() { t.constant(); t.elementValue(depth - 1) })
}

func (t *text) elementValue(depth int) {
	if depth <= 0 {
		t.fail("annotation is nested more than %d deep", maxNesting)
		return
	}
	tag := t.u1()
	t.put(" %s", strconv.QuoteRune(rune(tag)))
	switch tag {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z', 's', 'c':
		t.constant()
	case 'e':
		t.constant()
		t.constant()
	case '@':
		t.annotation(depth - 1)
	case '[':
		t.list(t.u2(), func() { t.elementValue(depth - 1) })
	default:
		t.fail("element value has unknown tag %d", tag)
	}
}

// typeAnnotation decodes JVMS 4.7.20.
func (t *text) typeAnnotation() {
	target := t.u1()
	t.put(" target %d", target)
	switch {
	case target <= 0x01 || target == 0x16:
		t.put(" %d", t.u1())
	case target == 0x10 || target == 0x17:
		t.put(" %d", t.u2())
	case target == 0x11 || target == 0x12:
		t.put(" %d %d", t.u1(), t.u1())
	case target >= 0x13 && target <= 0x15:
	case target == 0x40 || target == 0x41:
		t.list(t.u2(), func() {
			start := t.u2()
			length := t.u2()
			t.at(start)
			t.at(start + length)
			t.put(" slot %d", t.u2())
		})
	case target == 0x42:
		t.put(" row %d", t.u2())
	case target >= 0x43 && target <= 0x46:
		t.at(t.u2())
	case target >= 0x47 && target <= 0x4b:
		t.at(t.u2())
		t.put(" %d", t.u1())
	default:
		t.fail("type annotation has unknown target %d", target)
	}
	t.put(" path %x", t.take(2*t.u1()))
	t.annotation(maxNesting)
}
