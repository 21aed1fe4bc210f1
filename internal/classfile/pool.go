package classfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Constant pool tags, JVMS table 4.4-A.
const (
	tagUtf8          = 1
	tagInteger       = 3
	tagFloat         = 4
	tagLong          = 5
	tagDouble        = 6
	tagClass         = 7
	tagString        = 8
	tagField         = 9
	tagMethod        = 10
	tagInterface     = 11
	tagNameAndType   = 12
	tagHandle        = 15
	tagMethodType    = 16
	tagDynamic       = 17
	tagInvokeDynamic = 18
	tagModule        = 19
	tagPackage       = 20
)

// maxNesting bounds dynamic constants in dynamic constants, and annotations in annotations.
const maxNesting = 32

// maxText bounds the text of one resolved constant or attribute: nested bootstrap arguments
// can double it at every level.
const maxText = 8 << 20

type constant struct {
	tag  byte
	a, b int    // indexes; for a method handle its kind and the reference
	bits uint64 // numbers
	text string // Utf8, as it is in the file (modified UTF-8)
}

// operand is a constant with everything it refers to. shape is text without the numbers of
// the class's own generated methods (lambda$foo$3), which are kept in refs in their order.
type operand struct {
	text  string
	shape string
	refs  []string // name and descriptor
}

// pool is a constant pool together with the bootstrap methods it needs to be resolved.
type pool struct {
	constants []constant
	resolved  []*operand
	boots     [][]int // method handle, then its arguments
	this      string
	own       map[string]bool // generated methods of this class, name and descriptor
}

func readPool(r *reader) *pool {
	count := r.u2()
	if r.err == nil && count == 0 {
		r.fail("constant pool without entries")
	}
	p := &pool{}
	// Three bytes are the least a constant takes, so the count cannot make us allocate much.
	if r.err != nil || count > len(r.b) {
		r.fail("constant pool of %d entries does not fit", count)
		return p
	}
	p.constants = make([]constant, count)
	p.resolved = make([]*operand, count)
	for i := 1; i < count && r.err == nil; i++ {
		c := &p.constants[i]
		c.tag = byte(r.u1())
		switch c.tag {
		case tagUtf8:
			c.text = string(r.take(r.u2()))
		case tagInteger, tagFloat:
			c.bits = uint64(r.u4())
		case tagLong, tagDouble:
			c.bits = uint64(r.u4())<<32 | uint64(r.u4())
			i++ // JVMS 4.4.5: the next index is not usable
		case tagClass, tagString, tagMethodType, tagModule, tagPackage:
			c.a = r.u2()
		case tagField, tagMethod, tagInterface, tagNameAndType, tagDynamic, tagInvokeDynamic:
			c.a, c.b = r.u2(), r.u2()
		case tagHandle:
			c.a, c.b = r.u1(), r.u2()
		default:
			r.fail("constant %d has unknown tag %d", i, c.tag)
		}
	}
	if r.err == nil && count > 1 {
		if last := p.constants[count-1]; last.tag == tagLong || last.tag == tagDouble {
			r.fail("constant pool ends within an 8-byte constant")
		}
	}
	return p
}

// get gives a constant of one of the tags.
func (p *pool) get(i int, tags ...byte) (constant, error) {
	if i > 0 && i < len(p.constants) {
		for _, tag := range tags {
			if p.constants[i].tag == tag {
				return p.constants[i], nil
			}
		}
		return constant{}, fmt.Errorf("constant %d has tag %d, expected one of %d", i, p.constants[i].tag, tags)
	}
	return constant{}, fmt.Errorf("constant %d of %d does not exist", i, len(p.constants))
}

func (p *pool) utf8(i int) (string, error) {
	c, err := p.get(i, tagUtf8)
	return c.text, err
}

// class gives the internal name of a Class constant.
func (p *pool) class(i int) (string, error) {
	c, err := p.get(i, tagClass)
	if err != nil {
		return "", err
	}
	return p.utf8(c.a)
}

// symbol writes a name so that two different references never give the same text.
func symbol(s string) string {
	if strings.ContainsAny(s, ".:\"{}* \n\r\t\\,") {
		return strconv.Quote(s)
	}
	return s
}

// operand resolves a constant; refused are dynamic constants that contain themselves.
func (p *pool) operand(i int) (*operand, error) { return p.resolve(i, maxNesting) }

func (p *pool) resolve(i, depth int) (*operand, error) {
	if i > 0 && i < len(p.resolved) && p.resolved[i] != nil {
		return p.resolved[i], nil
	}
	if depth == 0 {
		return nil, fmt.Errorf("constant %d is nested more than %d deep", i, maxNesting)
	}
	o, err := p.describe(i, depth)
	if err != nil {
		return nil, err
	}
	if len(o.text)+len(o.shape) > maxText {
		return nil, fmt.Errorf("constant %d resolves to more than %d bytes", i, maxText)
	}
	p.resolved[i] = o
	return o, nil
}

// quote is strconv.Quote, which is slow for what most texts are.
func quote(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return strconv.Quote(s)
		}
	}
	return "\"" + s + "\""
}

func plain(text string) *operand { return &operand{text: text, shape: text} }

func (p *pool) describe(i, depth int) (*operand, error) {
	if i <= 0 || i >= len(p.constants) {
		return nil, fmt.Errorf("constant %d of %d does not exist", i, len(p.constants))
	}
	c := p.constants[i]
	switch c.tag {
	case tagUtf8:
		return plain("utf8 " + quote(c.text)), nil
	case tagInteger:
		return plain("int " + strconv.Itoa(int(int32(c.bits)))), nil
	case tagFloat:
		return plain(fmt.Sprintf("float %v bits %08x", math.Float32frombits(uint32(c.bits)), c.bits)), nil
	case tagLong:
		return plain("long " + strconv.FormatInt(int64(c.bits), 10) + "l"), nil
	case tagDouble:
		return plain(fmt.Sprintf("double %v bits %016x", math.Float64frombits(c.bits), c.bits)), nil
	case tagClass, tagString, tagMethodType, tagModule, tagPackage:
		text, err := p.utf8(c.a)
		if err != nil {
			return nil, fmt.Errorf("constant %d: %w", i, err)
		}
		switch c.tag {
		case tagString:
			return plain("String " + quote(text)), nil
		case tagClass:
			return plain("class " + symbol(text)), nil
		case tagMethodType:
			return plain("MethodType " + symbol(text)), nil
		case tagModule:
			return plain("module " + symbol(text)), nil
		}
		return plain("package " + symbol(text)), nil
	case tagField, tagMethod, tagInterface:
		return p.member(c)
	case tagNameAndType:
		name, desc, err := p.nameAndType(i)
		return plain(symbol(name) + ":" + symbol(desc)), err
	case tagHandle:
		o, err := p.resolve(c.b, depth-1)
		if err != nil {
			return nil, fmt.Errorf("method handle %d: %w", i, err)
		}
		kind := "handle " + strconv.Itoa(c.a) + " "
		return &operand{kind + o.text, kind + o.shape, o.refs}, nil
	case tagDynamic, tagInvokeDynamic:
		return p.dynamic(c, depth)
	}
	return nil, fmt.Errorf("constant %d has tag %d, which nothing may refer to", i, c.tag)
}

func (p *pool) nameAndType(i int) (string, string, error) {
	c, err := p.get(i, tagNameAndType)
	if err != nil {
		return "", "", err
	}
	name, err := p.utf8(c.a)
	if err != nil {
		return "", "", err
	}
	desc, err := p.utf8(c.b)
	return name, desc, err
}

func (p *pool) member(c constant) (*operand, error) {
	owner, err := p.class(c.a)
	if err != nil {
		return nil, err
	}
	name, desc, err := p.nameAndType(c.b)
	if err != nil {
		return nil, err
	}
	kind := "Field "
	switch c.tag {
	case tagMethod:
		kind = "Method "
	case tagInterface:
		kind = "InterfaceMethod "
	}
	o := plain(kind + symbol(owner) + "." + symbol(name) + ":" + symbol(desc))
	if c.tag != tagField && owner == p.this && p.own[name+desc] {
		o.shape = kind + symbol(owner) + "." + generatedStem(name) + "*:" + symbol(desc)
		o.refs = []string{name + desc}
	}
	return o, nil
}

func (p *pool) dynamic(c constant, depth int) (*operand, error) {
	if c.a >= len(p.boots) {
		return nil, fmt.Errorf("bootstrap method %d of %d does not exist", c.a, len(p.boots))
	}
	name, desc, err := p.nameAndType(c.b)
	if err != nil {
		return nil, err
	}
	head := "InvokeDynamic "
	if c.tag == tagDynamic {
		head = "Dynamic "
	}
	head += symbol(name) + ":" + symbol(desc)
	var text, shape strings.Builder
	text.WriteString(head)
	shape.WriteString(head)
	var refs []string
	for _, arg := range p.boots[c.a] {
		o, err := p.resolve(arg, depth-1)
		if err != nil {
			return nil, fmt.Errorf("bootstrap method %d: %w", c.a, err)
		}
		if text.Len()+len(o.text) > maxText {
			return nil, fmt.Errorf("bootstrap method %d resolves to more than %d bytes", c.a, maxText)
		}
		text.WriteString(" {" + o.text + "}")
		shape.WriteString(" {" + o.shape + "}")
		refs = append(refs, o.refs...)
	}
	return &operand{text.String(), shape.String(), refs}, nil
}
