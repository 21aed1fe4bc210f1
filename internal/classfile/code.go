package classfile

import (
	"errors"
	"fmt"
)

// instruction is one instruction with its operands resolved.
type instruction struct {
	pc    int
	op    byte
	wide  bool     // had the wide prefix
	a, b  int32    // local variable, immediate value, dimensions
	ref   *operand // constant
	jumps []int    // indexes of instructions; of a switch the default first
	keys  []int32  // of a switch
}

// handler is one row of an exception table; positions are code offsets.
type handler struct {
	start, end, target int
	caught             string // "any" or a class
}

// code is a Code attribute.
type code struct {
	stack, locals int
	length        int
	instructions  []instruction
	index         []int32 // instruction at an offset, -1 within one; has length+1 items
	handlers      []handler
	attributes    []attribute
	class         *class
	// said and debug are what facts gives with offsets as instruction numbers.
	said, debug []string
}

func (c *class) readCode(data []byte) (*code, error) {
	r := &reader{b: data}
	k := &code{stack: r.u2(), locals: r.u2(), class: c}
	text := r.take(int(r.u4()))
	if r.err != nil {
		return nil, r.err
	}
	if len(text) == 0 || len(text) > 0xffff {
		return nil, fmt.Errorf("%d bytes of code, expected 1 to 65535", len(text))
	}
	if err := k.readInstructions(c.pool, text); err != nil {
		return nil, err
	}
	for range r.u2() {
		h := handler{start: r.u2(), end: r.u2(), target: r.u2(), caught: "any"}
		caught := r.u2()
		if r.err != nil {
			return nil, r.err
		}
		if caught != 0 {
			o, err := c.pool.operand(caught)
			if err != nil {
				return nil, fmt.Errorf("exception table: %w", err)
			}
			h.caught = o.text
		}
		if h.start >= h.end || k.at(h.start) < 0 || k.at(h.end) < 0 || k.at(h.target) < 0 || h.target == k.length {
			return nil, fmt.Errorf("exception table row %d-%d to %d is not at instructions", h.start, h.end, h.target)
		}
		k.handlers = append(k.handlers, h)
	}
	k.attributes = c.pool.readAttributes(r)
	if err := r.done(); err != nil {
		return nil, err
	}
	// Resolved once now, so that what is malformed is found now.
	var err error
	k.said, k.debug, err = k.facts(k.number)
	return k, err
}

// at gives the index of the instruction at an offset, the count of instructions for the end
// of the code, and -1 elsewhere.
func (k *code) at(pc int) int {
	if pc < 0 || pc >= len(k.index) {
		return -1
	}
	return int(k.index[pc])
}

// number is the label of an offset when nothing is aligned: the instruction's index.
func (k *code) number(pc int) int { return k.at(pc) }

func (k *code) readInstructions(p *pool, text []byte) error {
	k.length = len(text)
	k.instructions = make([]instruction, 0, len(text)/2+1)
	k.index = make([]int32, len(text)+1)
	for i := range k.index {
		k.index[i] = -1
	}
	r := &reader{b: text}
	for r.at < len(text) && r.err == nil {
		in := instruction{pc: r.at}
		in.op = byte(r.u1())
		k.index[in.pc] = int32(len(k.instructions))
		if err := in.read(r, p); err != nil {
			return fmt.Errorf("instruction at %d: %w", in.pc, err)
		}
		k.instructions = append(k.instructions, in)
	}
	k.index[len(text)] = int32(len(k.instructions))
	for i := range k.instructions {
		in := &k.instructions[i]
		for n, pc := range in.jumps {
			target := k.at(pc)
			if target < 0 || target == len(k.instructions) {
				return fmt.Errorf("instruction at %d jumps to %d, where no instruction begins", in.pc, pc)
			}
			in.jumps[n] = target
		}
	}
	return r.err
}

// read reads the operands; jump targets are offsets at first.
func (in *instruction) read(r *reader, p *pool) error {
	constant := 0
	switch op := in.op; {
	case op == opBipush:
		in.a = int32(int8(r.u1()))
	case op == opSipush:
		in.a = int32(int16(r.u2()))
	case op == opLdc:
		constant = r.u1()
	case op == opLdcW, op == opLdc2W, op >= opGetstatic && op <= opInvokestatic, op == opNew, op == opAnewarray, op == opCheckcast, op == opInstanceof:
		constant = r.u2()
	case op >= opIload && op <= opAload, op >= opIstore && op <= opAstore, op == opRet:
		in.a = int32(r.u1())
	case op == opIinc:
		in.a, in.b = int32(r.u1()), int32(int8(r.u1()))
	case op >= opIfeq && op <= opJsr, op == opIfnull, op == opIfnonnull:
		in.jumps = []int{in.pc + int(int16(r.u2()))}
	case op == opGotoW, op == opJsrW:
		in.jumps = []int{in.pc + int(r.s4())}
	case op == opTableswitch, op == opLookupswitch:
		in.readSwitch(r)
	case op == opInterface:
		constant = r.u2()
		in.a = int32(r.u1())
		if r.u1() != 0 {
			r.fail("invokeinterface does not end with 0")
		}
	case op == opDynamic:
		constant = r.u2()
		if r.u2() != 0 {
			r.fail("invokedynamic does not end with 0")
		}
	case op == opNewarray:
		in.a = int32(r.u1())
	case op == opMultianew:
		constant = r.u2()
		in.a = int32(r.u1())
	case op == opWide:
		in.readWide(r)
	case op > opJsrW:
		return fmt.Errorf("unknown opcode %d", op)
	default:
		return r.err
	}
	if r.err != nil || constant == 0 && in.ref == nil && !in.needsConstant() {
		return r.err
	}
	var err error
	in.ref, err = p.operand(constant)
	return err
}

func (in *instruction) needsConstant() bool {
	return in.op >= opLdc && in.op <= opLdc2W || in.op >= opGetstatic && in.op <= opNew ||
		in.op == opAnewarray || in.op == opCheckcast || in.op == opInstanceof || in.op == opMultianew
}

func (in *instruction) readWide(r *reader) {
	in.wide = true
	in.op = byte(r.u1())
	in.a = int32(r.u2())
	switch op := in.op; {
	case op == opIinc:
		in.b = int32(int16(r.u2()))
	case op >= opIload && op <= opAload, op >= opIstore && op <= opAstore, op == opRet:
	default:
		r.fail("opcode %d cannot be wide", op)
	}
}

func (in *instruction) readSwitch(r *reader) {
	for r.at%4 != 0 && r.err == nil {
		r.u1() // padding; its content has no meaning
	}
	target := func() int { return in.pc + int(r.s4()) }
	in.jumps = []int{target()}
	count := int64(0)
	low := int64(0)
	if in.op == opTableswitch {
		low = int64(r.s4())
		count = int64(r.s4()) - low + 1
	} else {
		count = int64(r.s4())
	}
	if r.err == nil && (count < 0 || count*4 > int64(len(r.b)-r.at)) {
		r.err = errors.New("switch has more cases than there is code")
	}
	for i := int64(0); i < count && r.err == nil; i++ {
		key := int32(low + i)
		if in.op == opLookupswitch {
			key = r.s4()
		}
		in.keys = append(in.keys, key)
		in.jumps = append(in.jumps, target())
	}
}
